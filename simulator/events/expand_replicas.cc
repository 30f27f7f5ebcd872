// A Program lists replicas that do the same only once. Here every pipeline is copied as often as it
// has replicas: stages, ranks and micro-batches by adding an offset, actions in the stored order
// with all copies of one action side by side, so that each still comes after what it waits for.
// Groups of one pipeline, such as tied weights, are copied likewise; those that join replicas get
// all copies as members.
#include "simulator/events/expand_replicas.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values/error.h"

namespace penstock {
namespace {

class Expansion {
 public:
  explicit Expansion(const Program& program) : from_(program), copies_(program.pipelines.size()) {}

  Program run() {
    refuse_too_many();
    to_.schedule = from_.schedule;
    to_.rule = from_.rule;
    for (std::size_t p = 0; p < from_.pipelines.size(); ++p) {
      for (int replica = 0; replica < from_.pipelines[p].replicas; ++replica) add_pipeline(p);
    }
    add_groups();
    to_.actions.reserve(actions());
    std::vector<std::vector<std::uint32_t>> places(from_.actions.size());
    for (std::size_t i = 0; i < from_.actions.size(); ++i) add_action(i, places);
    add_more_waits(places);
    return std::move(to_);
  }

 private:
  struct Copy {
    int pipeline = 0, first_rank = 0, first_stage = 0;
    std::uint32_t first_micro_batch = 0;
    std::vector<GroupId> groups;  // by group of the original Program
  };

  void refuse_too_many() const {
    std::int64_t stages = 0;
    for (const Pipeline& pipeline : from_.pipelines) {
      stages += std::int64_t{pipeline.stages} * pipeline.replicas;
    }
    if (stages < kNoStage.value) return;
    throw_bad_input(from_.schedule + ": all replicas together have " + std::to_string(stages) +
                    " stages; at most " + std::to_string(kNoStage.value - 1) +
                    " can be simulated side by side: leave out contention and stragglers");
  }

  [[nodiscard]] std::size_t pipeline_of(const Action& action) const {
    return static_cast<std::size_t>(from_.stages[action.stage.value].pipeline);
  }

  [[nodiscard]] std::size_t actions() const {
    std::size_t count = 0;
    for (const Action& action : from_.actions) count += copies_[pipeline_of(action)].size();
    return count;
  }

  void add_pipeline(std::size_t p) {
    const Pipeline& from = from_.pipelines[p];
    Copy copy;
    copy.pipeline = static_cast<int>(to_.pipelines.size());
    copy.first_rank = to_.ranks();
    copy.first_stage = static_cast<int>(to_.stages.size());
    copy.first_micro_batch = static_cast<std::uint32_t>(to_.micro_batches.size());
    auto at = static_cast<std::size_t>(from.first_stage);
    for (int s = 0; s < from.stages; ++s) {
      Stage stage = from_.stages[at++];
      stage.rank.value += copy.first_rank - from.first_rank;
      stage.pipeline = copy.pipeline;
      stage.previous = moved(stage.previous, copy.first_stage - from.first_stage);
      stage.next = moved(stage.next, copy.first_stage - from.first_stage);
      to_.stages.push_back(stage);
    }
    const auto first = from_.micro_batches.begin() + from.first_micro_batch;
    to_.micro_batches.insert(to_.micro_batches.end(), first, first + from.micro_batches);
    Pipeline pipeline = from;
    pipeline.first_rank = copy.first_rank;
    pipeline.first_stage = copy.first_stage;
    pipeline.first_micro_batch = copy.first_micro_batch;
    pipeline.replicas = 1;
    to_.pipelines.push_back(pipeline);
    copies_[p].push_back(std::move(copy));
  }

  static StageId moved(StageId stage, int by) {
    return stage == kNoStage ? stage : StageId{static_cast<std::uint16_t>(stage.value + by)};
  }

  // A group of one pipeline only (tied weights) exists once per replica, any other joins them all.
  void add_groups() {
    std::vector<std::vector<std::uint32_t>> members(
        from_.groups.size(), std::vector<std::uint32_t>(from_.pipelines.size(), 0));
    std::vector<ActionKind> kind(from_.groups.size(), ActionKind::kForward);
    for (const Action& action : from_.actions) {
      if (action.group == kNoGroup) continue;
      // A group may perform several kinds; each has all the members.
      ActionKind& counted = kind[action.group.value];
      if (counted == ActionKind::kForward) counted = action.kind;
      if (counted == action.kind) ++members[action.group.value][pipeline_of(action)];
    }
    for (std::size_t g = 0; g < from_.groups.size(); ++g) {
      if (from_.groups[g].kind == GroupKind::kTiedWeights) {
        add_tied(g, members[g]);
      } else {
        add_joined(g, members[g]);
      }
    }
  }
  void add_tied(std::size_t g, const std::vector<std::uint32_t>& members) {
    for (std::size_t p = 0; p < copies_.size(); ++p) {
      for (Copy& copy : copies_[p]) {
        copy.groups.push_back(GroupId{static_cast<std::uint32_t>(to_.groups.size())});
        if (members[p] > 0) to_.groups.push_back(from_.groups[g]);
      }
    }
  }
  void add_joined(std::size_t g, const std::vector<std::uint32_t>& members) {
    Group group = from_.groups[g];
    group.members = 0;
    for (std::size_t p = 0; p < copies_.size(); ++p) {
      group.members += members[p] * static_cast<std::uint32_t>(copies_[p].size());
      for (Copy& copy : copies_[p]) {
        copy.groups.push_back(GroupId{static_cast<std::uint32_t>(to_.groups.size())});
      }
    }
    to_.groups.push_back(std::move(group));
  }

  // Its copies stand together, so that each still comes after what it waits for. The members of an
  // OVERLAP must stay neighbours: they are copied as a pair.
  void add_action(std::size_t i, std::vector<std::vector<std::uint32_t>>& places) {
    if (i > 0 && from_.actions[i - 1].overlaps_next) return;
    const std::size_t members = from_.actions[i].overlaps_next ? 2 : 1;
    const std::size_t p = pipeline_of(from_.actions[i]);
    for (std::size_t c = 0; c < copies_[p].size(); ++c) {
      for (std::size_t k = i; k < i + members; ++k) {
        Action action = from_.actions[k];
        if (action.waits_for != kWaitsForNothing) action.waits_for = places[action.waits_for][c];
        places[k].push_back(static_cast<std::uint32_t>(to_.actions.size()));
        to_.actions.push_back(in_copy(action, from_.pipelines[p], copies_[p][c]));
      }
    }
  }
  // Both actions are of one pipeline.
  void add_more_waits(const std::vector<std::vector<std::uint32_t>>& places) {
    for (const Wait& wait : from_.more_waits) {
      for (std::size_t c = 0; c < places[wait.action].size(); ++c) {
        to_.more_waits.push_back({places[wait.action][c], places[wait.needs][c], wait.listed});
      }
    }
    sort_waits(to_.more_waits);
  }
  static Action in_copy(Action action, const Pipeline& from, const Copy& copy) {
    action.stage = moved(action.stage, copy.first_stage - from.first_stage);
    if (action.micro_batch != kNoMicroBatch) {
      action.micro_batch.value += copy.first_micro_batch - from.first_micro_batch;
    }
    if (action.group != kNoGroup) action.group = copy.groups[action.group.value];
    return action;
  }

  const Program& from_;
  std::vector<std::vector<Copy>> copies_;  // [pipeline]
  Program to_;
};

}  // namespace

Program expand_replicas(const Program& program) { return Expansion(program).run(); }

}  // namespace penstock
