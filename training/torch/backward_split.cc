// After PyTorch's torch.distributed.pipelining (stage_backward_input and stage_backward_weight): I
// runs the engine to the section's input only and captures the gradients at the nodes where weights
// join the path; W starts from these. Weights are grouped by the nodes that they share, so no node
// runs twice. A section where this would give other gradients than B (a weight used twice in a row,
// a way around the path) is not split: its I computes what W would, and the reason is told.
#include "training/torch/backward_split.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace penstock {
namespace {

using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;
using NodePointer = decltype(Edge::function);  // another kind of pointer in later versions

std::vector<at::Tensor> execute(const std::vector<Edge>& roots, const variable_list& gradients,
                                bool keep_graph, const std::vector<Edge>& outputs) {
  return torch::autograd::Engine::get_default_engine().execute(
      roots, gradients, keep_graph, /*create_graph=*/false, /*accumulate_grad=*/false, outputs);
}

// Where the gradients of all weights end. Held by the caller: a weight itself knows only weakly the
// node that accumulates its gradient.
std::vector<Edge> accumulators_of(const std::vector<at::Tensor>& weights) {
  std::vector<Edge> edges;
  edges.reserve(weights.size());
  for (const at::Tensor& weight : weights) {
    edges.push_back(torch::autograd::impl::gradient_edge(weight));
  }
  return edges;
}

void add_all(const std::vector<at::Tensor>& gradients, std::size_t first,
             const std::vector<std::size_t>& weights, const GradientSink& add) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const at::Tensor& gradient = gradients[first + i];
    if (gradient.defined()) add(weights[i], gradient);
  }
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

// While `on`, keeps the gradients that arrive at a node.
struct Capture {
  bool on = true;
  variable_list gradients;
};
class CaptureHook : public torch::autograd::FunctionPreHook {
 public:
  explicit CaptureHook(std::shared_ptr<Capture> capture) : capture_(std::move(capture)) {}
  variable_list operator()(const variable_list& gradients) override {
    // It fires again in W, when nothing must be overwritten.
    if (capture_->on) capture_->gradients = gradients;
    return gradients;
  }

 private:
  std::shared_ptr<Capture> capture_;
};

// The backward graph of one section, and what of it belongs to which weights.
class GraphWalk {
 public:
  GraphWalk(const ForwardGraph& graph, std::vector<Edge> accumulators)
      : accumulators_(std::move(accumulators)) {
    collect(graph.outputs);
    for (const at::Tensor& input : graph.inputs) {
      mark_path(index_.find(torch::autograd::impl::gradient_edge(input).function.get()));
    }
    groups_ = groups_by_shared_intermediates();
  }

  struct WeightGroup {
    std::vector<std::size_t> weights;
    std::vector<std::size_t> intermediates;  // nodes on the path, where the weights join it
    bool is_beside = false;                  // they reach an output beside the path, too
  };
  [[nodiscard]] const std::vector<WeightGroup>& groups() const { return groups_; }
  [[nodiscard]] const NodePointer& node(std::size_t i) const { return nodes_[i]; }
  [[nodiscard]] const std::vector<Edge>& accumulators() const { return accumulators_; }

  // Why I and W would not give the gradients that B gives; empty when they would.
  [[nodiscard]] std::string obstacle() const {
    for (const WeightGroup& group : groups_) {
      if (group.intermediates.empty()) return "a weight does not meet the path to the input";
      // W starts on the path, and would miss what comes from there.
      if (group.is_beside) return "a weight reaches an output beside the path to the input";
      // The gradient that enters W at the first of them would run through to the second and be
      // counted twice there (the original does not look).
      if (one_reaches_another(group.intermediates)) {
        return "a weight is used twice, one use after the other";
      }
    }
    return {};
  }

  // Everything on the path that I has used up and W does not start from: without this all that the
  // section saved would live until W, because intermediates link to the rest of the path.
  void release_path() const {
    std::vector<bool> kept(nodes_.size(), false);
    for (const WeightGroup& group : groups_) {
      for (const std::size_t i : group.intermediates) kept[i] = true;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (on_path_[i] && !kept[i]) nodes_[i]->release_variables();
    }
  }

 private:
  void collect(const std::vector<Edge>& roots) {
    for (const Edge& root : roots) roots_.insert(add(root.function));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const Edge& edge : nodes_[i]->next_edges()) {
        if (edge.function) users_[add(edge.function)].push_back(i);
      }
    }
    on_path_.assign(nodes_.size(), false);
  }
  std::size_t add(const NodePointer& node) {
    const auto [place, is_new] = index_.emplace(node.get(), nodes_.size());
    if (is_new) {
      nodes_.push_back(node);
      users_.emplace_back();
    }
    return place->second;
  }

  using Place = std::unordered_map<Node*, std::size_t>::const_iterator;
  void mark_path(Place input) {
    if (input == index_.end() || on_path_[input->second]) return;
    std::vector<std::size_t> open{input->second};
    on_path_[input->second] = true;
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t user : users_[at]) {
        if (on_path_[user]) continue;
        on_path_[user] = true;
        open.push_back(user);
      }
    }
  }

  // The first nodes on the path from a weight upwards.
  [[nodiscard]] WeightGroup group_of(std::size_t weight) const {
    const auto place = index_.find(accumulators_[weight].function.get());
    WeightGroup group{{weight}, {}};
    std::vector<std::size_t>& found = group.intermediates;
    if (place == index_.end()) return group;
    std::vector<std::size_t> open{place->second};
    std::unordered_set<std::size_t> seen{place->second};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (on_path_[at]) {
        found.push_back(at);
        continue;
      }
      group.is_beside = group.is_beside || roots_.contains(at);
      for (const std::size_t user : users_[at]) {
        if (seen.insert(user).second) open.push_back(user);
      }
    }
    return group;
  }

  // Weights that share an intermediate are one group, transitively. (The original joins only one
  // earlier group, which loses gradients when two biases come before a weight that they share.)
  [[nodiscard]] std::vector<WeightGroup> groups_by_shared_intermediates() const {
    std::vector<WeightGroup> groups;
    for (std::size_t w = 0; w < accumulators_.size(); ++w) {
      if (!reaches_output(w)) continue;
      WeightGroup group = group_of(w);
      std::vector<WeightGroup> apart;
      for (WeightGroup& other : groups) {
        if (share_intermediate(group, other)) {
          merge(other, group);
        } else {
          apart.push_back(std::move(other));
        }
      }
      apart.push_back(std::move(group));
      groups = std::move(apart);
    }
    for (WeightGroup& group : groups) std::sort(group.weights.begin(), group.weights.end());
    return groups;
  }
  [[nodiscard]] bool reaches_output(std::size_t weight) const {
    return index_.count(accumulators_[weight].function.get()) > 0;
  }
  static bool share_intermediate(const WeightGroup& a, const WeightGroup& b) {
    return std::find_first_of(a.intermediates.begin(), a.intermediates.end(),
                              b.intermediates.begin(),
                              b.intermediates.end()) != a.intermediates.end();
  }
  static void merge(const WeightGroup& from, WeightGroup& into) {
    into.is_beside = into.is_beside || from.is_beside;
    into.weights.insert(into.weights.end(), from.weights.begin(), from.weights.end());
    for (const std::size_t i : from.intermediates) {
      if (std::find(into.intermediates.begin(), into.intermediates.end(), i) ==
          into.intermediates.end()) {
        into.intermediates.push_back(i);
      }
    }
  }

  [[nodiscard]] bool one_reaches_another(const std::vector<std::size_t>& group) const {
    if (group.size() < 2) return false;
    for (const std::size_t from : group) {
      std::vector<std::size_t> open{from};
      std::unordered_set<std::size_t> seen;
      while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        if (at != from && std::find(group.begin(), group.end(), at) != group.end()) return true;
        for (const Edge& edge : nodes_[at]->next_edges()) {
          if (!edge.function) continue;
          const std::size_t next = index_.at(edge.function.get());
          if (on_path_[next] && seen.insert(next).second) open.push_back(next);
        }
      }
    }
    return false;
  }

  std::vector<Edge> accumulators_;
  std::vector<NodePointer> nodes_;  // from the output on
  std::unordered_map<Node*, std::size_t> index_;
  std::unordered_set<std::size_t> roots_;
  std::vector<std::vector<std::size_t>> users_;  // reverse edges
  std::vector<bool> on_path_;
  std::vector<WeightGroup> groups_;
};

// Token ids have no gradient, so no way leads to the input; all of the backward is W.
SplitBackward all_later(ForwardGraph graph, const variable_list& output_gradients) {
  DeferredWeights::Group group;
  group.roots = graph.outputs;
  group.gradients = output_gradients;
  group.weights = all_of(graph.weights.size());
  group.accumulators = accumulators_of(graph.weights);
  return {{}, DeferredWeights({std::move(group)}), {}};
}

std::shared_ptr<Capture> capture_at(Node& node) {
  auto capture = std::make_shared<Capture>();
  node.add_pre_hook(std::make_unique<CaptureHook>(capture));
  return capture;
}

DeferredWeights::Group deferred_group(
    const GraphWalk& walk, const GraphWalk::WeightGroup& group,
    const std::unordered_map<std::size_t, std::shared_ptr<Capture>>& captures) {
  DeferredWeights::Group deferred;
  for (const std::size_t i : group.intermediates) {
    Capture& capture = *captures.at(i);
    capture.on = false;
    for (std::uint32_t input = 0; input < capture.gradients.size(); ++input) {
      if (!capture.gradients[input].defined()) continue;
      deferred.roots.emplace_back(walk.node(i), input);
      deferred.gradients.push_back(capture.gradients[input]);
    }
    capture.gradients.clear();
  }
  deferred.weights = group.weights;
  for (const std::size_t w : group.weights) deferred.accumulators.push_back(walk.accumulators()[w]);
  return deferred;
}

}  // namespace

ForwardGraph forward_graph(std::vector<at::Tensor> inputs, const std::vector<at::Tensor>& outputs,
                           std::vector<at::Tensor> weights) {
  ForwardGraph graph;
  graph.inputs = std::move(inputs);
  for (const at::Tensor& output : outputs) {
    graph.outputs.push_back(torch::autograd::impl::gradient_edge(output));
  }
  graph.weights = std::move(weights);
  return graph;
}

std::vector<at::Tensor> fused_backward(ForwardGraph graph,
                                       const std::vector<at::Tensor>& output_gradients,
                                       const GradientSink& add) {
  std::vector<Edge> wanted = accumulators_of(graph.weights);
  const std::vector<Edge> of_inputs = accumulators_of(graph.inputs);
  wanted.insert(wanted.end(), of_inputs.begin(), of_inputs.end());
  if (wanted.empty() || graph.outputs.empty()) {
    return std::vector<at::Tensor>(graph.inputs.size());
  }
  std::vector<at::Tensor> gradients = execute(graph.outputs, output_gradients, false, wanted);
  graph.outputs.clear();
  add_all(gradients, 0, all_of(graph.weights.size()), add);
  gradients.erase(gradients.begin(),
                  gradients.begin() + static_cast<std::ptrdiff_t>(graph.weights.size()));
  return gradients;
}

SplitBackward input_backward(ForwardGraph graph, const std::vector<at::Tensor>& output_gradients,
                             const GradientSink& add) {
  if (graph.inputs.empty()) return all_later(std::move(graph), output_gradients);
  const GraphWalk walk(graph, accumulators_of(graph.weights));
  SplitBackward result;
  result.not_split = walk.obstacle();
  if (!result.not_split.empty() || graph.outputs.empty()) {
    result.input_gradients = fused_backward(std::move(graph), output_gradients, add);
    return result;
  }
  std::unordered_map<std::size_t, std::shared_ptr<Capture>> captures;
  for (const GraphWalk::WeightGroup& group : walk.groups()) {
    for (const std::size_t i : group.intermediates) captures.emplace(i, capture_at(*walk.node(i)));
  }
  result.input_gradients =
      execute(graph.outputs, output_gradients, /*keep_graph=*/true, accumulators_of(graph.inputs));
  std::vector<DeferredWeights::Group> groups;
  groups.reserve(walk.groups().size());
  for (const GraphWalk::WeightGroup& group : walk.groups()) {
    groups.push_back(deferred_group(walk, group, captures));
  }
  walk.release_path();
  graph.outputs.clear();  // only now, for the nodes die with it
  result.weights = DeferredWeights(std::move(groups));
  return result;
}

void DeferredWeights::run(const GradientSink& add) {
  // One call per group: within one call the groups' gradients would run into each other.
  for (Group& group : groups_) {
    if (!group.roots.empty() && !group.accumulators.empty()) {
      add_all(execute(group.roots, group.gradients, false, group.accumulators), 0, group.weights,
              add);
    }
    group = {};
  }
  groups_.clear();
}

}  // namespace penstock
