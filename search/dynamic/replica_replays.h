// The schedules that a replica may run its micro-batches in, each as a function from an order to
// its length and bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/values/plan.h"
#include "core/values/schedule.h"
#include "search/dynamic/form_micro_batches.h"
#include "search/dynamic/list_replay.h"
#include "search/dynamic/order_search.h"
#include "search/dynamic/shape_table.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

struct BatchSchedule {
  const ScheduleKind* kind = nullptr;
  int group = 0;            // Plan::group
  std::int64_t within = 0;  // of a cyclic schedule: what its lists stay within; 0: they need not
  bool operator==(const BatchSchedule&) const = default;
};

// Schedules that suit variable micro-batches, 1F1B (or interleaved 1F1B) first; of `names` where
// there are any, and of one stage 1F1B whatever they are. Error{kBadInput} for a name that is not
// one of them.
std::vector<const ScheduleKind*> batch_schedules(const Plan& layout,
                                                 const std::vector<std::string>& names);
// What stands in where no schedule that is asked for takes as many micro-batches as a replica gets.
const ScheduleKind* plain_batch_schedule(const Plan& layout);
// Those of `names` that batches of this layout may be planned with; all where there are no names.
std::vector<std::string> names_that_suit(const Plan& layout, const std::vector<std::string>& names);
// All that some layout, but for those on the V, may be planned with.
std::vector<std::string> batch_schedule_names();
[[nodiscard]] bool is_cyclic(const ScheduleKind& kind);
// The group with which all of these numbers of micro-batches can be scheduled; -1: none.
int common_group(const ScheduleKind& kind, const Plan& layout, const std::vector<int>& counts);

// Of the micro-batches of one way to form them.
class ReplicaReplays {
 public:
  ReplicaReplays(const Plan& layout, const ShapeTable& shapes, const ReplayCosts& costs,
                 const std::vector<FormedMicroBatch>& micro_batches);

  [[nodiscard]] bool can_schedule(const BatchSchedule& choice, int count) const;
  // Keeps a reference to this.
  [[nodiscard]] OrderReplay replay_of(const BatchSchedule& choice, int count) const;
  // The lists themselves.
  [[nodiscard]] Schedule schedule_of(const BatchSchedule& choice,
                                     std::span<const int> shapes) const;
  // What the fullest rank holds beside stash and buffers of transfers.
  [[nodiscard]] std::int64_t beside_stash() const { return most_beside_; }
  // However these micro-batches are shared out over so many replicas, and in whatever order they
  // run, the longest replica takes no less.
  [[nodiscard]] std::int64_t least_end_ns(const BatchSchedule& choice, std::span<const int> shapes,
                                          int replicas) const;

 private:
  [[nodiscard]] OrderScore score_of(ListReplay& replay, std::span<const int> shapes,
                                    std::int64_t latest) const;
  void count_beside(const std::vector<FormedMicroBatch>& micro_batches);

  const Plan& layout_;
  const ShapeTable& shapes_;
  const ReplayCosts& costs_;
  std::vector<int> rank_of_stage_;
  std::vector<std::int64_t> tail_;        // per stage
  std::vector<std::int64_t> least_tail_;  // per rank, of its stages
  std::vector<std::int64_t> beside_;      // per rank, in the measure of ShapeTable
  std::vector<std::int64_t> buffers_;     // per rank, about what transfers take
  std::int64_t most_beside_ = 0;
};

}  // namespace penstock
