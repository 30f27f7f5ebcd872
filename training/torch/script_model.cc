#include "training/torch/script_model.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include <torch/csrc/jit/passes/inliner.h>
#include <torch/script.h>

#include "core/error.h"
#include "core/json_reader.h"
#include "training/torch/script_chain.h"

namespace penstock {
namespace {

// The steps of one section.
using Steps = std::vector<ChainStep>;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// Each tensor once, by its first name.
std::vector<NamedTensor> parameters_of(const Steps& steps) {
  std::vector<NamedTensor> parameters;
  std::set<const void*> seen;
  for (const ChainStep& step : steps) {
    for (const auto& parameter : step.module.named_parameters()) {
      if (!seen.insert(parameter.value.unsafeGetTensorImpl()).second) continue;
      std::string name = parameter.name;
      if (steps.size() > 1) name = step.name + "." + name;
      parameters.push_back({std::move(name), parameter.value});
    }
  }
  return parameters;
}

std::string inlined_text(const torch::jit::Module& module) {
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return graph->toString(/*print_source_locations=*/false);
}

// With leaves for parameters, as a clone of tensors that require a gradient would not have.
torch::jit::Module copy_of(const torch::jit::Module& module) {
  const at::NoGradGuard no_grad;
  torch::jit::Module copy = module.deepcopy();
  for (at::Tensor parameter : copy.parameters()) parameter.set_requires_grad(true);
  return copy;
}

bool draws_random_numbers(const std::string& graph) {
  static const std::regex random("aten::(\\w*dropout|rand\\w*|bernoulli|normal|multinomial)_?\\(");
  return std::regex_search(graph, random);
}

// Sections with the same code on tensors of the same shapes cost the same.
std::string signature_of(const Steps& steps) {
  std::string text;
  for (const ChainStep& step : steps) {
    text += inlined_text(step.module);
    for (const auto& parameter : step.module.named_parameters()) {
      text += parameter.name + c10::str(parameter.value.sizes());
    }
  }
  return std::regex_replace(text, std::regex("___torch_mangle_\\d+\\."), "");
}

class ScriptSection : public Section {
 public:
  // Of a copy: another section may share tensors with this one, and is bound elsewhere.
  ScriptSection(const Steps& steps, at::Device device, at::ScalarType type) {
    for (const ChainStep& step : steps) {
      steps_.push_back({step.name, copy_of(step.module)});
      torch::jit::Module& module = steps_.back().module;
      module.train();
      module.to(device);
      for (const at::Tensor& buffer : module.buffers()) {
        if (buffer.is_floating_point()) at::Tensor(buffer).set_data(buffer.to(type));
      }
      is_random_ = is_random_ || draws_random_numbers(inlined_text(module));
    }
    for (const NamedTensor& parameter : parameters_of(steps_)) weights_.push_back(parameter.tensor);
  }

  void bind(std::size_t parameter, const at::Tensor& storage) override {
    weights_[parameter].set_requires_grad(false);
    weights_[parameter].set_data(storage);
    weights_[parameter].set_requires_grad(true);
  }

  at::Tensor forward(const at::Tensor& input, std::uint64_t draw) override {
    if (!is_random_) return run(input);
    // The generator is the whole process's, and ranks may be its threads.
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    auto generator = at::globalContext().defaultGenerator(input.device());
    {
      const std::scoped_lock of_generator(generator.mutex());
      generator.set_current_seed(draw);
    }
    return run(input);
  }

 private:
  at::Tensor run(at::Tensor x) {
    for (ChainStep& step : steps_) x = step.module.forward({x}).toTensor();
    return x;
  }

  Steps steps_;
  bool is_random_ = false;
};

class ScriptModel : public Model {
 public:
  explicit ScriptModel(const ModelDescription& description)
      : archive_(description.archive), module_(load(description)) {
    // The optimizing executor would hide the graph of a section behind one node.
    torch::jit::setGraphExecutorOptimize(false);
    divide(chain_of(module_), description.cutpoints);
    describe();
  }

  const ModelOutline& outline() const override { return outline_; }
  std::unique_ptr<Section> section(int index, at::Device device,
                                   at::ScalarType type) const override {
    return std::make_unique<ScriptSection>(sections_[static_cast<std::size_t>(index)], device,
                                           type);
  }
  at::Tensor initial(int section, int parameter, std::uint64_t /*seed*/,
                     at::ScalarType type) const override {
    return parameters_of(
               sections_[static_cast<std::size_t>(section)])[static_cast<std::size_t>(parameter)]
        .tensor.detach()
        .to(type);
  }

  std::vector<std::int64_t> output_shape(int section, std::int64_t samples,
                                         std::int64_t tokens) const override {
    auto& shapes = shapes_[tokens];
    if (shapes.empty()) {
      const at::NoGradGuard no_grad;
      at::Tensor x = some_tokens(tokens);
      for (const Steps& steps : sections_) {
        x = run(steps, x);
        if (x.dim() == 0 || x.size(0) != 1) refuse("makes a tensor without a dimension of samples");
        shapes.push_back(x.sizes().vec());
      }
    }
    std::vector<std::int64_t> shape = shapes[static_cast<std::size_t>(section)];
    shape[0] = samples;
    return shape;
  }

  void check_division(std::int64_t tokens) const override {
    torch::jit::Module whole = copy_of(module_);
    whole.eval();
    const auto parameters = parameters_of({{"", whole}});
    const at::Tensor expected = whole.forward({some_tokens(tokens)}).toTensor();
    const auto expected_gradients = gradients(expected.sum(), parameters);

    std::vector<std::pair<at::Tensor, at::Tensor>> boundaries;  // leaf, output
    torch::jit::Module again = copy_of(module_);
    again.eval();
    at::Tensor x = some_tokens(tokens);
    for (const Steps& steps : divided(chain_of(again))) {
      at::Tensor leaf = x.detach();
      leaf.set_requires_grad(leaf.is_floating_point());
      x = run(steps, leaf);
      boundaries.emplace_back(leaf, x);
    }
    if (!at::equal(x, expected)) refuse("computes something else section by section");
    x = at::ones_like(x);
    for (auto at = boundaries.rbegin(); at != boundaries.rend(); ++at) {
      at->second.backward(x);
      x = at->first.grad();
    }
    const auto found = parameters_of({{"", again}});
    for (std::size_t i = 0; i < found.size(); ++i) {
      const at::Tensor gradient = found[i].tensor.grad();
      const bool same = gradient.defined() && expected_gradients[i].defined()
                            ? at::allclose(gradient, expected_gradients[i], 1e-5, 1e-7)
                            : gradient.defined() == expected_gradients[i].defined();
      if (!same) refuse("gives " + found[i].name + " another gradient section by section");
    }
  }

 private:
  static torch::jit::Module load(const ModelDescription& description) {
    const std::string bytes = read_file(description.archive);
    if (!description.archive_hash.empty() && content_hash(bytes) != description.archive_hash) {
      throw_bad_input(description.archive +
                      ": is not the archive that was profiled (another content hash); profile it "
                      "again");
    }
    try {
      torch::jit::Module module = torch::jit::load(description.archive);
      for (at::Tensor parameter : module.parameters()) parameter.set_requires_grad(true);
      return module;
    } catch (const c10::Error& error) {
      const std::string reason = error.what_without_backtrace();
      throw_bad_input(description.archive + ": no TorchScript archive that this LibTorch reads (" +
                      reason.substr(0, reason.find('\n')) + ")");
    }
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_bad_input(archive_ + ": " + what + "; choose other cutpoints");
  }

  // Sections end where `cutpoints` says, or after every step.
  void divide(const Steps& steps, const std::vector<std::string>& cutpoints) {
    std::size_t next = 0;
    Steps section;
    std::string names;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      section.push_back(steps[i]);
      names += (names.empty() ? "" : ", ") + steps[i].name;
      const bool is_cut = next < cutpoints.size() && cutpoints[next] == steps[i].name;
      if (is_cut) ++next;
      if (!is_cut && !cutpoints.empty() && i + 1 < steps.size()) continue;
      lengths_.push_back(section.size());
      sections_.push_back(std::move(section));
      section.clear();
    }
    if (next < cutpoints.size()) {
      throw_bad_input(archive_ + ": no cutpoint \"" + cutpoints[next] +
                      "\" here; along the model there are " + names);
    }
  }
  // Another copy of the model, divided alike.
  [[nodiscard]] std::vector<Steps> divided(const Steps& steps) const {
    std::vector<Steps> sections;
    auto at = steps.begin();
    for (const std::size_t length : lengths_) {
      sections.emplace_back(at, at + static_cast<std::ptrdiff_t>(length));
      at += static_cast<std::ptrdiff_t>(length);
    }
    return sections;
  }

  void describe() {
    std::map<std::string, std::string> types;  // by signature
    std::map<std::string, int> used;           // names of types
    std::map<const void*, std::vector<std::pair<int, int>>> places;
    std::vector<const void*> order;
    for (std::size_t s = 0; s < sections_.size(); ++s) {
      const Steps& steps = sections_[s];
      SectionOutline section;
      section.name = steps.back().name.empty() ? "model" : steps.back().name;
      std::string& type = types[signature_of(steps)];
      if (type.empty()) {
        const auto& name = steps.back().module.type()->name();
        type = name ? name->name() : "section";
        const int number = used[type]++;
        if (number > 0) type += "." + std::to_string(number);
      }
      section.type = type;
      for (const NamedTensor& parameter : parameters_of(steps)) {
        auto& at = places[parameter.tensor.unsafeGetTensorImpl()];
        if (at.empty()) order.push_back(parameter.tensor.unsafeGetTensorImpl());
        at.emplace_back(static_cast<int>(s), static_cast<int>(section.parameters.size()));
        section.parameters.push_back({parameter.name, parameter.tensor.sizes().vec()});
      }
      outline_.sections.push_back(std::move(section));
    }
    for (const void* tensor : order) add_tie(places[tensor]);
  }
  void add_tie(const std::vector<std::pair<int, int>>& places) {
    if (places.size() < 2) return;
    TieOutline tie;
    const auto [section, parameter] = places.front();
    const SectionOutline& first = outline_.sections[static_cast<std::size_t>(section)];
    tie.name = first.name + "." + first.parameters[static_cast<std::size_t>(parameter)].name;
    for (const auto& place : places) {
      tie.sections.push_back(place.first);
      tie.parameters.push_back(place.second);
    }
    outline_.ties.push_back(std::move(tie));
  }

  static at::Tensor run(const Steps& steps, at::Tensor x) {
    for (const ChainStep& step : steps) {
      torch::jit::Module module = step.module;
      x = module.forward({x}).toTensor();
    }
    return x;
  }
  static at::Tensor some_tokens(std::int64_t tokens) {
    return at::arange(tokens, at::kLong).remainder(97).unsqueeze(0);
  }
  static std::vector<at::Tensor> gradients(const at::Tensor& sum,
                                           const std::vector<NamedTensor>& parameters) {
    sum.backward();
    std::vector<at::Tensor> gradients;
    gradients.reserve(parameters.size());
    for (const NamedTensor& parameter : parameters) gradients.push_back(parameter.tensor.grad());
    return gradients;
  }

  std::string archive_;
  torch::jit::Module module_;
  std::vector<Steps> sections_;
  std::vector<std::size_t> lengths_;  // steps of each section
  ModelOutline outline_;
  mutable std::map<std::int64_t, std::vector<std::vector<std::int64_t>>> shapes_;  // by tokens
};

}  // namespace

std::unique_ptr<Model> make_script_model(const ModelDescription& description) {
  return std::make_unique<ScriptModel>(description);
}

}  // namespace penstock
