// At first the schedule is arranged within what weights and an estimate of the buffers leave; then
// it is counted what its lists really hold, and each rank that is over gives up as much in the next
// try. kMostTries bounds that; a plan that has not settled by then is refused as one that does not
// fit. Invariant: what is returned was counted and fits.
#include "search/arrange_within.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "search/choose_cuts.h"
#include "search/evaluation.h"
#include "search/host_room.h"
#include "search/lower_bound.h"
#include "search/memory.h"
#include "simulator/liveness.h"
#include "simulator/merge_liveness.h"
#include "simulator/simulate_schedule.h"

namespace penstock {
namespace {

constexpr int kMostTries = 4;
constexpr std::array kSlowerTransfers{2, 4};
// What less room was seen to gain is a fiftieth of the step: the lists are a heuristic's.
constexpr std::int64_t kLessRoomGains = 32;  // at most such a part, it is assumed
// Stages times micro-batches.
constexpr std::int64_t kMostForSlowerTransfers = 256, kMostForShortened = 16;

// DeepSpeed's order posts receives later than the eager one, which needs no Program to be counted.
std::vector<RankLiveness> liveness_of_arranged(const ArrangedSchedules& arranged, const Plan& plan,
                                               const std::vector<PlanTie>& ties, bool recomputes,
                                               const ExecutorModel& executor) {
  if (executor.issue == IssueOrder::kEager) return liveness_of(arranged.schedules);
  const Program program =
      program_of(arranged.schedules, lowering_of(plan, ties, recomputes, executor));
  return merged_liveness(liveness(program, static_cast<int>(program.pipelines.size())),
                         static_cast<std::size_t>(plan.pipeline));
}

// What does not depend on how it is arranged.
struct Asked {
  const PlanInputs& inputs;
  const Plan& plan;
  const StagePrices& prices;
  const std::vector<PlanTie>& ties;
  bool recomputes;
  const PerRank<Bytes>& reserve;
  const PerRank<Bytes>& capacity;
};

// What it really holds, and whether that fits.
std::vector<MemoryUse> count(const Asked& asked, ArrangedWithin& within) {
  const auto& [inputs, plan, prices, ties, recomputes, reserve, capacity] = asked;
  auto memory = memory_of_ranks(
      prices, liveness_of_arranged(within.arranged, plan, ties, recomputes, inputs.executor),
      reserve);
  within.why_not = over_memory(memory, plan, capacity);
  if (!within.why_not) within.why_not = over_host_memory(inputs, plan, prices);
  within.fullest = {};
  for (const MemoryUse& use : memory) within.fullest = std::max(within.fullest, use.total());
  return memory;
}

// `room`: what the activations may take at last. `to_beat`: of the first try; where buffers matter,
// room is tight, and what is made in it is now longer, now shorter.
ArrangedWithin arranged_for(const Asked& asked, int slower_transfers,
                            std::vector<std::int64_t>& room, Duration to_beat = Duration::max()) {
  const auto& [inputs, plan, prices, ties, recomputes, reserve, capacity] = asked;
  ArrangedWithin result;
  room = room_for_activations(plan, prices, reserve, capacity);
  for (int tries = 0; tries < kMostTries; ++tries) {
    result.arranged = arrange_schedules(plan, prices, inputs.executor, room, slower_transfers,
                                        tries == 0 ? to_beat : Duration::max());
    if (result.arranged.is_beaten) return result;
    if (!result.arranged.why_not.empty()) {
      result.why_not = Rejection{result.arranged.why_not, 1, std::nullopt, std::nullopt, ""};
      return result;
    }
    const std::vector<MemoryUse> memory = count(asked, result);
    if (!result.why_not) return result;
    for (std::size_t r = 0; r < room.size(); ++r) {
      const Bytes over = memory[r].total() - capacity[static_cast<int>(r)];
      room[r] -= std::max<std::int64_t>(0, over.count);
    }
  }
  return result;
}

// Nothing when it does not fit, or its transfers deadlock.
std::optional<Duration> step_of(const ArrangedWithin& within, const Asked& asked) {
  if (within.why_not) return std::nullopt;
  const ExecutorModel& executor = asked.inputs.executor;
  const auto summary =
      summary_of(within.arranged, lowering_of(asked.plan, asked.ties, asked.recomputes, executor),
                 asked.prices, executor);
  if (!summary) return std::nullopt;
  return step_time_of(*summary, executor);
}

}  // namespace

std::optional<TimelineSummary> summary_of(const ArrangedSchedules& arranged,
                                          const LoweringOptions& options, const StagePrices& prices,
                                          const ExecutorModel& executor) {
  if (can_simulate_schedule(executor)) {
    return simulate_schedule(arranged.schedules.pipelines, options, prices, executor);
  }
  const Program program = program_of(arranged.schedules, options);
  const bool may_deadlock = executor.issue == IssueOrder::kDeepSpeed;
  if (may_deadlock && deadlock(program, executor)) return std::nullopt;
  return simulate_summary(program, prices, executor);
}

namespace {

// What the compute and the transfers of a large plan must take less than: a little more than is of
// use, since lists that turn out to need more room for buffers are made again in less of it, and
// may be shorter then. Lists that are longer still are given up before their buffers are known;
// this part is no bound. A small one, which is tried in other ways as well, and one whose
// micro-batches differ, of which the lists know the longest only, have no such limit.
Duration to_beat_of(const Asked& asked, std::int64_t size, Duration slowest) {
  const bool is_bounded = size > kMostForSlowerTransfers && asked.prices.shapes == 1;
  if (!is_bounded || slowest == Duration::max()) return Duration::max();
  const Duration compute =
      slowest - least_behind_compute(asked.prices, asked.plan, asked.inputs.executor);
  return compute + compute / kLessRoomGains + Duration{1};
}

// The fastest of several arrangements of one plan.
class Fastest {
 public:
  Fastest(const Asked& asked, ArrangedWithin first)
      : asked_(asked), best_(std::move(first)), shortest_(step_of(best_, asked)) {}

  void take(ArrangedWithin other) {
    const auto step = step_of(other, asked_);
    if (!step || (shortest_ && *step >= *shortest_)) return;
    shortest_ = step;
    best_ = std::move(other);
  }
  // What local search makes of lists that fit into `room`.
  void take_shortened(const ArrangedWithin& lists, const std::vector<std::int64_t>& room) {
    ArrangedWithin shorter;
    shorter.arranged =
        shortened(lists.arranged, asked_.plan, asked_.prices, asked_.inputs.executor, room);
    count(asked_, shorter);
    take(std::move(shorter));
  }
  [[nodiscard]] const ArrangedWithin& best() const { return best_; }
  [[nodiscard]] ArrangedWithin result() && { return std::move(best_); }

 private:
  const Asked& asked_;
  ArrangedWithin best_;
  std::optional<Duration> shortest_;
};

}  // namespace

ArrangedWithin arrange_within(const PlanInputs& inputs, const Plan& plan, const StagePrices& prices,
                              const std::vector<PlanTie>& ties, bool recomputes,
                              const PerRank<Bytes>& reserve, const PerRank<Bytes>& capacity,
                              Duration slowest) {
  const Asked asked{inputs, plan, prices, ties, recomputes, reserve, capacity};
  std::vector<std::int64_t> room;
  const std::int64_t size = std::int64_t{plan.stages()} * replica_loads(plan).front().micro_batches;
  ArrangedWithin first = arranged_for(asked, 1, room, to_beat_of(asked, size, slowest));
  if (first.arranged.is_beaten || first.why_not || plan.pipeline == 1 ||
      size > kMostForSlowerTransfers)
    return first;
  // ZB-1p and ZB-2p are what was published; and pipelines that differ must not come to reduce their
  // stages in different orders.
  const bool shortens = size <= kMostForShortened &&
                        first.arranged.schedules.pipelines.size() == 1 &&
                        find_schedule(plan.schedule)->limit_in_ranks == 0;
  Fastest fastest(asked, std::move(first));
  if (shortens) fastest.take_shortened(fastest.best(), room);
  for (const int slower : kSlowerTransfers) {
    ArrangedWithin other = arranged_for(asked, slower, room);
    if (shortens && !other.why_not) fastest.take_shortened(other, room);
    fastest.take(std::move(other));
  }
  return std::move(fastest).result();
}

bool holds_one_of_each(const Plan& plan, const StagePrices& prices,
                       const std::vector<std::int64_t>& room) {
  for (int s = 0; s < plan.stages(); ++s) {
    if (prices.compute_of(s, 0).stash.count > room[static_cast<std::size_t>(plan.rank_of(s))]) {
      return false;
    }
  }
  return true;
}

HeldCounts most_held_within(const Plan& plan, const StagePrices& prices,
                            const std::vector<std::int64_t>& room) {
  std::vector<RankLiveness> ranks(room.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankLiveness& rank = ranks[r];
    rank.stages = plan.stages_of_rank(static_cast<int>(r));
    LiveCounts peak;
    for (const int stage : rank.stages) {
      const std::int64_t each = prices.compute_of(stage, 0).stash.count;
      const std::int64_t most = each > 0 ? room[r] / each : std::numeric_limits<int>::max();
      peak.stash.push_back(
          static_cast<std::int32_t>(std::min<std::int64_t>(most, std::numeric_limits<int>::max())));
      peak.weight_stash.push_back(0);
    }
    rank.peaks.push_back(std::move(peak));
    rank.activation_receives.assign(rank.stages.size(), 0);
    rank.gradient_receives.assign(rank.stages.size(), 0);
    rank.sends_activation.assign(rank.stages.size(), false);
    rank.sends_gradient.assign(rank.stages.size(), false);
  }
  return ranks;
}

}  // namespace penstock
