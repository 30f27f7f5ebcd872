// Nodes are sorted into three kinds: those that depend on inputs and weights, which a boundary can
// pass; those that every piece works out for itself; and draws and changes of buffers, which happen
// once. A cut is possible behind a node if everything that later nodes read of earlier ones can be
// handed on as tensors whose sizes grow evenly with the samples, which is tried with 2, 3 and 5
// samples.
#include "training/torch/script_flow.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

namespace penstock {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

constexpr int kInputs = 0;  // the first node
constexpr int kMatrix = 2;  // dimensions

// Of a tensor these read the shape alone.
bool reads_shape_only(const Node& node) {
  static const std::set<std::string> kinds{
      "aten::size",      "aten::dim",        "aten::numel",     "aten::len",      "aten::ones_like",
      "aten::full_like", "aten::zeros_like", "aten::new_zeros", "aten::new_ones", "aten::new_full",
      "prim::device",    "prim::dtype",      "prim::layout"};
  return kinds.contains(node.kind().toQualString());
}

bool draws(const Node& node) {
  if (node.isNondeterministic()) return true;
  for (const Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) {
      if (draws(*inner)) return true;
    }
  }
  return false;
}

// Forward calls one child after the other, if there is one at all, and holds no tensors.
bool is_container(const torch::jit::Module& module) {
  if (module.children().size() == 0 || module.parameters(false).size() > 0 ||
      module.buffers(false).size() > 0) {
    return false;
  }
  const auto forward = module.find_method("forward");
  if (!forward) return true;
  const auto graph = forward->graph();
  for (const Node* node : graph->nodes()) {
    if (node->kind() != c10::prim::GetAttr && node->kind() != c10::prim::Constant &&
        node->kind() != c10::prim::CallMethod) {
      return false;
    }
  }
  return true;
}

void add_children(const torch::jit::Module& module, const std::string& path,
                  std::set<std::string>& children) {
  for (const auto& child : module.named_children()) {
    const std::string name = path.empty() ? child.name : path + "." + child.name;
    if (is_container(child.value)) {
      add_children(child.value, name, children);
    } else {
      children.insert(name);
    }
  }
}

// "down", "encoder.block.3".
bool is_unit(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return true;
  return path.find_first_not_of("0123456789", dot + 1) == std::string::npos;
}

// Of the submodules that return a tensor; one that only holds others has no say.
std::string outermost(const torch::jit::Module& module, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!is_container(submodule(module, path))) return path;
  }
  return paths.front();
}

bool has_matrix(const torch::jit::Module& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.dim() >= kMatrix) return true;
  }
  return false;
}

}  // namespace

void ScriptFlow::Reads::add(const Reads& other) {
  attributes.insert(other.attributes.begin(), other.attributes.end());
  inputs = inputs || other.inputs;
  weights = weights || other.weights;
  trained = trained || other.trained;
}

ScriptFlow::ScriptFlow(const torch::jit::Module& module) : flat_(flatten_forward(module)) {
  graph_.undivided = flat_.undivided;
  if (!graph_.undivided.empty()) return;
  for (const at::Tensor& parameter : module.parameters()) {
    weights_[parameter.data_ptr()] = {static_cast<int>(parameter.dim()), parameter.requires_grad()};
  }
  read_nodes();
  const auto found = made_in_.find(flat_.graph->outputs()[0]);
  if (found == made_in_.end()) {
    graph_.undivided = "its result is not computed from its inputs and its weights";
    return;
  }
  keep_what_leads_to_the_result();
  find_last_readers();
  name_nodes(module);
}

void ScriptFlow::read_nodes() {
  const auto inputs = flat_.graph->inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Reads& reads = free_[inputs[i]];
    if (i < flat_.inputs.size()) {
      reads.inputs = true;
      continue;
    }
    const auto attribute = i - flat_.inputs.size();
    reads.attributes.insert(static_cast<int>(attribute));
    const c10::IValue& value = flat_.attributes[attribute].value;
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const auto weight = weights_.find(value.toTensor().data_ptr());
    reads.weights = weight != weights_.end();
    reads.trained = reads.weights && weight->second.trained;
  }
  for (Node* node : flat_.graph->nodes()) read_node(*node);
}

void ScriptFlow::read_node(Node& node) {
  Reads reads;
  std::vector<int> from;
  bool trained = false;
  for (const Value* input : inputs_of(node)) {
    if (const auto made = made_in_.find(input); made != made_in_.end()) {
      from.push_back(made->second);
      trained = trained || is_trained_[static_cast<std::size_t>(made->second)];
    } else if (const auto known = free_.find(input); known != free_.end()) {
      reads.add(known->second);
    }
  }
  const bool is_once = draws(node) || flat_.changes.contains(&node);
  if (from.empty() && !is_once && !(reads.inputs && reads.weights)) {
    if (reads_shape_only(node)) reads.inputs = reads.weights = reads.trained = false;
    for (const Value* output : node.outputs()) free_[output] = reads;
    return;
  }
  // A size of what depends on both is a number, which no boundary carries; of the weights it reads
  // nothing.
  trained = trained || reads.trained;
  if (from.empty()) from.push_back(kInputs);
  std::sort(from.begin(), from.end());
  from.erase(std::unique(from.begin(), from.end()), from.end());
  for (const Value* output : node.outputs()) made_in_[output] = static_cast<int>(nodes_.size());
  nodes_.push_back(&node);
  from_.push_back(std::move(from));
  reads_.push_back(std::move(reads));
  is_trained_.push_back(trained);
}

// And what changes a buffer. The result comes last, since nothing reads it.
void ScriptFlow::keep_what_leads_to_the_result() {
  const auto result = static_cast<std::size_t>(made_in_.at(flat_.graph->outputs()[0]));
  std::vector<bool> leads(nodes_.size(), false);
  leads[result] = true;
  for (std::size_t i = nodes_.size(); i-- > 1;) {
    leads[i] = leads[i] || flat_.changes.contains(nodes_[i]);
    if (!leads[i]) continue;
    for (const int from : from_[i]) leads[static_cast<std::size_t>(from)] = true;
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if ((leads[i] && i != result) || i == kInputs) order.push_back(i);
  }
  order.push_back(result);
  std::vector<int> place(nodes_.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  const auto nodes = std::exchange(nodes_, {});
  const auto all_from = std::exchange(from_, {});
  const auto reads = std::exchange(reads_, {});
  const auto trained = std::exchange(is_trained_, {});
  for (const std::size_t i : order) {
    nodes_.push_back(nodes[i]);
    reads_.push_back(reads[i]);
    is_trained_.push_back(trained[i]);
    from_.emplace_back();
    for (const int from : all_from[i]) {
      from_.back().push_back(place[static_cast<std::size_t>(from)]);
    }
  }
  for (auto& [value, node] : made_in_) node = place[static_cast<std::size_t>(node)];
}

void ScriptFlow::find_last_readers() {
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    for (const Value* input : inputs_of(*nodes_[i])) {
      if (const auto made = made_in_.find(input); made != made_in_.end() && made->second >= 0) {
        last_reader_[input] = static_cast<int>(i);
      }
    }
  }
}

std::vector<Value*> ScriptFlow::handed_on(int node) const {
  if (static_cast<std::size_t>(node) + 1 == nodes_.size()) return {flat_.graph->outputs()[0]};
  std::vector<Value*> values;
  for (int i = 1; i <= node; ++i) {
    for (Value* output : nodes_[static_cast<std::size_t>(i)]->outputs()) {
      const auto last = last_reader_.find(output);
      if (last != last_reader_.end() && last->second > node) values.push_back(output);
    }
  }
  return values;
}

void ScriptFlow::name_nodes(const torch::jit::Module& module) {
  std::set<std::string> children;
  add_children(module, "", children);
  std::map<std::string, int> used;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    ArchiveNode node;
    describe(node, static_cast<int>(i), module, children);
    const int number = ++used[node.name];
    if (number > 1) node.name += "#" + std::to_string(number);
    graph_.nodes.push_back(std::move(node));
    for (const int from : from_[i]) graph_.edges.emplace_back(from, static_cast<int>(i));
  }
}

void ScriptFlow::describe(ArchiveNode& described, int index, const torch::jit::Module& module,
                          const std::set<std::string>& children) {
  if (index == kInputs) {
    described.name = "inputs";
    return;
  }
  const auto at = static_cast<std::size_t>(index);
  const Node& node = *nodes_[at];
  const std::string scope = computed_in(index);
  described.name = (scope.empty() ? "" : scope + ".") + operation(index);
  for (const int attribute : reads_[at].attributes) {
    const c10::IValue& value = attributes()[static_cast<std::size_t>(attribute)].value;
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const auto weight = weights_.find(value.toTensor().data_ptr());
    if (weight == weights_.end()) continue;
    described.uses_matrix = described.uses_matrix || weight->second.dimensions >= kMatrix;
  }
  described.is_boundary = true;
  for (const Value* output : node.outputs()) {
    if (last_reader_.contains(output) && output->type()->kind() != c10::TypeKind::TensorType) {
      described.is_boundary = false;
    }
  }
  if (node.outputs().size() != 1 || node.output()->type()->kind() != c10::TypeKind::TensorType) {
    return;
  }
  const auto returned = flat_.returned_by.find(node.output()->unique());
  if (returned == flat_.returned_by.end()) return;
  described.aliases = returned->second;
  returned_by_[index] = described.name = outermost(module, described.aliases);
  for (const std::string& path : described.aliases) {
    described.is_child = described.is_child || children.contains(path);
    const bool holds_matrix = has_matrix(submodule(module, path));
    described.ends_block = described.ends_block || holds_matrix;
    described.is_unit = described.is_unit || (holds_matrix && is_unit(path));
  }
  std::erase(described.aliases, described.name);
}

std::string ScriptFlow::computed_in(int node) const {
  const Node* const at = nodes_[static_cast<std::size_t>(node)];
  if (at == nullptr || at->outputs().empty()) return "";
  const auto scope = flat_.computed_in.find(at->outputs()[0]->unique());
  return scope == flat_.computed_in.end() ? "" : scope->second;
}

std::string ScriptFlow::operation(int node) const {
  return nodes_[static_cast<std::size_t>(node)]->kind().toUnqualString();
}

std::string ScriptFlow::returned_by(int node) const {
  const auto found = returned_by_.find(node);
  return found == returned_by_.end() ? "" : found->second;
}

ScriptPiece ScriptFlow::piece(int from, int to) const {
  const std::vector<Value*> given = from == kInputs ? std::vector<Value*>{} : handed_on(from);
  std::vector<Value*> results;
  std::vector<int> around;
  std::vector<bool> is_trained;
  for (Value* value : handed_on(to)) {
    const auto same = std::find(given.begin(), given.end(), value);
    around.push_back(same == given.end() ? -1 : static_cast<int>(same - given.begin()));
    is_trained.push_back(is_trained_[static_cast<std::size_t>(made_in_.at(value))]);
    if (same == given.end()) results.push_back(value);
  }
  std::vector<Node*> effects;
  std::set<int> changes;
  for (int i = from + 1; i <= to; ++i) {
    Node* const node = nodes_[static_cast<std::size_t>(i)];
    const auto changed = flat_.changes.find(node);
    if (changed == flat_.changes.end()) continue;
    effects.push_back(node);
    changes.insert(changed->second.begin(), changed->second.end());
  }
  ScriptPiece piece = cut_piece(flat_, given, results, effects);
  piece.around = std::move(around);
  piece.is_trained = std::move(is_trained);
  piece.changes = std::move(changes);
  return piece;
}

std::vector<std::vector<std::int64_t>> ScriptFlow::sizes_of(
    const std::vector<const Value*>& values, const std::vector<at::Tensor>& inputs) const {
  const auto graph = flat_.graph->copy();
  std::map<const Node*, Node*> copies;
  auto copy = graph->nodes().begin();
  for (const Node* node : flat_.graph->nodes()) copies[node] = *copy++;
  graph->eraseOutput(0);
  for (const Value* value : values) {
    Node* const node = copies.at(value->node());
    const torch::jit::WithInsertPoint behind(node->next());
    graph->registerOutput(graph->insert(c10::aten::size, {node->outputs()[value->offset()]}));
  }
  torch::jit::Stack stack(inputs.begin(), inputs.end());
  for (const ScriptAttribute& attribute : attributes()) stack.push_back(attribute.value);
  {
    const at::NoGradGuard no_grad;
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    torch::jit::GraphExecutor(graph, "forward").run(stack);
  }
  std::vector<std::vector<std::int64_t>> sizes;
  sizes.reserve(stack.size());
  for (const c10::IValue& value : stack) sizes.push_back(value.toIntVector());
  return sizes;
}

namespace {

bool grows_evenly(const std::vector<std::int64_t>& at_2, const std::vector<std::int64_t>& at_3,
                  const std::vector<std::int64_t>& at_5) {
  if (at_2.size() != at_3.size() || at_2.size() != at_5.size()) return false;
  for (std::size_t i = 0; i < at_2.size(); ++i) {
    if (at_5[i] - at_2[i] != 3 * (at_3[i] - at_2[i])) return false;
  }
  return true;
}

}  // namespace

void ScriptFlow::try_out(
    const std::function<std::vector<at::Tensor>(std::int64_t samples)>& inputs_of) {
  std::vector<const Value*> values;
  for (const auto& [value, reader] : last_reader_) {
    if (value->type()->kind() == c10::TypeKind::TensorType) values.push_back(value);
  }
  const auto at_2 = sizes_of(values, inputs_of(2)), at_3 = sizes_of(values, inputs_of(3)),
             at_5 = sizes_of(values, inputs_of(5));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (grows_evenly(at_2[i], at_3[i], at_5[i])) continue;
    graph_.nodes[static_cast<std::size_t>(made_in_.at(values[i]))].is_boundary = false;
  }
}

}  // namespace penstock
