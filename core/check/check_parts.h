// The parts of check(), one file each. They share nothing with lowering, liveness or the replay
// engines but the types of core.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/check/check.h"
#include "core/values/plan_file.h"

namespace penstock {

// A file that is wrong throughout should not answer with a million lines.
class Findings {
 public:
  void add(std::string place, std::string message) {
    if (++count_ <= kMost) findings_.push_back({std::move(place), std::move(message)});
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::vector<Finding> take() {
    if (count_ > kMost) {
      findings_.push_back({"/", std::to_string(count_ - kMost) + " more findings"});
    }
    return std::move(findings_);
  }

 private:
  static constexpr std::size_t kMost = 100;
  std::size_t count_ = 0;
  std::vector<Finding> findings_;
};

// The actions of every rank in issue order.
using RankLists = std::vector<std::vector<Action>>;

inline std::string place_of_rank(const Program& program, int rank) {
  for (std::size_t p = 0; p < program.pipelines.size(); ++p) {
    const Pipeline& pipeline = program.pipelines[p];
    if (rank >= pipeline.first_rank && rank < pipeline.first_rank + pipeline.ranks) {
      return "/program/pipelines/" + std::to_string(p) + "/ranks/" +
             std::to_string(rank - pipeline.first_rank);
    }
  }
  return "/program";
}

inline const Pipeline& pipeline_of(const Program& program, StageId stage) {
  return program.pipelines[static_cast<std::size_t>(program.stages[stage.value].pipeline)];
}
// Counted over the copies of the weights, and within one.
inline int index_in_pipeline(const Program& program, StageId stage) {
  return stage.value - pipeline_of(program, stage).first_stage;
}
inline int stages_per_copy(const Pipeline& pipeline) { return pipeline.stages / pipeline.copies; }
inline int index_in_copy(const Program& program, StageId stage) {
  return index_in_pipeline(program, stage) % stages_per_copy(pipeline_of(program, stage));
}

// The neighbours of a stage in its copy's chain, from the numbering alone.
inline bool has_previous(const Program& program, StageId stage) {
  return index_in_copy(program, stage) > 0;
}
inline bool has_next(const Program& program, StageId stage) {
  return index_in_copy(program, stage) + 1 < stages_per_copy(pipeline_of(program, stage));
}
inline StageId previous_of(StageId stage) {
  return StageId{static_cast<std::uint16_t>(stage.value - 1)};
}
inline StageId next_of(StageId stage) {
  return StageId{static_cast<std::uint16_t>(stage.value + 1)};
}
inline bool on_one_rank(const Program& program, StageId a, StageId b) {
  return program.stages[a.value].rank == program.stages[b.value].rank;
}

// The micro-batches that the stage takes, the share of its copy of the weights: [begin, end).
struct MicroBatchRange {
  std::uint32_t begin = 0, end = 0;
};
inline MicroBatchRange micro_batches_of(const Program& program, StageId stage) {
  const Pipeline& pipeline = pipeline_of(program, stage);
  const std::uint32_t share = pipeline.micro_batches / static_cast<std::uint32_t>(pipeline.copies);
  const int copy = index_in_pipeline(program, stage) / stages_per_copy(pipeline);
  const std::uint32_t begin = pipeline.first_micro_batch + static_cast<std::uint32_t>(copy) * share;
  return {begin, begin + share};
}

// Values by (kind, stage, micro-batch).
inline std::uint64_t key_of(ActionKind kind, StageId stage, MicroBatchId micro_batch) {
  return (static_cast<std::uint64_t>(kind) << 48) | (std::uint64_t{stage.value} << 32) |
         micro_batch.value;
}
template <class Value>
using ByAction = std::unordered_map<std::uint64_t, Value>;

// Sums stay at the largest value instead of overflowing; no honest figure comes near.
inline std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}
inline std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

// The tables of plan, prices and Program agree. False when ids or sizes are so wrong that the
// other parts could not look anything up.
bool check_tables(const PlanFile& file, Findings& findings);

// The numbers of the plan's batch and of its kinds of replicas can be used, and there are prices of
// every shape; then what the Program's micro-batches are by them.
bool check_batch_sizes(const PlanFile& file, Findings& findings);
void check_batch(const PlanFile& file, Findings& findings);

// Every action is there as often as it must be, and on its list in a possible order.
void check_lists(const PlanFile& file, const RankLists& lists, Findings& findings);

// Where stages live in slots: each is there when it is needed, none is lost, no slot is taken
// twice.
void check_slots(const PlanFile& file, const RankLists& lists, Findings& findings);

// How long an action takes by the prices and the executor's fixed costs; a transfer goes by its
// SEND.
Duration duration_of(const PlanFile& file, const Action& action);
// Of both members of an OVERLAP.
Duration duration_of_pair(const PlanFile& file, const Action& forward, const Action& backward);

// The lists in the order in which a Program with a run-time rule carries them out.
RankLists executed_lists(const PlanFile& file, const RankLists& lists, Findings& findings);

// What the actions of one rank hold at most, micro-batch by micro-batch: activations, what one
// action (or an OVERLAP) works in, buffers of transfers.
struct Pools {
  std::int64_t stash = 0, working = 0, communication = 0;
};
Pools pools_of(const PlanFile& file, const std::vector<Action>& list);

// Memory of every listed rank, in total.
std::vector<Bytes> check_memory(const PlanFile& file, const RankLists& lists, Findings& findings);

// The model's operations fit into a step of this length.
void check_flops(const PlanFile& file, Duration step, Findings& findings);

// The step time.
Duration check_replay(const PlanFile& file, const RankLists& lists, Findings& findings);

}  // namespace penstock
