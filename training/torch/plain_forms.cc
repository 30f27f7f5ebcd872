// An operation in place (add_, copy_) becomes the one without underscore, and whoever read the
// tensor behind it reads the result; one that writes into a part puts the part back with
// slice_scatter or select_scatter. It stays as it is where another name of the tensor, from before
// the write, is read after it (AliasDb), since that name would see the old value. Lists that a
// loop only appends to become values that the loop hands on.
#include "training/torch/plain_forms.h"

#include <set>
#include <string>
#include <vector>

#include <torch/csrc/jit/ir/alias_analysis.h>

namespace penstock {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

// Every write into a part copies the whole tensor; a loop that was traced has one per turn.
constexpr int kMostWrites = 32;

template <class Visit>
void visit_nodes(Block& block, const Visit& visit) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) visit_nodes(*inner, visit);
    visit(*node);
  }
}

bool is_append(const Node& node) { return node.kind() == c10::aten::append; }

bool reads_list(const Node& node) {
  static const std::set<std::string> kinds{"aten::stack",  "aten::cat",       "aten::concat",
                                           "aten::hstack", "aten::vstack",    "aten::__getitem__",
                                           "aten::len",    "prim::ListUnpack"};
  return kinds.contains(node.kind().toQualString());
}

// One list, and what stands for it from node to node.
class CarriedList {
 public:
  CarriedList(Graph& graph, Node& made) : graph_(graph), list_(*made.output()) {}

  // Whether a loop appends to it, and nothing happens to it but appends and reads.
  [[nodiscard]] bool fits() const {
    bool in_loop = false;
    for (const Use& use : list_.uses()) {
      const Node& user = *use.user;
      if (is_append(user) ? use.offset != 0 || user.output()->hasUses() : !reads_list(user)) {
        return false;
      }
      for (const Block* at = user.owningBlock(); at != home();
           at = at->owningNode()->owningBlock()) {
        const auto kind = at->owningNode()->kind();
        if (kind != c10::prim::Loop && kind != c10::prim::If) return false;
        in_loop = in_loop || is_append(user);
      }
    }
    return in_loop;
  }

  void carry() { (void)follow(list_.node()->next(), *list_.node()->owningBlock(), &list_); }

 private:
  [[nodiscard]] const Block* home() const { return list_.node()->owningBlock(); }

  // Returns what stands for the list at the end of the block.
  Value* follow(Node* node, Block& block, Value* now) {
    while (node != block.return_node()) {
      Node* const next = node->next();
      if (is_append(*node) && node->input(0) == &list_) {
        now = longer(*node, now);
      } else {
        node->replaceInputWith(&list_, now);
        if (!node->blocks().empty() && is_used_in(*node)) now = through(*node, now);
      }
      node = next;
    }
    return now;
  }

  Value* longer(Node& append, Value* now) {
    const torch::jit::WithInsertPoint at(&append);
    const auto element = list_.type()->expectRef<c10::ListType>().getElementType();
    Value* const one = graph_.insertNode(graph_.createList(element, {append.input(1)}))->output();
    Value* const both = graph_.insert(c10::aten::add, {now, one})->setType(list_.type());
    append.destroy();
    return both;
  }

  Value* through(Node& node, Value* now) {
    const bool is_loop = node.kind() == c10::prim::Loop;
    if (is_loop) node.addInput(now);
    for (Block* block : node.blocks()) {
      Value* const first = is_loop ? block->addInput()->setType(list_.type()) : now;
      block->registerOutput(follow(*block->nodes().begin(), *block, first));
    }
    return node.addOutput()->setType(list_.type());
  }

  [[nodiscard]] bool is_used_in(const Node& node) const {
    for (const Use& use : list_.uses()) {
      for (const Block* at = use.user->owningBlock(); at != nullptr;) {
        const Node* const owner = at->owningNode();
        if (owner == &node) return true;
        at = owner == nullptr ? nullptr : owner->owningBlock();
      }
    }
    return false;
  }

  Graph& graph_;
  Value& list_;
};

// An operation in place, and the parts of a tensor through which it reaches it.
class Write {
 public:
  Write(FlatForward& flat, Node& node) : flat_(flat), node_(node), root_(node.input(0)) {
    while (is_part(*root_->node())) {
      parts_.push_back(root_->node());
      root_ = root_->node()->input(0);
    }
  }

  [[nodiscard]] bool goes_into_part() const { return !parts_.empty(); }

  void replace() {
    Node* const pure = plain_form();
    if (pure->maybeSchema() == nullptr || pure->maybeSchema()->is_mutable() || is_seen()) {
      pure->destroy();
      return;
    }
    Value* result = pure->output()->setType(node_.output()->type());
    name(*result, *node_.output());
    put(*node_.input(0), *result);
    node_.output()->replaceAllUsesWith(result);
    for (Node* part : parts_) {
      result = scattered(*part, *result);
      name(*result, *part->input(0));
      put(*part->input(0), *result);
    }
    node_.destroy();
  }

 private:
  static bool is_part(const Node& node) {
    return node.kind() == c10::aten::slice || node.kind() == c10::aten::select;
  }

  Graph& graph() { return *flat_.graph; }

  Node* plain_form() {
    const std::string name = node_.kind().toQualString();
    Node* const pure = graph().create(c10::Symbol::fromQualString(name.substr(0, name.size() - 1)),
                                      node_.inputs());
    return pure->insertBefore(&node_);
  }

  // The tensor of which `part` is one, with `value` in its place.
  Value* scattered(Node& part, Value& value) {
    std::vector<Value*> inputs{part.input(0), &value};
    for (std::size_t i = 1; i < part.inputs().size(); ++i) inputs.push_back(part.input(i));
    const std::string name = std::string(part.kind().toQualString()) + "_scatter";
    Node* const scatter = graph().create(c10::Symbol::fromQualString(name), inputs);
    scatter->insertBefore(&node_);
    return scatter->output()->setType(part.input(0)->type());
  }

  void put(Value& old, Value& now) { old.replaceAllUsesAfterNodeWith(&node_, &now); }

  void name(Value& now, const Value& old) {
    flat_.computed_in[now.unique()] = flat_.computed_in[old.unique()];
    if (const auto known = flat_.returned_by.find(old.unique()); known != flat_.returned_by.end()) {
      flat_.returned_by[now.unique()] = known->second;
    }
  }

  // Whether somebody sees by another name that the tensor changes: a name from before the write,
  // since what comes after it reads its result.
  bool is_seen() {
    const torch::jit::AliasDb aliases(flat_.graph);
    for (Value* input : graph().inputs()) {
      if (aliases.mayContainAlias(root_, input)) return true;
    }
    std::set<const Value*> own{root_, node_.input(0)};
    for (const Node* part : parts_) own.insert(part->output());
    bool seen = false;
    visit_nodes(*graph().block(), [&](Node& other) {
      for (Value* value : other.outputs()) {
        if (seen || own.contains(value) || !other.isBefore(&node_)) continue;
        if (is_read_after(*value)) seen = aliases.mayContainAlias(root_, value);
      }
    });
    return seen;
  }

  [[nodiscard]] bool is_read_after(const Value& value) const {
    for (const Use& use : value.uses()) {
      if (use.user->isAfter(&node_)) return true;
    }
    return false;
  }

  FlatForward& flat_;
  Node& node_;
  Value* root_;               // the tensor that changes
  std::vector<Node*> parts_;  // innermost first
};

}  // namespace

void carry_lists_through_loops(Graph& graph) {
  std::vector<Node*> lists;
  visit_nodes(*graph.block(), [&](Node& node) {
    if (node.kind() == c10::prim::ListConstruct) lists.push_back(&node);
  });
  for (Node* made : lists) {
    CarriedList list(graph, *made);
    if (list.fits()) list.carry();
  }
}

void replace_in_place(FlatForward& flat) {
  std::vector<Node*> nodes;
  for (Node* node : flat.graph->nodes()) {
    const std::string name = node->kind().toUnqualString();
    const c10::FunctionSchema* const schema = node->maybeSchema();
    if (schema == nullptr || !schema->is_mutable()) continue;
    if (name.ends_with('_') && !name.ends_with("__")) nodes.push_back(node);
  }
  int into_parts = 0;
  for (Node* node : nodes) into_parts += Write(flat, *node).goes_into_part() ? 1 : 0;
  for (Node* node : nodes) {
    Write write(flat, *node);
    if (!write.goes_into_part() || into_parts <= kMostWrites) write.replace();
  }
}

}  // namespace penstock
