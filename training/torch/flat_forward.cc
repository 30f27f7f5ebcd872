// The module's graph is copied, calls are inlined with the name of the submodule that each node
// came from, and attributes become inputs. Operations in place are replaced by their plain forms
// where no alias can show the difference; those that remain must be the changes of buffers. What
// still cannot be cut (a node with an effect, a shared mutation) is named in `undivided`, and the
// module is then one section.
#include "training/torch/flat_forward.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/lower_tuples.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include "core/values/error.h"
#include "training/torch/load_archive.h"
#include "training/torch/plain_forms.h"

namespace penstock {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

template <class Visit>
void for_each_node(Block& block, const Visit& visit) {
  for (auto at = block.nodes().begin(); at != block.nodes().end();) {
    Node* const node = *at++;  // the visitor may destroy it
    for (Block* inner : node->blocks()) for_each_node(*inner, visit);
    visit(node);
  }
}

bool is_mutable(const Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  return schema != nullptr && schema->is_mutable();
}

class Flattening {
 public:
  explicit Flattening(const torch::jit::Module& module) : module_(module) {
    flat_.graph = module.get_method("forward").graph()->copy();
    modules_.emplace(graph().inputs()[0], Submodule{"", module});
  }

  FlatForward run() && {
    bind_defaults();
    inline_calls(*graph().block());
    lift_attributes();
    simplify();
    choose_result();
    name_results();
    carry_lists_through_loops(graph());
    torch::jit::RemoveListMutation(flat_.graph);
    replace_in_place(flat_);
    torch::jit::EliminateDeadCode(flat_.graph);
    drop_module();
    if (flat_.undivided.empty()) find_obstacle();
    return std::move(flat_);
  }

 private:
  struct Submodule {
    std::string path;
    torch::jit::Module module;
  };

  Graph& graph() { return *flat_.graph; }
  std::string& computed_in(const Value* value) { return flat_.computed_in[value->unique()]; }

  void bind_defaults() {
    const auto& arguments = module_.get_method("forward").function().getSchema().arguments();
    const torch::jit::WithInsertPoint at(*graph().nodes().begin());
    flat_.inputs = input_names(module_);
    for (std::size_t i = graph().inputs().size(); i-- > 1;) {
      const auto& value = arguments[i].default_value();
      if (!value) continue;
      graph().inputs()[i]->replaceAllUsesWith(graph().insertConstant(*value));
      graph().eraseInput(i);
    }
  }

  void inline_calls(Block& block) {
    Node* node = block.return_node()->next();
    while (node != block.return_node()) {
      Node* const before = node->prev();
      if (inline_call(*node)) {
        node = before->next();  // what it was replaced by
        continue;
      }
      if (node->kind() == c10::prim::GetAttr) note_submodule(*node);
      for (Block* inner : node->blocks()) inline_calls(*inner);
      node = node->next();
    }
  }

  void note_submodule(const Node& node) {
    const auto owner = modules_.find(node.input(0));
    if (owner == modules_.end()) return;
    const std::string name = node.s(c10::attr::name);
    const c10::IValue value = owner->second.module.attr(name);
    if (!value.isModule()) return;
    modules_.emplace(node.output(), Submodule{joined(owner->second.path, name), value.toModule()});
  }

  bool inline_call(Node& call) {
    const bool is_method = call.kind() == c10::prim::CallMethod;
    if (!is_method && call.kind() != c10::prim::CallFunction) return false;
    torch::jit::GraphFunction* const callee = torch::jit::tryToGraphFunction(&call);
    if (callee == nullptr) return false;
    const auto called = is_method ? modules_.find(call.input(0)) : modules_.end();
    const std::string scope =
        called != modules_.end() ? called->second.path : computed_in(call.output());

    const torch::jit::WithInsertPoint at(&call);
    Node* const before = call.prev();
    const auto inputs = is_method ? call.inputs() : call.inputs().slice(1);
    const std::vector<Value*> results = torch::jit::insertGraph(graph(), *callee->graph(), inputs);
    for (Node* node = before->next(); node != &call; node = node->next()) set_scope(*node, scope);
    // "forward__0" is one of several that were compiled for different types.
    const std::string method = is_method ? call.s(c10::attr::name) : "";
    const bool is_forward = method == "forward" || method.starts_with("forward__");
    if (is_forward && called != modules_.end() && call.owningBlock() == graph().block()) {
      keep_result(scope, results[0]);
    }
    call.output()->replaceAllUsesWith(results[0]);
    call.destroy();
    return true;
  }

  void set_scope(Node& node, const std::string& scope) {
    for (const Value* value : node.outputs()) computed_in(value) = scope;
    for (Block* inner : node.blocks()) {
      for (Node* part : inner->nodes()) set_scope(*part, scope);
    }
  }

  // As one more output of the graph, which the passes carry along whatever they replace it by.
  void keep_result(const std::string& path, Value* result) {
    if (const auto tuple = result->type()->cast<c10::TupleType>()) {
      if (tuple->elements().empty()) return;
      Value* const zero = graph().insertConstant(0);
      Node* const first = graph().createTupleIndex(result, zero, tuple->elements()[0]);
      result = graph().insertNode(first)->output();
      computed_in(result) = path;
    }
    if (!result->type()->isSubtypeOf(*c10::TensorType::get())) return;
    graph().registerOutput(result);
    results_.push_back(path);
  }

  void lift_attributes() {
    std::map<std::string, Value*> inputs;
    for_each_node(*graph().block(), [&](Node* node) {
      if (node->kind() != c10::prim::GetAttr || modules_.contains(node->output())) return;
      const auto owner = modules_.find(node->input(0));
      if (owner == modules_.end()) return;
      const std::string attribute = node->s(c10::attr::name);
      const std::string name = joined(owner->second.path, attribute);
      const c10::IValue value = owner->second.module.attr(attribute);
      // The weights of an LSTM are a list of what the module has as parameters, too.
      node->output()->replaceAllUsesWith(value.isTensorList()
                                             ? list_of(*node, name, value.toTensorVector(), inputs)
                                             : input_of(name, value, *node->output(), inputs));
      node->destroy();
    });
  }
  Value* input_of(const std::string& name, const c10::IValue& value, const Value& like,
                  std::map<std::string, Value*>& inputs) {
    Value*& input = inputs[name];
    if (input == nullptr) {
      input = graph().addInput()->setType(like.type());
      flat_.attributes.push_back({name, value});
    }
    return input;
  }
  Value* list_of(Node& node, const std::string& name, const std::vector<at::Tensor>& tensors,
                 std::map<std::string, Value*>& inputs) {
    std::vector<Value*> elements;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string element = name + "." + std::to_string(i);
      Value*& input = inputs[element];
      if (input == nullptr) {
        input = graph().addInput()->setType(c10::TensorType::get());
        flat_.attributes.push_back({element, tensors[i]});
      }
      elements.push_back(input);
    }
    Node* const list = graph().createList(c10::TensorType::get(), elements);
    list->insertBefore(&node);
    return list->output();
  }

  void simplify() {
    torch::jit::ConstantPropagation(flat_.graph);
    torch::jit::LowerSimpleTuples(flat_.graph);
    torch::jit::EliminateDeadCode(flat_.graph);
  }

  void choose_result() {
    Value* const returned = graph().outputs()[0];
    Node* const maker = returned->node();
    Value* chosen = returned;
    if (maker->kind() == c10::prim::TupleConstruct && !maker->inputs().empty()) {
      chosen = maker->input(0);
    } else if (maker->kind() == c10::prim::DictConstruct) {
      for (const char* key : {"logits", "loss"}) {
        for (std::size_t i = 0; i + 1 < maker->inputs().size(); i += 2) {
          const auto name = torch::jit::toIValue(maker->input(i));
          if (name && name->isString() && name->toStringRef() == key) chosen = maker->input(i + 1);
        }
      }
    }
    graph().block()->replaceOutput(0, chosen);
    if (!chosen->type()->isSubtypeOf(*c10::TensorType::get())) {
      flat_.undivided = "its forward returns " + chosen->type()->str() +
                        ", in which Penstock does not find the tensor to train by";
    }
  }

  void name_results() {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      flat_.returned_by[graph().outputs()[1 + i]->unique()].push_back(results_[i]);
    }
    while (graph().outputs().size() > 1) graph().eraseOutput(graph().outputs().size() - 1);
  }

  void drop_module() {
    if (graph().inputs()[0]->hasUses()) {
      flat_.undivided = "its forward passes modules around in ways that Penstock does not follow";
    } else {
      graph().eraseInput(0);
    }
  }

  // What would be lost or doubled if only a part of the graph ran.
  void find_obstacle() {
    for (Node* top : graph().nodes()) {
      note_effects(*top, *top);
      for (Block* block : top->blocks()) {
        for_each_node(*block, [&](Node* inner) { note_effects(*inner, *top); });
      }
    }
    for (const auto& [top, attributes] : flat_.changes) {
      for (const int attribute : attributes) require_one_reader(attribute, *top);
    }
  }

  void note_effects(Node& node, const Node& top) {
    static const std::set<std::string> harmless{
        "prim::Print",           "prim::RaiseException",      "aten::warn",
        "aten::is_grad_enabled", "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled"};
    static const std::set<std::string> norms{"aten::batch_norm", "aten::instance_norm",
                                             "aten::_batch_norm_impl_index",
                                             "aten::cudnn_batch_norm", "aten::native_batch_norm"};
    if (!flat_.undivided.empty()) return;
    const std::string name = node.kind().toQualString();
    if (harmless.contains(name)) return;
    if (norms.contains(name)) {  // their schemas do not say that they change running means
      const auto training = torch::jit::toIValue(node.input(5));
      if (training && !training->toBool()) return;
      for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
        if (note_change(*node.input(i), top) || node.input(i)->mustBeNone()) continue;
        flat_.undivided =
            "its forward has running means that are no buffers (" + name + in_module(node) + ")";
      }
      return;
    }
    if (!node.blocks().empty()) return;
    if (is_mutable(node)) {
      if (note_change(*node.input(0), top)) return;
      flat_.undivided = "its forward changes a value in place that is seen elsewhere (" + name +
                        in_module(node) + ")";
    } else if (node.hasSideEffects() || node.kind() == c10::prim::GetAttr) {
      flat_.undivided = "its forward does more than compute (" + name + in_module(node) + ")";
    }
  }

  // Whether it is a buffer of the module, which `top` changes.
  bool note_change(const Value& value, const Node& top) {
    if (value.node() != graph().param_node() || value.offset() < flat_.inputs.size()) return false;
    const auto attribute = value.offset() - flat_.inputs.size();
    const c10::IValue& buffer = flat_.attributes[attribute].value;
    if (!buffer.isTensor() || !buffer.toTensor().defined()) return false;
    for (const at::Tensor& parameter : module_.parameters()) {
      if (parameter.is_alias_of(buffer.toTensor())) return false;
    }
    flat_.changes[&top].insert(static_cast<int>(attribute));
    return true;
  }

  void require_one_reader(int attribute, const Node& reader) {
    const Value* const value =
        graph().inputs()[flat_.inputs.size() + static_cast<std::size_t>(attribute)];
    for (const torch::jit::Use& use : value->uses()) {
      const Node* user = use.user;
      while (user->owningBlock() != graph().block()) user = user->owningBlock()->owningNode();
      if (user == &reader || !flat_.undivided.empty()) continue;
      flat_.undivided = "its forward changes the buffer " +
                        flat_.attributes[static_cast<std::size_t>(attribute)].name +
                        " in place and reads it elsewhere";
    }
  }
  std::string in_module(const Node& node) {
    if (node.outputs().empty()) return "";
    const std::string& path = computed_in(node.outputs()[0]);
    return path.empty() ? "" : " in " + path;
  }

  const torch::jit::Module& module_;
  FlatForward flat_;
  std::unordered_map<const Value*, Submodule> modules_;
  std::vector<std::string> results_;  // paths of the outputs after the first
};

}  // namespace

FlatForward flatten_forward(const torch::jit::Module& module) {
  try {
    return Flattening(module).run();
  } catch (const c10::Error& error) {
    FlatForward none;
    none.undivided = "LibTorch does not take its graph apart (" + reason_of(error) + ")";
    return none;
  }
}

std::vector<std::string> input_names(const torch::jit::Module& module) {
  const auto& arguments = module.get_method("forward").function().getSchema().arguments();
  std::vector<std::string> names;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i].default_value()) names.push_back(arguments[i].name());
  }
  return names;
}

at::Tensor result_of(const c10::IValue& returned, const std::string& where) {
  if (returned.isTensor()) return returned.toTensor();
  if (returned.isTuple() && !returned.toTupleRef().elements().empty()) {
    const auto& elements = returned.toTupleRef().elements();
    at::Tensor first = result_of(elements[0], where);
    for (std::size_t i = 1; i < elements.size() && first.dim() > 0; ++i) {
      if (!elements[i].isTensor() || !elements[i].toTensor().defined()) continue;
      const at::Tensor other = elements[i].toTensor();
      if (other.numel() != 1 || !other.is_floating_point()) continue;
      throw_bad_input(where + ": forward returns a number beside its logits (element " +
                      std::to_string(i) +
                      " of the tuple), perhaps an auxiliary loss, which would not be trained; let "
                      "forward take the targets, too, and return the whole loss");
    }
    return first;
  }
  if (returned.isGenericDict()) {
    const auto dict = returned.toGenericDict();
    for (const char* key : {"loss", "logits"}) {
      if (dict.contains(key)) return result_of(dict.at(key), where);
    }
  }
  throw_bad_input(where + ": forward returns a " + returned.tagKind() +
                  " in which there are neither logits nor a loss; return a tensor, a tuple that "
                  "begins with it, or a dict with \"logits\" or \"loss\"");
}

torch::jit::Module submodule(const torch::jit::Module& module, const std::string& path) {
  torch::jit::Module at = module;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    at = at.attr(path.substr(begin, end - begin)).toModule();
    begin = end + 1;
  }
  return at;
}

}  // namespace penstock
