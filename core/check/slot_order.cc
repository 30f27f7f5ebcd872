// Follows one rank's list in issue order and keeps, of every weight slot, which stage lies in it.
// A LOAD takes the slot that has been free for longest and waits until it is; who uses a stage
// waits until it is loaded; a STORE or RESHARD waits for all users; who writes the weights, or
// gives the slot up, waits until a STORE under way has read them. Without slots a stage stays in a
// place of its own, and its LOAD brings there what the host has updated. Copies of one direction
// follow one another (of both, on a simplex link). The rules are those of docs/schedules.md, the
// code shares nothing with lowering. A list in which a slot is missing is the business of
// check_slots(); here such an action waits for nothing.
#include "core/check/slot_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace penstock {
namespace {

const Pipeline& pipeline_of_rank(const Program& program, std::size_t rank) {
  std::size_t p = 0;
  while (p + 1 < program.pipelines.size() &&
         program.pipelines[p + 1].first_rank <= static_cast<int>(rank)) {
    ++p;
  }
  return program.pipelines[p];
}

class SlotWalk {
  using Node = LongestPath::Node;

 public:
  SlotWalk(int slots, HostLink link, LongestPath& network)
      : link_(link),
        network_(network),
        in_place_(slots == 0),
        slots_(static_cast<std::size_t>(slots)) {}

  void run(const std::vector<Action>& list, const std::vector<Node>& nodes) {
    put_residents(list);
    for (std::size_t at = 0; at < list.size(); ++at) add(list[at], nodes[at], at);
  }

 private:
  // The stage in a slot, who needs it there, and since when it is free.
  struct Slot {
    std::optional<StageId> stage;
    std::optional<Node> loaded, freed;
    std::size_t freed_at = 0;  // position in the list
    std::vector<Node> users;
  };

  // Stages that are used before they are loaded.
  void put_residents(const std::vector<Action>& list) {
    std::set<StageId> seen;
    std::size_t next = 0;
    if (in_place_) {
      for (const Action& action : list) seen.insert(action.stage);
      for (const StageId stage : seen) slots_.emplace_back().stage = stage;
      return;
    }
    for (const Action& action : list) {
      if (is_send(action.kind) || is_receive(action.kind) || action.kind == ActionKind::kNorm) {
        continue;
      }
      if (!seen.insert(action.stage).second || action.kind == ActionKind::kLoad) continue;
      if (next < slots_.size()) slots_[next++].stage = action.stage;
    }
  }

  void add(const Action& action, Node node, std::size_t at) {
    if (is_copy(action.kind)) follow_copies(action.kind, node);
    if (action.kind == ActionKind::kLoad) {
      load(action.stage, node);
      follow_store(action.stage, node);
      if (updated_.contains(action.stage)) network_.follows(node, updated_.at(action.stage));
      return;
    }
    // On the host, once the gradients are there and nothing adds to them.
    if (action.kind == ActionKind::kOptimizer && complete_on_host_.contains(action.stage)) {
      follow_store(action.stage, node);
      updated_.insert_or_assign(action.stage, node);
      return;
    }
    const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                   [&](const Slot& each) { return each.stage == action.stage; });
    if (slot == slots_.end()) return;  // found by check_slots()
    if (action.kind == ActionKind::kReshard || action.kind == ActionKind::kStore) {
      network_.follows(node, slot->loaded);
      for (const Node user : slot->users) network_.follows(node, user);
    }
    if (action.kind == ActionKind::kStore) {
      stored_[action.stage] = node;
      complete_on_host_.insert(action.stage);
    } else if (action.kind == ActionKind::kReshard) {
      follow_store(action.stage, node);
      *slot = {{}, {}, node, at + 1, {}};
    } else if (is_compute(action.kind) ||
               (is_collective(action.kind) && action.kind != ActionKind::kNorm)) {
      network_.follows(node, slot->loaded);
      const bool reads = action.kind == ActionKind::kForward ||
                         action.kind == ActionKind::kRecompute ||
                         action.kind == ActionKind::kInputGradient;
      if (!reads) follow_store(action.stage, node);
      if (!reads) complete_on_host_.erase(action.stage);
      slot->users.push_back(node);
    }
  }

  void follow_copies(ActionKind kind, Node node) {
    const bool in = kind == ActionKind::kLoad || link_ == HostLink::kSimplex;
    std::optional<Node>& before = in ? copied_in_ : copied_out_;
    network_.follows(node, before);
    before = node;
  }

  void follow_store(StageId stage, Node node) {
    if (stored_.contains(stage)) network_.follows(node, stored_.at(stage));
  }

  // Into the slot that has been free for longest.
  void load(StageId stage, Node node) {
    if (in_place_) {
      const auto own = std::find_if(slots_.begin(), slots_.end(),
                                    [&](const Slot& slot) { return slot.stage == stage; });
      if (own != slots_.end()) own->loaded = node;
      return;
    }
    Slot* longest = nullptr;
    for (Slot& slot : slots_) {
      if (slot.stage) continue;
      if (longest == nullptr || slot.freed_at < longest->freed_at) longest = &slot;
    }
    if (longest == nullptr) return;  // found by check_slots()
    network_.follows(node, longest->freed);
    *longest = {stage, node, {}, 0, {}};
  }

  HostLink link_;
  LongestPath& network_;
  bool in_place_;
  std::vector<Slot> slots_;
  std::map<StageId, Node> stored_, updated_;
  std::set<StageId> complete_on_host_;
  std::optional<Node> copied_in_, copied_out_;
};

}  // namespace

void follow_slots(const PlanFile& file, std::size_t rank, const std::vector<Action>& list,
                  const std::vector<LongestPath::Node>& nodes, LongestPath& network) {
  const int slots = pipeline_of_rank(file.program, rank).weight_slots;
  if (slots > 0 || file.plan.offload_optimizer) {
    SlotWalk(slots, file.executor.host_link, network).run(list, nodes);
  }
}

}  // namespace penstock
