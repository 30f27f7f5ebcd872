// An archive becomes sections at the cutpoints of its description, or one section. Sections with
// the same graph on the same shapes are one type, since they cost the same. check_division()
// compares result and gradients of the divided module with those of the whole one and accepts
// differences of rounding only; a profile holds that it was done for a length, and a run does it
// for any other.
#include "training/torch/script_model.h"

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/jit/passes/canonicalize.h>

#include "core/values/error.h"
#include "training/torch/changed_buffers.h"
#include "training/torch/element_types.h"
#include "training/torch/load_archive.h"
#include "training/torch/model_inputs.h"
#include "training/torch/script_section.h"
#include "training/torch/script_weights.h"

namespace penstock {
namespace {

// Sections with the same code on tensors of the same shapes cost the same.
std::string signature_of(const ScriptPart& part) {
  const auto graph = torch::jit::Canonicalize(part.piece.graph, /*keep_unique_names=*/false);
  std::string text = graph->toString(/*print_source_locations=*/false);
  for (const int input : part.piece.around) text += std::to_string(input) + ' ';
  for (const c10::IValue& value : part.values) {
    text += value.isTensor() && value.toTensor().defined() ? c10::str(value.toTensor().sizes())
            : value.isObject()                             ? value.tagKind()
                                                           : c10::str(value);
    text += ';';
  }
  return std::regex_replace(text, std::regex("___torch_mangle_\\d+\\."), "");
}

std::string class_of(const torch::jit::Module& module) {
  const auto& name = module.type()->name();
  return name ? name->name() : "section";
}

// Within the section where everything in it belongs to the submodule that it is named after.
void shorten_names(const std::string& name, SectionOutline& section) {
  const std::string prefix = name + ".";
  const auto is_inside = [&](const auto& each) { return each.name.starts_with(prefix); };
  if (!std::ranges::all_of(section.parameters, is_inside) ||
      !std::ranges::all_of(section.buffers, is_inside)) {
    return;
  }
  for (ParameterOutline& parameter : section.parameters) parameter.name.erase(0, prefix.size());
  for (BufferOutline& buffer : section.buffers) buffer.name.erase(0, prefix.size());
}

double largest_in(const at::Tensor& tensor) {
  return tensor.numel() > 0 ? tensor.detach().abs().max().item<double>() : 0.0;
}

// But for rounding, of numbers that were summed up to `scale`.
bool is_close(const at::Tensor& found, const at::Tensor& expected, double scale) {
  if (found.sizes() != expected.sizes() || found.scalar_type() != expected.scalar_type()) {
    return false;
  }
  const at::ScalarType type = expected.scalar_type();
  const double tolerance = type == at::kDouble ? 1e-10 : type == at::kFloat ? 1e-5 : 2e-2;
  return at::allclose(found, expected, tolerance, tolerance * scale);
}

class ScriptModel : public Model {
 public:
  explicit ScriptModel(const ModelDescription& description)
      : description_(description),
        archive_(description.archive),
        opened_(description.cutpoints.empty() ? LoadedArchive{load_archive(description), nullptr}
                                              : open_archive(description)),
        weights_(weights_of(opened_.module)),
        inputs_(input_names(opened_.module)) {
    check_inputs(inputs_, description, archive_);
    if (description.cutpoints.empty()) {
      take_whole();
    } else {
      divide(description.cutpoints);
    }
    add_ties();
    if (description.division) take_boundaries(*description.division);
  }

  const ModelOutline& outline() const override { return outline_; }

  std::unique_ptr<SectionModule> section(int index, at::Device device,
                                         at::ScalarType type) const override {
    return make_section(static_cast<std::size_t>(index),
                        {.binds = true, .device = device, .type = type});
  }

  at::Tensor initial(int section, int parameter, std::uint64_t /*seed*/,
                     at::ScalarType type) const override {
    const at::Tensor& weight = parts_[static_cast<std::size_t>(section)]
                                   .weights[static_cast<std::size_t>(parameter)]
                                   .tensor;
    return (is_divided() ? opened_.values->read(weight) : weight).detach().to(type);
  }

  std::vector<std::string> inputs() const override { return inputs_; }
  bool reads_inputs(int section) const override {
    const ScriptPiece& piece = parts_[static_cast<std::size_t>(section)].piece;
    return !piece.graph || std::ranges::any_of(piece.reads, [](int read) { return read < 0; });
  }

  Boundary boundary(int section, const BoundaryShape& shape) const override {
    const auto index = static_cast<std::size_t>(section);
    Boundary boundary;
    for (const HandedTensor& tensor : boundaries(shape.tokens, shape.type)[index]) {
      BoundaryTensor& own = boundary.emplace_back();
      own.shape = tensor.fixed;
      for (std::size_t k = 0; k < own.shape.size(); ++k) {
        own.shape[k] += shape.samples * tensor.per_sample[k];
      }
      own.type = *type_named(tensor.type);
      own.has_gradient =
          at::isFloatingType(own.type) && parts_[index].piece.is_trained[boundary.size() - 1];
    }
    return boundary;
  }

  std::optional<ArchiveDivision> division(std::int64_t tokens) const override {
    ArchiveDivision division{static_cast<int>(tokens), {}};
    if (!is_divided()) return division;
    division.handed_on = boundaries(tokens, compute_type(description_.precision));
    division.handed_on.pop_back();  // the result
    return division;
  }

  // Gradients of a section are compared and dropped behind its backward, so that no more than the
  // gradients of the whole and the sections' weights are in memory at once.
  void check_division(std::int64_t tokens) const override {
    const std::scoped_lock lock(generator_lock());
    Run expected = whole_run(inputs_of(2, tokens, {}), tokens);
    if (!is_divided()) return;
    // A bias in front of a norm has a gradient of zero, and what is left of it is rounding.
    double largest = 0.0;
    for (const auto& [name, gradient] : expected.gradients) {
      if (gradient.numel() > 0) largest = std::max(largest, largest_in(gradient));
    }
    std::vector<Pass> passes = forward_by_sections(inputs_of(2, tokens, {}));
    const at::Tensor result = passes.back().outputs[0].detach();
    if (!is_close(result, expected.result, largest_in(expected.result))) {
      refuse("computes something else section by section");
    }
    backward_by_sections(std::move(passes), [&](const std::string& name, const at::Tensor& found) {
      const auto gradient = expected.gradients.extract(name);
      if (gradient.empty() || !is_close(found, gradient.mapped(), largest)) {
        refuse_gradient(name);
      }
    });
    if (!expected.gradients.empty()) refuse_gradient(expected.gradients.begin()->first);
  }

  // Of forward as it trains: the second time it finds the buffers as the first time left them.
  std::vector<std::string> remarks(std::int64_t tokens) const override {
    const std::scoped_lock lock(generator_lock());
    const std::vector<ScriptWeight> weights = all_weights(weights_);
    const torch::jit::Module module = load_archive(description_);
    const auto whole = whole_section(module, weights, {.type = {}, .training = false});
    std::vector<std::string> remarks = remarks_of(*whole, module, inputs_of(2, tokens, {}));
    let_go_of_tensors(module);
    return remarks;
  }

 private:
  struct Run {
    at::Tensor result;
    std::map<std::string, at::Tensor> gradients;  // by the first name of the weight
    void add(const std::string& name, const at::Tensor& gradient) {
      if (!gradient.defined()) return;
      at::Tensor& sum = gradients[name];
      sum = sum.defined() ? sum + gradient : gradient;
    }
  };

  static constexpr std::uint64_t kSeed = 1;

  [[nodiscard]] Tensors inputs_of(std::int64_t samples, std::int64_t tokens,
                                  std::optional<at::ScalarType> type) const {
    return trial_inputs(inputs_, description_, samples, tokens,
                        type.value_or(own_type(opened_.module)));
  }

  // "64 tokens", "3x32x32 pixels".
  [[nodiscard]] std::string words_of_sample(std::int64_t tokens) const {
    if (description_.image.empty()) return std::to_string(tokens) + " tokens";
    std::string words;
    for (const std::int64_t size : description_.image) {
      words += (words.empty() ? "" : "x") + std::to_string(size);
    }
    return words + " pixels";
  }

  // Of an archive that is loaded for this and gone when it has returned.
  Run whole_run(const Tensors& inputs, std::int64_t tokens) const {
    const std::vector<ScriptWeight> weights = all_weights(weights_);
    const torch::jit::Module module = load_archive(description_);
    const auto whole = whole_section(module, weights, {.type = {}, .training = false});
    Run run;
    try {
      seed_generator(at::Device("cpu"), kSeed);
      run.result = whole->forward({}, inputs, {})[0];
      run.result.sum().backward();
      run.result = run.result.detach();  // its graph would keep all weights
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw_bad_input(archive_ + ": cannot be trained, even as a whole, on " +
                      words_of_sample(tokens) + " (" + reason_of(error) + ")");
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      run.add(weights[i].name, whole->weights()[i].grad());
    }
    let_go_of_tensors(module);
    return run;
  }

  [[nodiscard]] static std::vector<std::string> remarks_of(SectionModule& whole,
                                                           const torch::jit::Module& module,
                                                           const Tensors& inputs) {
    const BuffersBefore before(module);
    if (before.empty()) return {};
    const at::NoGradGuard no_graph;
    whole.set_training(true);
    const auto result = [&] {
      seed_generator(at::Device("cpu"), kSeed);
      return whole.forward({}, inputs, {})[0];
    };
    try {
      const at::Tensor first = result();
      const std::vector<std::string> changed = before.changed();
      if (changed.empty() || is_close(result(), first, largest_in(first))) return {};
      return {losses_depend_on_replicas(changed)};
    } catch (const std::exception&) {
      return {};  // it is refused when it is measured
    }
  }

  struct Pass {
    std::unique_ptr<SectionModule> section;
    Tensors handed, outputs;
  };

  // Random numbers are drawn in the order of the whole.
  [[nodiscard]] std::vector<Pass> forward_by_sections(const Tensors& inputs) const {
    std::vector<Pass> passes;
    Tensors handed;
    seed_generator(at::Device("cpu"), kSeed);
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      auto section = make_section(s, {.type = {}, .training = false});
      const Tensors outputs = section->forward(handed, inputs, {});
      passes.push_back({std::move(section), std::move(handed), outputs});
      handed.clear();
      for (const at::Tensor& output : outputs) {
        handed.push_back(output.detach().set_requires_grad(output.requires_grad()));
      }
    }
    return passes;
  }

  // `done` is given the gradient of a weight behind the first section that it is used in. A section
  // is there until its backward has ended.
  template <class Done>
  void backward_by_sections(std::vector<Pass> passes, const Done& done) const {
    const std::map<std::string, std::size_t> first_user = first_users();
    Run sums;
    Tensors gradients{at::ones_like(passes.back().outputs[0])};
    for (std::size_t s = parts_.size(); s-- > 0;) {
      const Pass pass = std::move(passes[s]);
      passes.pop_back();
      for (std::size_t i = 0; i < pass.outputs.size(); ++i) {
        if (!pass.outputs[i].requires_grad() || !gradients[i].defined()) continue;
        pass.outputs[i].backward(gradients[i], /*retain_graph=*/true);
      }
      gradients.clear();
      for (const at::Tensor& leaf : pass.handed) gradients.push_back(leaf.grad());
      for (std::size_t i = 0; i < parts_[s].weights.size(); ++i) {
        sums.add(parts_[s].weights[i].name, pass.section->weights()[i].grad());
      }
      for (const ScriptWeight& weight : parts_[s].weights) {
        if (first_user.at(weight.name) != s) continue;
        const auto sum = sums.gradients.extract(weight.name);
        if (!sum.empty()) done(weight.name, sum.mapped());
      }
    }
  }

  [[nodiscard]] std::map<std::string, std::size_t> first_users() const {
    std::map<std::string, std::size_t> first;
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      for (const ScriptWeight& weight : parts_[s].weights) first.emplace(weight.name, s);
    }
    return first;
  }

  // What the sections hand on, of the last one nothing: known, or else they are run once.
  using Boundaries = std::vector<std::vector<HandedTensor>>;
  const Boundaries& boundaries(std::int64_t tokens, at::ScalarType type) const {
    Boundaries& found = boundaries_[{tokens, type}];
    if (!found.empty()) return found;
    try {
      return found = boundaries_of(tokens, type);
    } catch (const std::exception& error) {
      throw_bad_input(archive_ + ": cannot be run in " + c10::toString(type) +
                      " on 2 and 3 samples of " + words_of_sample(tokens) + " (" +
                      reason_of(error) +
                      "); a trace keeps types and sizes that it was made with: script the "
                      "module, or trace it in this precision");
    }
  }

  [[nodiscard]] Boundaries boundaries_of(std::int64_t tokens, at::ScalarType type) const {
    Boundaries all(parts_.size());
    Tensors at_2, at_3;
    const Tensors inputs_2 = inputs_of(2, tokens, type), inputs_3 = inputs_of(3, tokens, type);
    const at::NoGradGuard no_grad;
    for (std::size_t s = 0; s + 1 < parts_.size(); ++s) {
      const auto section = make_section(s, {.type = type, .training = false});
      at_2 = section->forward(at_2, inputs_2, kSeed);
      at_3 = section->forward(at_3, inputs_3, kSeed);
      for (std::size_t i = 0; i < at_2.size(); ++i) {
        HandedTensor& tensor = all[s].emplace_back();
        tensor.type = name_of_type(at_2[i].scalar_type());
        for (std::int64_t k = 0; k < at_2[i].dim(); ++k) {
          tensor.per_sample.push_back(at_3[i].size(k) - at_2[i].size(k));
          tensor.fixed.push_back(at_2[i].size(k) - 2 * tensor.per_sample.back());
        }
      }
    }
    return all;
  }

  void take_boundaries(const ArchiveDivision& division) {
    Boundaries all = division.handed_on;
    all.emplace_back();
    bool fits = all.size() == parts_.size();
    for (std::size_t s = 0; fits && s + 1 < all.size(); ++s) {
      fits = all[s].size() == parts_[s].piece.around.size() &&
             std::ranges::all_of(all[s], [](const HandedTensor& tensor) {
               return type_named(tensor.type).has_value();
             });
    }
    if (!fits) {
      throw_bad_input(archive_ +
                      ": its sections hand on other tensors than \"division\" says in the plan's "
                      "description; profile it again");
    }
    boundaries_[{division.tokens, compute_type(description_.precision)}] = std::move(all);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_bad_input(archive_ + ": " + what + "; choose other cutpoints");
  }

  [[noreturn]] void refuse_gradient(const std::string& weight) const {
    refuse("gives " + weight + " another gradient section by section");
  }

  [[nodiscard]] std::unique_ptr<SectionModule> make_section(std::size_t section,
                                                            const SectionMode& mode) const {
    const ScriptPart& part = parts_[section];
    if (is_divided()) return piece_section(part, *opened_.values, mode);
    const at::NoGradGuard no_grad;
    return whole_section(opened_.module.deepcopy(), part.weights, mode);
  }
  [[nodiscard]] bool is_divided() const { return parts_.front().piece.graph != nullptr; }

  void take_whole() {
    ScriptPart part;
    part.weights = all_weights(weights_);
    std::size_t next = 0;
    for (const auto& buffer : opened_.module.named_buffers()) {
      if (!is_kept(buffer.value)) continue;
      part.names.push_back(buffer.name);
      part.values.emplace_back(buffer.value);
      part.buffers.push_back(next++);
    }
    add_section("model", class_of(opened_.module), std::move(part));
  }

  void divide(const std::vector<std::string>& cutpoints) {
    const ScriptFlow flow(opened_.module);
    std::vector<int> ends = named_cuts(flow.graph(), cutpoints, archive_);
    ends.push_back(static_cast<int>(flow.graph().nodes.size()) - 1);
    std::map<std::string, std::string> types;  // by signature
    std::map<std::string, int> used;           // names of types
    int from = 0;
    for (const int to : ends) {
      ScriptPart part;
      part.piece = flow.piece(from, to);
      take_what_it_reads(flow, part);
      part.weights = weights_among(part, weights_);
      std::string& type = types[signature_of(part)];
      if (type.empty()) {
        type = type_name(flow, to);
        const int number = used[type]++;
        if (number > 0) type += "#" + std::to_string(number + 1);
      }
      add_section(flow.graph().nodes[static_cast<std::size_t>(to)].name, type, std::move(part));
      from = to;
    }
  }

  static void take_what_it_reads(const ScriptFlow& flow, ScriptPart& part) {
    for (const int read : part.piece.reads) {
      if (read < 0) {
        part.values.emplace_back();
        part.names.emplace_back();
        continue;
      }
      const ScriptAttribute& attribute = flow.attributes()[static_cast<std::size_t>(read)];
      if (part.piece.changes.contains(read)) part.buffers.push_back(part.values.size());
      part.values.push_back(attribute.value);
      part.names.push_back(attribute.name);
    }
  }

  // The class of the submodule that ends the section; with the operation where it goes on.
  [[nodiscard]] std::string type_name(const ScriptFlow& flow, int end) const {
    if (const std::string path = flow.returned_by(end); !path.empty()) {
      return class_of(submodule(opened_.module, path));
    }
    return class_of(submodule(opened_.module, flow.computed_in(end))) + "." + flow.operation(end);
  }

  void add_section(const std::string& name, const std::string& type, ScriptPart part) {
    SectionOutline section;
    section.name = name;
    section.type = type;
    for (const ScriptWeight& weight : part.weights) {
      section.parameters.push_back({.name = weight.name,
                                    .shape = weight.tensor.sizes().vec(),
                                    .frozen = !weight.tensor.requires_grad()});
    }
    for (const std::size_t i : part.buffers) {
      section.buffers.push_back(outline_of(part.names[i], part.values[i].toTensor()));
    }
    shorten_names(name, section);
    outline_.sections.push_back(std::move(section));
    parts_.push_back(std::move(part));
  }

  void add_ties() {
    for (const ScriptWeight& weight : all_weights(weights_)) {
      if (!weight.tensor.requires_grad()) continue;
      TieOutline tie{weight.name, {}, {}};
      for (std::size_t s = 0; s < parts_.size(); ++s) {
        for (std::size_t i = 0; i < parts_[s].weights.size(); ++i) {
          if (parts_[s].weights[i].name != weight.name) continue;
          tie.sections.push_back(static_cast<int>(s));
          tie.parameters.push_back(static_cast<int>(i));
        }
      }
      if (tie.sections.size() > 1) outline_.ties.push_back(std::move(tie));
    }
  }

  // In the type that it is computed in.
  [[nodiscard]] BufferOutline outline_of(const std::string& name, const at::Tensor& buffer) const {
    const at::ScalarType type =
        buffer.is_floating_point() ? compute_type(description_.precision) : buffer.scalar_type();
    return {name, buffer.sizes().vec(), element_type(type)};
  }

  const ModelDescription description_;
  const std::string archive_;
  LoadedArchive opened_;
  ArchiveWeights weights_;
  std::vector<std::string> inputs_;
  std::vector<ScriptPart> parts_;  // without a graph: the only one, all of the module
  ModelOutline outline_;
  // By tokens and type.
  mutable std::map<std::pair<std::int64_t, at::ScalarType>, Boundaries> boundaries_;
};

}  // namespace

std::unique_ptr<Model> make_script_model(const ModelDescription& description) {
  return std::make_unique<ScriptModel>(description);
}

}  // namespace penstock
