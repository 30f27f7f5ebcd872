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
#include "training/torch/load_archive.h"
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
void shorten_names(const std::string& section, std::vector<ParameterOutline>& parameters) {
  const std::string prefix = section + ".";
  for (const ParameterOutline& parameter : parameters) {
    if (!parameter.name.starts_with(prefix)) return;
  }
  for (ParameterOutline& parameter : parameters) parameter.name.erase(0, prefix.size());
}

class ScriptModel : public Model {
 public:
  explicit ScriptModel(const ModelDescription& description)
      : archive_(description.archive),
        module_(load_archive(description)),
        weights_(weights_of(module_)) {
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

  std::vector<std::int64_t> output_shape(int section, std::int64_t samples,
                                         std::int64_t tokens) const override {
    auto& shapes = shapes_[tokens];
    if (shapes.empty()) {
      at::Tensor x = some_tokens(1, tokens);
      for (const ScriptPart& part : parts_) {
        x = part.piece.graph ? run_piece(part, x) : run_whole(module_, x);
        if (x.dim() == 0 || x.size(0) != 1) refuse("makes a tensor without a dimension of samples");
        shapes.push_back(x.sizes().vec());
      }
    }
    std::vector<std::int64_t> shape = shapes[static_cast<std::size_t>(section)];
    shape[0] = samples;
    return shape;
  }

  void check_division(std::int64_t tokens) const override {
    if (!parts_.front().piece.graph) return;  // not divided
    const auto expected = whole_run(some_tokens(1, tokens));
    const auto found = divided_run(some_tokens(1, tokens));
    if (!at::equal(found.result, expected.result)) {
      refuse("computes something else section by section");
    }
    for (const auto& [key, weight] : weights_) {
      const auto a = expected.gradients.find(weight.name);
      const auto b = found.gradients.find(weight.name);
      const bool in_one = a == expected.gradients.end(), in_other = b == found.gradients.end();
      const bool same =
          in_one || in_other ? in_one == in_other : at::allclose(b->second, a->second, 1e-5, 1e-7);
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

  Run whole_run(const at::Tensor& tokens) const {
    const std::vector<ScriptWeight> weights = all_weights();
    const auto whole = whole_section(module_, weights, {.type = {}, .training = false});
    Run run;
    try {
      run.result = whole->forward(tokens, 0);
      run.result.sum().backward();
    } catch (const std::exception& error) {
      throw_bad_input(archive_ + ": cannot be trained, even as a whole, on " +
                      std::to_string(tokens.size(1)) + " tokens (" + reason_of(error) + ")");
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      run.add(weights[i].name, whole->weights()[i].grad());
    }
    return run;
  }

  Run divided_run(const at::Tensor& tokens) const {
    std::vector<std::unique_ptr<SectionModule>> sections;
    std::vector<std::pair<at::Tensor, at::Tensor>> boundaries;  // leaf, output
    at::Tensor x = tokens;
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      sections.push_back(make_section(s, {.type = {}, .training = false}));
      at::Tensor leaf = x.detach();
      leaf.set_requires_grad(leaf.is_floating_point());
      x = sections.back()->forward(leaf, 0);
      boundaries.emplace_back(leaf, x);
    }
    Run run{x, {}};
    x = at::ones_like(x);
    for (auto at = boundaries.rbegin(); at != boundaries.rend(); ++at) {
      at->second.backward(x);
      x = at->first.grad();
    }
    for (std::size_t s = 0; s < parts_.size(); ++s) {
      for (std::size_t i = 0; i < parts_[s].weights.size(); ++i) {
        run.add(parts_[s].weights[i].name, sections[s]->weights()[i].grad());
      }
    }
    return run;
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
      for (const int attribute : part.piece.attributes) {
        const ScriptAttribute& read = flow.attributes()[static_cast<std::size_t>(attribute)];
        part.values.push_back(read.value);
        part.names.push_back(read.name);
      }
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
      section.parameters.push_back({weight.name, weight.tensor.sizes().vec()});
    }
    shorten_names(name, section.parameters);
    outline_.sections.push_back(std::move(section));
    parts_.push_back(std::move(part));
  }

  void add_ties() {
    for (const ScriptWeight& weight : all_weights()) {
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

  static at::Tensor run_whole(torch::jit::Module module, const at::Tensor& tokens) {
    const at::NoGradGuard no_grad;
    return module.forward({tokens}).toTensor();
  }

  std::string archive_;
  torch::jit::Module module_;
  Weights weights_;
  std::vector<ScriptPart> parts_;  // without a graph: the only one, all of the module
  ModelOutline outline_;
  mutable std::map<std::int64_t, std::vector<std::vector<std::int64_t>>> shapes_;  // by tokens
};

}  // namespace

std::unique_ptr<Model> make_script_model(const ModelDescription& description) {
  return std::make_unique<ScriptModel>(description);
}

}  // namespace penstock
