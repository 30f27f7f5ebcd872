// A Program: what every rank of every distinct pipeline does in one training step, communication
// and optimizer included, in issue order. The simulator replays it, the bridge executes it, a trace
// is a timed one.
//
// Invariant: `actions` is ordered so that every action comes after what it waits for; the actions
// of one rank, read in that order, are the rank's issue order. Replay is therefore one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/ids.h"
#include "core/values/run_time_rule.h"

namespace penstock {

struct Stage {
  RankId rank;
  StageId previous = kNoStage;
  StageId next = kNoStage;
  int weight_set = 0;  // stages with equal sets hold copies of the same weights
  int task = 0;        // which model, when several are trained together
  int pipeline = 0;    // index into Program::pipelines
  bool operator==(const Stage&) const = default;
};

struct MicroBatch {
  int samples = 1;
  int sequence_length = 0;  // tokens per sample; 0 when the model has no such dimension
  int shape = 0;            // which prices apply: index into StagePrices' shapes
  int slice = 0;            // of the sequence, for schedules that cut it
  bool operator==(const MicroBatch&) const = default;
};

// One distinct pipeline and the replicas that run it. Ranks, stages and micro-batches of a pipeline
// are consecutive in the Program's numbering.
struct Pipeline {
  int first_rank = 0, ranks = 1;
  int first_stage = 0, stages = 1;
  std::uint32_t first_micro_batch = 0, micro_batches = 1;
  int replicas = 1;  // how many replicas run exactly this
  // Copies of the weights: the stages are `copies` chains of equal length, and each takes its equal
  // share of the micro-batches, copy 0 the first.
  int copies = 1;
  // Slots per rank for what its stages keep (weights, gradients, optimizer state): LOAD takes one,
  // RESHARD gives it back. 0: all of them stay on the device.
  int weight_slots = 0;
  bool operator==(const Pipeline&) const = default;
};

enum class GroupKind { kDataParallel, kTiedWeights, kJob };
struct Group {
  GroupKind kind = GroupKind::kDataParallel;
  std::string name;           // "dp.stage3", "tied.embedding", "job"
  std::uint32_t members = 1;  // how many actions of one kind take part
  bool operator==(const Group&) const = default;
};
[[nodiscard]] inline std::string tied_group_name(const std::string& tie) { return "tied." + tie; }

inline constexpr std::uint32_t kWaitsForNothing = 0xFFFF'FFFFU;

// 16 bytes, since millions of them are replayed.
struct Action {
  MicroBatchId micro_batch = kNoMicroBatch;
  std::uint32_t waits_for = kWaitsForNothing;  // derived: index of the action whose end it needs,
                                               // besides its predecessor on the rank
  GroupId group = kNoGroup;                    // of collectives
  StageId stage = kNoStage;
  ActionKind kind = ActionKind::kForward;
  // OVERLAP(F;B): this forward runs together with the fused backward that follows it on the rank.
  bool overlaps_next = false;
  bool operator==(const Action&) const = default;
};
static_assert(sizeof(Action) == 16);

// One more action whose end an action needs, besides Action::waits_for.
struct Wait {
  std::uint32_t action = 0, needs = 0;  // indices into Program::actions
  // Listed by whoever made the Program; the others follow from the rows of action_rules.h.
  bool listed = false;
  bool operator==(const Wait&) const = default;
};

struct Program {
  std::string schedule;  // the name of the schedule it was lowered from
  std::vector<Stage> stages;
  std::vector<MicroBatch> micro_batches;
  std::vector<Pipeline> pipelines;
  std::vector<Group> groups;
  RunTimeRule rule = RunTimeRule::kNone;
  std::vector<Action> actions;
  std::vector<Wait> more_waits;  // seldom any; ascending by action, then by what it needs

  [[nodiscard]] int ranks() const {
    return pipelines.empty() ? 0 : pipelines.back().first_rank + pipelines.back().ranks;
  }
  [[nodiscard]] RankId rank_of(const Action& action) const {
    return stages[action.stage.value].rank;
  }
  // Whether some rank keeps what its stages need in slots, and loads it.
  [[nodiscard]] bool has_slots() const;
  // Those of one action; found by bisection.
  [[nodiscard]] std::span<const Wait> more_waits_of(std::uint32_t action) const;
  bool operator==(const Program&) const = default;
};

// As Program::more_waits stands.
void sort_waits(std::vector<Wait>& waits);

// Calls visit(needed) for every action that `index` waits for.
template <class Visit>
void for_each_wait(const Program& program, std::uint32_t index, const Visit& visit) {
  const std::uint32_t first = program.actions[index].waits_for;
  if (first != kWaitsForNothing) visit(first);
  if (program.more_waits.empty()) return;
  for (const Wait& wait : program.more_waits_of(index)) visit(wait.needs);
}

// PyTorch's name of an action: "0F3", "1SEND_F0", "2REDUCE_GRAD". Micro-batches are counted from
// the start of their pipeline.
std::string name_of(const Program& program, const Action& action);

}  // namespace penstock
