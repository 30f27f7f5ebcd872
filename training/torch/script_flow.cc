#include "training/torch/script_flow.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

namespace penstock {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr int kTokens = 0;
constexpr int kMatrix = 2;  // dimensions

// What a node reads, the blocks inside it included.
void add_inputs(const Node& node, std::set<const Value*>& inputs) {
  inputs.insert(node.inputs().begin(), node.inputs().end());
  for (const Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) add_inputs(*inner, inputs);
    inputs.insert(block->outputs().begin(), block->outputs().end());
  }
}
std::set<const Value*> inputs_of(const Node& node) {
  std::set<const Value*> inputs;
  add_inputs(node, inputs);
  return inputs;
}

// Of the tokens these read the shape alone.
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

// Sizes and device of the tokens, made from a tensor [samples, tokens, ...].
Value* stand_in(Graph& graph, Value* x) {
  Value* const rest = graph.insert(c10::aten::flatten, {graph.insert(c10::aten::detach, {x}), 2});
  Value* const first = graph.insert(c10::aten::select, {rest, 2, 0});
  return graph.insert(c10::aten::to, {first, at::kLong});
}

}  // namespace

ScriptFlow::ScriptFlow(const torch::jit::Module& module) : flat_(flatten_forward(module)) {
  graph_.undivided = flat_.undivided;
  if (!graph_.undivided.empty()) return;
  for (const auto& parameter : module.named_parameters()) {
    weights_[parameter.name] = static_cast<int>(parameter.value.dim());
  }
  read_nodes();
  const Value* result = flat_.graph->outputs()[0];
  const auto found = made_in_.find(result);
  if (found == made_in_.end() || found->second == kTokens) {
    graph_.undivided = "its result is not computed from the tokens";
    return;
  }
  keep_what_leads_to_the_result();
  name_nodes(module);
}

void ScriptFlow::read_nodes() {
  const auto inputs = flat_.graph->inputs();
  made_in_[inputs[0]] = kTokens;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    free_[inputs[i]].attributes.insert(static_cast<int>(i) - 1);
  }
  for (Node* node : flat_.graph->nodes()) read_node(*node);
}

bool ScriptFlow::is_free(const Node& node) const {
  if (draws(node)) return false;
  const bool shape_only = reads_shape_only(node);
  for (const Value* input : inputs_of(node)) {
    const auto made = made_in_.find(input);
    if (made == made_in_.end()) continue;
    if (!shape_only || made->second != kTokens || node.input(0) != input) return false;
  }
  return true;
}

void ScriptFlow::read_node(Node& node) {
  Reads reads;
  std::vector<int> from;
  for (const Value* input : inputs_of(node)) {
    if (const auto made = made_in_.find(input); made != made_in_.end()) {
      from.push_back(made->second);
    } else if (const auto known = free_.find(input); known != free_.end()) {
      reads.attributes.insert(known->second.attributes.begin(), known->second.attributes.end());
      reads.sizes = reads.sizes || known->second.sizes;
    }
  }
  if (is_free(node)) {
    reads.sizes = reads.sizes || !from.empty();
    for (const Value* output : node.outputs()) free_[output] = reads;
    return;
  }
  if (from.empty()) from.push_back(kTokens);  // what is drawn is drawn once
  std::sort(from.begin(), from.end());
  from.erase(std::unique(from.begin(), from.end()), from.end());
  for (const Value* output : node.outputs()) made_in_[output] = static_cast<int>(nodes_.size());
  nodes_.push_back(&node);
  from_.push_back(std::move(from));
  reads_.push_back(std::move(reads));
}

void ScriptFlow::keep_what_leads_to_the_result() {
  std::vector<bool> leads(nodes_.size(), false);
  leads[static_cast<std::size_t>(made_in_.at(flat_.graph->outputs()[0]))] = true;
  for (std::size_t i = nodes_.size(); i-- > 1;) {
    if (!leads[i]) continue;
    for (const int from : from_[i]) leads[static_cast<std::size_t>(from)] = true;
  }
  std::vector<int> place(nodes_.size(), -1);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!leads[i] && i != kTokens) continue;
    place[i] = static_cast<int>(kept);
    for (int& from : from_[i]) from = place[static_cast<std::size_t>(from)];
    if (kept != i) {
      nodes_[kept] = nodes_[i];
      from_[kept] = std::move(from_[i]);
      reads_[kept] = std::move(reads_[i]);
    }
    ++kept;
  }
  nodes_.resize(kept);
  from_.resize(kept);
  reads_.resize(kept);
  for (auto& [value, node] : made_in_) node = place[static_cast<std::size_t>(node)];
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
  if (index == kTokens) {
    described.name = "tokens";
    return;
  }
  const auto at = static_cast<std::size_t>(index);
  const Node& node = *nodes_[at];
  const std::string scope = computed_in(index);
  described.name = (scope.empty() ? "" : scope + ".") + operation(index);
  bool has_weights = false;
  for (const int attribute : reads_[at].attributes) {
    const auto weight = weights_.find(attributes()[static_cast<std::size_t>(attribute)].name);
    if (weight == weights_.end()) continue;
    has_weights = true;
    described.uses_matrix = described.uses_matrix || weight->second >= kMatrix;
  }
  for (const int from : from_[at]) {
    has_weights = has_weights || depends_on_weights_[static_cast<std::size_t>(from)];
  }
  depends_on_weights_.push_back(has_weights);
  if (node.outputs().size() != 1 || node.output()->type()->kind() != c10::TypeKind::TensorType) {
    return;
  }
  described.is_boundary = has_weights;
  const auto returned = flat_.returned_by.find(node.output()->unique());
  if (returned == flat_.returned_by.end()) return;
  described.aliases = returned->second;
  returned_by_[index] = described.name = outermost(module, described.aliases);
  for (const std::string& path : described.aliases) {
    described.is_child = described.is_child || children.contains(path);
    described.ends_block = described.ends_block || has_matrix(submodule(module, path));
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

namespace {

// Copies what a piece needs into a graph of its own.
class Cutting {
 public:
  Cutting(const Graph& whole, const std::vector<Value*>& given) : whole_(whole) {
    piece_.graph = std::make_shared<Graph>();
    x_ = piece_.graph->addInput("x")->setType(c10::TensorType::get());
    for (const Value* value : given) copies_[value] = x_;
  }

  ScriptPiece run(Value* result) && {
    need(result);
    for (Node* node : const_cast<Graph&>(whole_).nodes()) {
      if (needed_.contains(node)) copy(*node);
    }
    piece_.graph->registerOutput(copies_.at(result));
    return std::move(piece_);
  }

 private:
  void need(const Value* result) {
    std::vector<const Value*> open{result};
    while (!open.empty()) {
      const Value* const value = open.back();
      open.pop_back();
      if (copies_.contains(value)) continue;
      const Node* const node = value->node();
      if (node == whole_.param_node() || node->owningBlock() != whole_.return_node()->owningBlock())
        continue;
      if (!needed_.insert(node).second) continue;
      for (const Value* input : inputs_of(*node)) open.push_back(input);
    }
  }

  void copy(Node& node) {
    Node* const copied =
        piece_.graph->createClone(&node, [this](Value* value) { return copy_of(value); });
    piece_.graph->insertNode(copied);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      copies_[node.outputs()[i]] = copied->outputs()[i];
    }
  }

  // What is no result of a node is an input of the whole.
  Value* copy_of(Value* value) {
    Value*& copy = copies_[value];
    if (copy != nullptr) return copy;
    if (value->offset() == 0) return copy = stand_in(*piece_.graph, x_);
    piece_.attributes.push_back(static_cast<int>(value->offset()) - 1);
    return copy = piece_.graph->addInput()->setType(value->type());
  }

  const Graph& whole_;
  ScriptPiece piece_;
  Value* x_ = nullptr;
  std::set<const Node*> needed_;
  std::map<const Value*, Value*> copies_;
};

}  // namespace

ScriptPiece ScriptFlow::piece(int from, int to) const {
  Value* const given =
      from == kTokens ? flat_.graph->inputs()[0] : nodes_[static_cast<std::size_t>(from)]->output();
  const bool is_last = static_cast<std::size_t>(to) + 1 == nodes_.size();
  Value* const result =
      is_last ? flat_.graph->outputs()[0] : nodes_[static_cast<std::size_t>(to)]->output();
  return Cutting(*flat_.graph, {given}).run(result);
}

void ScriptFlow::try_out(const at::Tensor& tokens) {
  const std::vector<int> cuts = possible_cuts(graph_);
  const auto graph = flat_.graph->copy();
  std::map<const Node*, Node*> copies;
  auto copy = graph->nodes().begin();
  for (const Node* node : flat_.graph->nodes()) copies[node] = *copy++;
  graph->eraseOutput(0);
  for (const int cut : cuts) {
    Node* const node = copies.at(nodes_[static_cast<std::size_t>(cut)]);
    const torch::jit::WithInsertPoint behind(node->next());
    graph->registerOutput(graph->insert(c10::aten::size, {node->output()}));
    graph->registerOutput(graph->insert(c10::aten::is_floating_point, {node->output()}));
  }
  torch::jit::Stack stack{tokens};
  for (const ScriptAttribute& attribute : attributes()) stack.push_back(attribute.value);
  {
    const at::NoGradGuard no_grad;
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    torch::jit::GraphExecutor(graph, "forward").run(stack);
  }
  int last_sizes = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (reads_[i].sizes) last_sizes = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const std::vector<std::int64_t> shape = stack[2 * i].toIntVector();
    const bool has_samples = shape.size() > 1 && shape[0] == tokens.size(0);
    const bool has_tokens = shape.size() > 2 && shape[1] == tokens.size(1);
    graph_.nodes[static_cast<std::size_t>(cuts[i])].is_boundary =
        stack[2 * i + 1].toBool() && has_samples && (has_tokens || cuts[i] >= last_sizes);
  }
}

}  // namespace penstock
