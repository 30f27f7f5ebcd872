#include "training/torch/script_model.h"

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <tuple>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/jit/passes/canonicalize.h>

#include "core/values/error.h"
#include "training/torch/element_types.h"
#include "training/torch/load_archive.h"
#include "training/torch/model_inputs.h"
#include "training/torch/script_section.h"

namespace penstock {
namespace {

// The same storage under two names is one weight.
using TensorKey = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>>;
TensorKey key_of(const at::Tensor& tensor) {
  const void* const place = tensor.numel() > 0 ? tensor.data_ptr() : tensor.unsafeGetTensorImpl();
  return {place, tensor.sizes().vec(), tensor.strides().vec()};
}

struct Weight {
  std::string name;  // the first of its names
  at::Tensor tensor;
  std::size_t order = 0;  // in the module
};
using Weights = std::map<TensorKey, Weight>;

Weights weights_of(const torch::jit::Module& module) {
  Weights weights;
  for (const auto& parameter : module.named_parameters()) {
    weights.try_emplace(key_of(parameter.value),
                        Weight{parameter.name, parameter.value, weights.size()});
  }
  return weights;
}

std::vector<ScriptWeight> in_order(std::vector<std::pair<std::size_t, ScriptWeight>> weights) {
  std::sort(weights.begin(), weights.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ScriptWeight> sorted;
  sorted.reserve(weights.size());
  for (auto& [order, weight] : weights) sorted.push_back(std::move(weight));
  return sorted;
}

// Which of the piece's inputs are weights.
std::vector<ScriptWeight> weights_among(const ScriptPart& part, const Weights& weights) {
  std::map<std::size_t, ScriptWeight> found;  // by order
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    if (!part.values[i].isTensor() || !part.values[i].toTensor().defined()) continue;
    const auto weight = weights.find(key_of(part.values[i].toTensor()));
    if (weight == weights.end()) continue;
    ScriptWeight& own = found[weight->second.order];
    own.name = weight->second.name;
    own.tensor = weight->second.tensor;
    own.inputs.push_back(i);
  }
  std::vector<std::pair<std::size_t, ScriptWeight>> list(found.begin(), found.end());
  return in_order(std::move(list));
}

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

class ScriptModel : public Model {
 public:
  explicit ScriptModel(const ModelDescription& description)
      : archive_(description.archive),
        precision_(description.precision),
        module_(load_archive(description)),
        weights_(weights_of(module_)),
        inputs_(input_names(module_)) {
    check_inputs(inputs_, archive_);
    if (description.cutpoints.empty()) {
      take_whole();
    } else {
      divide(description.cutpoints);
    }
    add_ties();
  }

  const ModelOutline& outline() const override { return outline_; }

  std::unique_ptr<SectionModule> section(int index, at::Device device,
                                         at::ScalarType type) const override {
    return make_section(static_cast<std::size_t>(index), {.device = device, .type = type});
  }

  at::Tensor initial(int section, int parameter, std::uint64_t /*seed*/,
                     at::ScalarType type) const override {
    return parts_[static_cast<std::size_t>(section)]
        .weights[static_cast<std::size_t>(parameter)]
        .tensor.detach()
        .to(type);
  }

  std::vector<std::string> inputs() const override { return inputs_; }
  bool reads_inputs(int section) const override {
    const ScriptPiece& piece = parts_[static_cast<std::size_t>(section)].piece;
    return !piece.graph || std::ranges::any_of(piece.reads, [](int read) { return read < 0; });
  }

  Boundary boundary(int section, const BoundaryShape& shape) const override {
    auto& found = boundaries_[{shape.tokens, static_cast<int>(shape.type)}];
    if (found.empty()) {
      try {
        found = boundaries_of(shape);
      } catch (const std::exception& error) {
        throw_bad_input(archive_ + ": cannot be run in " + c10::toString(shape.type) +
                        " on 2 and 3 samples of " + std::to_string(shape.tokens) + " tokens (" +
                        reason_of(error) +
                        "); a trace keeps types and sizes that it was made with: script the "
                        "module, or trace it in this precision");
      }
    }
    const auto index = static_cast<std::size_t>(section);
    Boundary boundary = found[index].first;
    for (std::size_t i = 0; i < boundary.size(); ++i) {
      for (std::size_t k = 0; k < boundary[i].shape.size(); ++k) {
        boundary[i].shape[k] += (shape.samples - 2) * found[index].second[i][k];
      }
    }
    return boundary;
  }

  void check_division(std::int64_t tokens) const override {
    const std::scoped_lock lock(generator_lock());
    const auto expected = whole_run(inputs_of(2, tokens));
    if (!parts_.front().piece.graph) return;  // not divided
    const auto found = divided_run(inputs_of(2, tokens));
    if (!at::equal(found.result, expected.result)) {
      refuse("computes something else section by section");
    }
    // A bias in front of a norm has a gradient of zero, and what is left of it is rounding.
    double largest = 0.0;
    for (const auto& [name, gradient] : expected.gradients) {
      if (gradient.numel() > 0) largest = std::max(largest, gradient.abs().max().item<double>());
    }
    for (const auto& [key, weight] : weights_) {
      const auto a = expected.gradients.find(weight.name);
      const auto b = found.gradients.find(weight.name);
      const bool in_one = a == expected.gradients.end(), in_other = b == found.gradients.end();
      const bool same = in_one || in_other
                            ? in_one == in_other
                            : at::allclose(b->second, a->second, 1e-5, 1e-5 * largest);
      if (!same) refuse("gives " + weight.name + " another gradient section by section");
    }
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

  [[nodiscard]] Tensors inputs_of(std::int64_t samples, std::int64_t tokens) const {
    return model_inputs(inputs_, some_tokens(samples, tokens),
                        some_tokens(samples, tokens + 1).narrow(1, 1, tokens).contiguous());
  }

  Run whole_run(const Tensors& inputs) const {
    const std::vector<ScriptWeight> weights = all_weights();
    const auto whole = whole_section(module_, weights, {.type = {}, .training = false});
    Run run;
    try {
      seed_generator(at::Device("cpu"), kSeed);
      run.result = whole->forward({}, inputs, {})[0];
      run.result.sum().backward();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw_bad_input(archive_ + ": cannot be trained, even as a whole, on " +
                      std::to_string(inputs[0].size(1)) + " tokens (" + reason_of(error) + ")");
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      run.add(weights[i].name, whole->weights()[i].grad());
    }
    return run;
  }

  // Random numbers are drawn in the order of the whole.
  Run divided_run(const Tensors& inputs) const {
    struct Step {
      Tensors handed, outputs;
    };
    std::vector<std::unique_ptr<SectionModule>> sections;
    std::vector<Step> steps;
    Tensors handed;
    seed_generator(at::Device("cpu"), kSeed);
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      sections.push_back(make_section(s, {.type = {}, .training = false}));
      const Tensors outputs = sections.back()->forward(handed, inputs, {});
      steps.push_back({handed, outputs});
      handed.clear();
      for (const at::Tensor& output : outputs) {
        handed.push_back(output.detach().set_requires_grad(output.requires_grad()));
      }
    }
    Run run{steps.back().outputs[0], {}};
    Tensors gradients{at::ones_like(run.result)};
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      for (std::size_t i = 0; i < step->outputs.size(); ++i) {
        if (!step->outputs[i].requires_grad() || !gradients[i].defined()) continue;
        step->outputs[i].backward(gradients[i], /*retain_graph=*/true);
      }
      gradients.clear();
      for (const at::Tensor& leaf : step->handed) gradients.push_back(leaf.grad());
    }
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      for (std::size_t i = 0; i < parts_[s].weights.size(); ++i) {
        run.add(parts_[s].weights[i].name, sections[s]->weights()[i].grad());
      }
    }
    return run;
  }

  // At 2 samples, and by how much every size grows with one more.
  using BoundaryFormula = std::pair<Boundary, std::vector<std::vector<std::int64_t>>>;
  [[nodiscard]] std::vector<BoundaryFormula> boundaries_of(const BoundaryShape& shape) const {
    std::vector<BoundaryFormula> formulas(parts_.size());
    for (std::size_t s = 0; s + 1 < parts_.size(); ++s) formulas[s] = {};
    Tensors at_2, at_3;
    const Tensors inputs_2 = inputs_of(2, shape.tokens), inputs_3 = inputs_of(3, shape.tokens);
    const at::NoGradGuard no_grad;
    for (std::size_t s = 0; s + 1 < parts_.size(); ++s) {
      const auto section = make_section(s, {.type = shape.type, .training = false});
      at_2 = section->forward(at_2, inputs_2, kSeed);
      at_3 = section->forward(at_3, inputs_3, kSeed);
      auto& [boundary, growth] = formulas[s];
      for (std::size_t i = 0; i < at_2.size(); ++i) {
        boundary.push_back(
            {.shape = at_2[i].sizes().vec(),
             .type = at_2[i].scalar_type(),
             .has_gradient = at_2[i].is_floating_point() && parts_[s].piece.is_trained[i]});
        growth.emplace_back();
        for (std::int64_t k = 0; k < at_2[i].dim(); ++k) {
          growth.back().push_back(at_3[i].size(k) - at_2[i].size(k));
        }
      }
    }
    return formulas;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_bad_input(archive_ + ": " + what + "; choose other cutpoints");
  }

  [[nodiscard]] std::vector<ScriptWeight> all_weights() const {
    std::vector<std::pair<std::size_t, ScriptWeight>> weights;
    weights.reserve(weights_.size());
    for (const auto& [key, weight] : weights_) {
      weights.push_back({weight.order, {weight.name, weight.tensor, {}}});
    }
    return in_order(std::move(weights));
  }

  [[nodiscard]] std::unique_ptr<SectionModule> make_section(std::size_t section,
                                                            const SectionMode& mode) const {
    const ScriptPart& part = parts_[section];
    return part.piece.graph ? piece_section(part, mode)
                            : whole_section(module_, part.weights, mode);
  }

  void take_whole() {
    ScriptPart part;
    part.weights = all_weights();
    std::size_t next = 0;
    for (const auto& buffer : module_.named_buffers()) {
      if (!is_kept(buffer.value)) continue;
      part.names.push_back(buffer.name);
      part.values.emplace_back(buffer.value);
      part.buffers.push_back(next++);
    }
    add_section("model", class_of(module_), std::move(part));
  }

  void divide(const std::vector<std::string>& cutpoints) {
    const ScriptFlow flow(module_);
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
      return class_of(submodule(module_, path));
    }
    return class_of(submodule(module_, flow.computed_in(end))) + "." + flow.operation(end);
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
    for (const ScriptWeight& weight : all_weights()) {
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
        buffer.is_floating_point() ? compute_type(precision_) : buffer.scalar_type();
    return {name, buffer.sizes().vec(), element_type(type)};
  }

  std::string archive_;
  Precision precision_;
  torch::jit::Module module_;
  Weights weights_;
  std::vector<std::string> inputs_;
  std::vector<ScriptPart> parts_;  // without a graph: the only one, all of the module
  ModelOutline outline_;
  // By tokens and type.
  mutable std::map<std::pair<std::int64_t, int>, std::vector<BoundaryFormula>> boundaries_;
};

}  // namespace

std::unique_ptr<Model> make_script_model(const ModelDescription& description) {
  return std::make_unique<ScriptModel>(description);
}

}  // namespace penstock
