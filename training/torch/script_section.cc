// PieceSection runs a graph on the stack [handed tensors, what it reads]; weights are placed there
// once as leaves, and bind() exchanges the memory beneath them without making new ones.
// WholeSection runs the module's forward. Graphs run without LibTorch's optimizing executor, which
// would hide operations from the split of the backward. A section that draws random numbers holds
// the process's generator and seeds it by micro-batch, so that a recomputed forward draws the same.
#include "training/torch/script_section.h"

#include <map>
#include <mutex>
#include <regex>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

namespace penstock {
namespace {

bool draws_random_numbers(const torch::jit::Graph& graph) {
  static const std::regex random("aten::(\\w*dropout|rand\\w*|bernoulli|normal|multinomial)_?\\(");
  return std::regex_search(graph.toString(/*print_source_locations=*/false), random);
}

at::Tensor leaf_of(const at::Tensor& tensor, at::Device device, at::ScalarType type) {
  return tensor.detach().to(device, type, /*non_blocking=*/false, /*copy=*/true);
}

bool is_mode(const std::string& name) { return name == "training" || name.ends_with(".training"); }

// What is no weight: buffers in the type that is computed in, settings as they are.
c10::IValue placed(const std::string& name, const c10::IValue& value, const ArchiveValues& archive,
                   const SectionMode& mode) {
  if (is_mode(name)) return mode.training;
  if (!value.isTensor() || !value.toTensor().defined()) return value;
  const at::Tensor tensor = value.toTensor();
  const at::ScalarType own = tensor.scalar_type();
  return leaf_of(archive.read(tensor), mode.device,
                 tensor.is_floating_point() ? mode.type.value_or(own) : own);
}

at::Tensor weight_of(const ScriptWeight& weight, const ArchiveValues& archive,
                     const SectionMode& mode) {
  const auto type = mode.type.value_or(weight.tensor.scalar_type());
  const at::Tensor leaf = mode.binds ? at::empty({0}, at::TensorOptions(mode.device).dtype(type))
                                     : leaf_of(archive.read(weight.tensor), mode.device, type);
  return leaf.set_requires_grad(weight.tensor.requires_grad());
}

}  // namespace

bool is_kept(const at::Tensor& buffer) {
  return buffer.is_floating_point() || buffer.scalar_type() == at::kLong;
}

namespace {

// The optimizing executor would hide the operations behind one node of autograd's graph.
torch::jit::Stack run_plainly(const torch::jit::GraphExecutor& executor, torch::jit::Stack stack) {
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  torch::jit::GraphExecutor(executor).run(stack);
  return stack;
}

class ScriptSection : public SectionModule {
 public:
  void bind(std::size_t parameter, const at::Tensor& storage) override {
    const bool is_trained = weights_[parameter].requires_grad();
    weights_[parameter].set_requires_grad(false);
    weights_[parameter].set_data(storage);
    weights_[parameter].set_requires_grad(is_trained);
  }

  Tensors forward(const Tensors& handed, const Tensors& inputs,
                  std::optional<std::uint64_t> draw) override {
    if (!is_random_) return run(handed, inputs);
    const std::scoped_lock lock(generator_lock());
    if (draw) seed_generator(device_, *draw);
    return run(handed, inputs);
  }

 protected:
  explicit ScriptSection(at::Device device) : device_(device) {}
  virtual Tensors run(const Tensors& handed, const Tensors& inputs) = 0;
  at::Device device_;
  bool is_random_ = false;
};

class PieceSection : public ScriptSection {
 public:
  PieceSection(const ScriptPart& part, const ArchiveValues& archive, const SectionMode& mode)
      : ScriptSection(mode.device),
        executor_(part.piece.graph, "section"),
        values_(part.values),
        reads_(part.piece.reads),
        around_(part.piece.around) {
    is_random_ = draws_random_numbers(*part.piece.graph);
    for (const ScriptWeight& weight : part.weights) {
      weights_.push_back(weight_of(weight, archive, mode));
      for (const std::size_t input : weight.inputs) values_[input] = c10::IValue();
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (is_mode(part.names[i])) modes_.push_back(i);
      values_[i] = placed(part.names[i], values_[i], archive, mode);
    }
    for (const std::size_t i : part.buffers) buffers_.push_back(values_[i].toTensor());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      for (const std::size_t input : part.weights[i].inputs) values_[input] = weights_[i];
    }
  }

  void set_training(bool training) override {
    for (const std::size_t i : modes_) values_[i] = training;
  }

 private:
  Tensors run(const Tensors& handed, const Tensors& inputs) override {
    torch::jit::Stack stack(handed.begin(), handed.end());
    stack.insert(stack.end(), values_.begin(), values_.end());
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      if (reads_[i] < 0)
        stack[handed.size() + i] = inputs[static_cast<std::size_t>(-1 - reads_[i])];
    }
    const torch::jit::Stack made = run_plainly(executor_, std::move(stack));
    Tensors outputs;
    outputs.reserve(around_.size());
    std::size_t next = 0;
    for (const int input : around_) {
      outputs.push_back(input < 0 ? made[next++].toTensor()
                                  : handed[static_cast<std::size_t>(input)]);
    }
    return outputs;
  }

  torch::jit::GraphExecutor executor_;
  std::vector<c10::IValue> values_;
  std::vector<int> reads_, around_;
  std::vector<std::size_t> modes_;  // of values_: whether a module trains
};

class WholeSection : public ScriptSection {
 public:
  WholeSection(torch::jit::Module module, const std::vector<ScriptWeight>& weights,
               const SectionMode& mode)
      : ScriptSection(mode.device), module_(std::move(module)) {
    module_.train(mode.training);
    module_.to(mode.device);
    std::map<std::string, at::Tensor> parameters;
    for (const auto& parameter : module_.named_parameters()) {
      parameters[parameter.name] = parameter.value;
    }
    for (const ScriptWeight& weight : weights) {
      weights_.push_back(
          parameters.at(weight.name).set_requires_grad(weight.tensor.requires_grad()));
    }
    for (at::Tensor buffer : module_.buffers()) {
      if (mode.type && buffer.is_floating_point()) buffer.set_data(buffer.to(*mode.type));
      if (is_kept(buffer)) buffers_.push_back(buffer);
    }
    const auto graph = module_.get_method("forward").graph()->copy();
    torch::jit::Inline(*graph);
    is_random_ = draws_random_numbers(*graph);
  }

  void set_training(bool training) override { module_.train(training); }

 private:
  Tensors run(const Tensors& /*handed*/, const Tensors& inputs) override {
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    return {result_of(module_.forward(std::vector<c10::IValue>(inputs.begin(), inputs.end())),
                      "the archive")};
  }

  torch::jit::Module module_;
};

}  // namespace

std::recursive_mutex& generator_lock() {
  static std::recursive_mutex lock;
  return lock;
}

void seed_generator(at::Device device, std::uint64_t seed) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::scoped_lock of_generator(generator.mutex());
  generator.set_current_seed(seed);
}

std::unique_ptr<SectionModule> piece_section(const ScriptPart& part, const ArchiveValues& archive,
                                             const SectionMode& mode) {
  return std::make_unique<PieceSection>(part, archive, mode);
}

std::unique_ptr<SectionModule> whole_section(torch::jit::Module module,
                                             const std::vector<ScriptWeight>& weights,
                                             const SectionMode& mode) {
  return std::make_unique<WholeSection>(std::move(module), weights, mode);
}

}  // namespace penstock
