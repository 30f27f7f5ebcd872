// When every step of a rolled replay ran, without a number per micro-batch: those that a jump went
// over are worked out from the window before it. Steps are named by their rank and their position
// in its list.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/values/schedule.h"
#include "core/values/units.h"
#include "simulator/replay_log.h"
#include "simulator/replay_steps.h"
#include "simulator/rolled_replay.h"

namespace penstock {

// A step, or both members of an OVERLAP (by the position of the first).
struct RolledNode {
  std::int64_t position = -1;  // negative: none
  std::int32_t rank = 0;
  bool lead = false;  // the recompute that was inserted before an OVERLAP
  bool operator==(const RolledNode&) const = default;
  [[nodiscard]] bool none() const { return position < 0; }
};

class RolledTimeline {
 public:
  // `replay` has run, with `log` and with steps that note their writers. The schedule must stay.
  RolledTimeline(const RolledReplay& replay, const Schedule& schedule, ReplayLog log);

  // Steps of a rank.
  [[nodiscard]] std::int64_t length(int rank) const {
    return length_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool is_pair(int rank, std::int64_t position) const {
    return steps_[locate(rank, position).step].pair;
  }
  // Whether a recompute was inserted before every backward: of a pair it is a node of its own.
  [[nodiscard]] bool inserts_recompute() const { return inserts_recompute_; }

  [[nodiscard]] std::int64_t end(int rank, std::int64_t position) const;
  [[nodiscard]] std::int64_t end(const RolledNode& node) const;
  [[nodiscard]] std::int64_t start(const RolledNode& node) const;
  // The step that ended last of those that it waited for, where a transfer belongs to the step that
  // sent; of two the one before it on the rank.
  [[nodiscard]] RolledNode bound_by(const RolledNode& node) const;
  [[nodiscard]] RolledNode node_at(int rank, std::int64_t position) const;
  [[nodiscard]] int stages() const { return schedule_.stages(); }
  // What the node's actions take, to the time of their stages; of a pair together, as much of it
  // as each takes by itself.
  void add_compute(const RolledNode& node, std::vector<Duration>& by_stage) const;

  // Where a jump went over a step: `window` counts from 1, `in_window` is the position of the same
  // step in the window before the jump.
  struct Skipped {
    std::int32_t jump = -1;  // negative: no jump did
    std::int64_t window = 0, in_window = 0;
  };
  [[nodiscard]] Skipped skipped(int rank, std::int64_t position) const;
  [[nodiscard]] const std::vector<ReplayLog::Jump>& jumps() const { return log_.jumps; }
  // Whole windows that a jump went over; steps of one, on a rank.
  [[nodiscard]] std::int64_t windows(std::int32_t jump) const;
  [[nodiscard]] std::int64_t steps_per_window(std::int32_t jump, int rank) const;

  // Positions that part the phases of a rank: of its first backward or recompute, of its last
  // forward (0 where there is none).
  [[nodiscard]] std::int64_t first_backward(int rank) const;
  [[nodiscard]] std::int64_t last_forward(int rank) const;

 private:
  struct At {
    std::uint32_t step = 0;
    std::int64_t shift = 0;
  };
  struct Candidate {
    RolledNode node;
    std::int64_t time = -1;
  };

  [[nodiscard]] At locate(int rank, std::int64_t position) const;
  // When the rank was free again, and what the step, or both members of an OVERLAP, sent before.
  [[nodiscard]] std::int64_t free(int rank, std::int64_t position) const;
  [[nodiscard]] std::int64_t sending_of(const At& at) const;
  [[nodiscard]] const RolledReplay::Costs& costs_of(std::uint32_t step, std::int64_t shift) const;
  // Of what a step reads; none where it reads nothing.
  [[nodiscard]] Candidate arrival(const At& at) const;
  [[nodiscard]] std::int64_t writer_in(const ReplaySteps::Writers& writers,
                                       std::int64_t micro_batch) const;
  [[nodiscard]] Candidate before(int rank, std::int64_t position) const;

  const Schedule& schedule_;
  ReplayLog log_;
  bool inserts_recompute_, sends_block_;
  std::shared_ptr<const ReplaySteps> made_;
  const std::vector<RolledReplay::Step>& steps_;
  std::vector<RolledReplay::Costs> costs_;
  std::vector<std::int64_t> run_end_;
  std::vector<std::int64_t> begin_;   // [block]: position of its first step
  std::vector<std::int64_t> length_;  // [rank]
};

}  // namespace penstock
