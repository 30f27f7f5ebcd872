// The least time that a step of a plan can take, in O(stages) and without a Program.
//
// Three arguments, of which the largest counts:
// - a rank does all its work after the pipeline has filled up to it, and reduces gradients after
//   that: fill + work + reduction;
// - its last gradient still travels to the first stage, whose rank reduces, too: fill + work +
//   drain;
// - a stage that may hold n activations starts its (n + 1)-th forward after the first backward has
//   come back: ceil(M / n) round trips to the last stage and back, between fill and drain;
// - a rank with room for so many bytes of activations holds each from the start of its forward to
//   the end of its backward, a round trip: between fill and drain it needs bytes times trips over
//   the room.
//
// Each is a chain of actions of which each waits for the one before, in any order that the schedule
// allows; so no replay under any executor (executors only add waits) is shorter. Where a rank may
// begin with either copy of the weights neither fill nor drain is certain, and only work counts.
// tests/search/lower_bound_test.cc holds it against replays of random plans.
#include "search/lower_bound.h"

#include <algorithm>
#include <limits>

#include "core/values/durations.h"
#include "core/values/recompute_sections.h"
#include "search/end_bound.h"
#include "search/plan_program.h"

namespace penstock {
namespace {

// Per stage, for a full micro-batch; ns.
struct StageTimes {
  std::int64_t forward = 0;
  std::int64_t backward = 0;             // R and I or B: what the stages before it wait for
  std::int64_t weight = 0;               // W; 0 with fused backward
  std::int64_t send = 0, send_back = 0;  // to the next stage, and the gradient back from it
  // Shortest over the shapes: the last micro-batch may be short.
  std::int64_t least_backward = 0, least_weight = 0, least_send_back = 0;
  std::int64_t short_work = 0;  // all of the short micro-batch, if there is one
  std::int64_t stash = 0;       // bytes; by prices only
};

// After compute: what a rank still has to do.
struct Tail {
  std::vector<std::int64_t> reduce;  // per stage
  std::int64_t after_norm = 0;       // norm, then the longest optimizer and gather of a rank
};

class Bound {
 public:
  // `room`: bytes for activations on every rank; empty: any number.
  Bound(const Plan& plan, std::vector<StageTimes> stages, Tail tail, const HeldCounts& held,
        std::span<const std::int64_t> room = {})
      : plan_(plan),
        stages_(std::move(stages)),
        tail_(std::move(tail)),
        held_(held),
        room_(room),
        full_(first_load(plan).full / plan.copies()),
        splits_(std::any_of(stages_.begin(), stages_.end(),
                            [](const StageTimes& t) { return t.weight > 0; })),
        ranks_(static_cast<std::size_t>(plan.pipeline)) {
    for (int s = 0; s < plan.stages(); ++s) {
      const auto stage = static_cast<std::size_t>(s);
      const StageTimes& t = stages_[stage];
      OfRank& rank = ranks_[static_cast<std::size_t>(plan.rank_of(s))];
      rank.work += full_ * (t.forward + t.backward + t.weight) + t.short_work;
      rank.before_drain += full_ * (t.forward + t.backward);
      rank.least_reduce = std::min(rank.least_reduce, tail_.reduce[stage]);
    }
  }

  // Ends of the step are barriers: every rank's own end counts, and so does rank 0's, which lies
  // behind everybody's drain: a rank's last gradient is that of its first stage. With two copies of
  // the weights a rank may begin and end with either, so neither fill nor drain is certain.
  [[nodiscard]] std::int64_t with_barrier() const {
    std::int64_t latest = 0;
    std::int64_t fill = 0;
    std::int64_t drain = 0;
    for (int rank = 0; rank < plan_.pipeline; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      latest = std::max(latest, fill + ranks_[r].work + ranks_[r].least_reduce);
      if (plan_.copies() > 1) continue;
      latest = std::max(latest, fill + before_drain(r) + drain + end_of_rank_0(rank));
      fill += stages_[r].forward + stages_[r].send;
      drain += stages_[r].least_backward + stages_[r].least_send_back;
    }
    if (plan_.copies() == 1 && full_ > 0) {
      latest = std::max({latest, longest_round_trips(), longest_within_room()});
    }
    return latest + tail_.after_norm;
  }

  // Without a barrier a step takes a rank's span: no less than its work.
  [[nodiscard]] std::int64_t without_barrier() const {
    std::int64_t longest = 0;
    for (const OfRank& rank : ranks_) longest = std::max(longest, rank.work);
    return longest;
  }

 private:
  struct OfRank {
    std::int64_t work = 0, before_drain = 0;
    std::int64_t least_reduce = std::numeric_limits<std::int64_t>::max();
  };

  // Weight gradients may follow a rank's last input gradient.
  [[nodiscard]] std::int64_t before_drain(std::size_t rank) const {
    return splits_ ? ranks_[rank].before_drain : ranks_[rank].work;
  }
  // After the last gradient came to the first stage: its weight gradient, if other stages did not
  // wait for it already, and its reduction.
  [[nodiscard]] std::int64_t end_of_rank_0(int after_stage) const {
    return (after_stage == 0 ? 0 : stages_[0].least_weight) + tail_.reduce[0];
  }

  // With at most n micro-batches in flight on a stage, every n-th forward waits for a backward:
  // chains of round trips to the last stage and back (lists in ascending order), between the fill
  // of the stages before it and their drain.
  [[nodiscard]] std::int64_t longest_round_trips() const {
    std::int64_t trip = 0;  // from the stage to the last one and back
    for (const StageTimes& t : stages_) trip += t.forward + t.backward + t.send + t.send_back;
    std::int64_t longest = 0;
    std::int64_t fill = 0;
    std::int64_t drain = 0;
    for (int s = 0; s < plan_.stages(); ++s) {
      const StageTimes& t = stages_[static_cast<std::size_t>(s)];
      longest = std::max(longest, fill + round_trips(s, trip) + drain + end_of_rank_0(s));
      trip -= t.forward + t.backward + t.send + t.send_back;
      fill += t.forward + t.send;
      drain += t.least_backward + t.least_send_back;
    }
    return longest;
  }
  [[nodiscard]] std::int64_t round_trips(int stage, std::int64_t trip) const {
    if (held_.ranks() == 0) return trip;
    const std::int64_t in_flight = std::max<std::int64_t>(1, held_.most_stash(stage));
    const std::int64_t trips = (full_ - 1) / in_flight + 1;
    const std::int64_t rest = full_ - 1 - (trips - 1) * in_flight;
    return trips * trip + rest * stages_[static_cast<std::size_t>(stage)].backward;
  }

  // The first forward of a rank is of its first stage, behind the fill, and so is its last
  // backward, before the drain.
  [[nodiscard]] std::int64_t longest_within_room() const {
    if (room_.empty()) return 0;
    std::vector<double> held(ranks_.size(), 0.0);  // bytes times ns, of a micro-batch
    std::int64_t trip = 0;
    for (int s = plan_.stages() - 1; s >= 0; --s) {
      const StageTimes& t = stages_[static_cast<std::size_t>(s)];
      trip += t.forward + t.backward + t.send + t.send_back;
      held[static_cast<std::size_t>(plan_.rank_of(s))] +=
          static_cast<double>(t.stash) * static_cast<double>(trip);
    }
    constexpr double kRounding = 1.0 - 1e-9;
    std::int64_t longest = 0;
    std::int64_t fill = 0;
    std::int64_t drain = 0;
    for (int rank = 0; rank < plan_.pipeline; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (room_[r] > 0) {
        const double least =
            static_cast<double>(full_) * held[r] / static_cast<double>(room_[r]) * kRounding;
        const auto within = static_cast<std::int64_t>(std::min(least, kLongest));
        longest = std::max(longest, fill + within + drain + end_of_rank_0(rank));
      }
      fill += stages_[r].forward + stages_[r].send;
      drain += stages_[r].least_backward + stages_[r].least_send_back;
    }
    return longest;
  }
  // More is no step: what is left cannot overflow.
  static constexpr double kLongest = 1e18;

  const Plan& plan_;
  std::vector<StageTimes> stages_;
  Tail tail_;
  const HeldCounts& held_;
  std::span<const std::int64_t> room_;
  std::int64_t full_;  // full micro-batches of a stage of the longest pipeline
  bool splits_;
  std::vector<OfRank> ranks_;
};

bool has_short_micro_batch(const Plan& plan) { return first_load(plan).rest > 0; }

// The shape of the short micro-batch whose work counts; -1: there is none.
int short_shape_of(const Plan& plan) {
  if (!has_short_micro_batch(plan) || plan.copies() > 1) return -1;
  return batch_of(plan).replicas.front().runs.back().shape;
}

Tail tail_of(const StagePrices& prices, const Plan& plan, const ExecutorModel& executor) {
  Tail tail;
  const auto duration = [&](ActionKind kind, int stage) {
    return duration_of(prices, executor, kind, {stage, 0, plan.copies()}).count();
  };
  for (int s = 0; s < plan.stages(); ++s) {
    tail.reduce.push_back(duration(ActionKind::kReduceGradient, s));
  }
  std::vector<std::int64_t> optimizer(static_cast<std::size_t>(plan.pipeline), 0);
  auto gather = optimizer;  // of the last stage, behind all of them
  for (int s = 0; s < plan.stages(); ++s) {
    const auto rank = static_cast<std::size_t>(plan.rank_of(s));
    optimizer[rank] += duration(ActionKind::kOptimizer, s);
    gather[rank] = duration(ActionKind::kUnshard, s);
  }
  std::int64_t longest = 0;
  for (std::size_t r = 0; r < optimizer.size(); ++r) {
    longest = std::max(longest, optimizer[r] + gather[r]);
  }
  tail.after_norm = duration(ActionKind::kNorm, 0) + longest;
  return tail;
}

// What backwards of one stage and shape take at least, by how the schedule may carry them out.
struct BackwardTimes {
  Duration first{};  // what the stage before waits for
  Duration rest{};   // beyond that; weight gradients are actions of their own
};

BackwardTimes backward_times(const StagePrices& prices, PricedPlace place, BackwardKind kind,
                             const ExecutorModel& executor) {
  const auto duration = [&](ActionKind action) {
    return duration_of(prices, executor, action, place);
  };
  const Duration fused = duration(ActionKind::kFusedBackward);
  if (kind == BackwardKind::kFused) return {fused, {}};
  const Duration input = duration(ActionKind::kInputGradient);
  const Duration weight = duration(ActionKind::kWeightGradient);
  if (kind == BackwardKind::kSplit) return {input, weight};
  const Duration first = std::min(fused, input);
  return {first, std::min(fused, input + weight) - first};
}

StageTimes times_of(const StagePrices& prices, const Plan& plan, int stage, BackwardKind kind,
                    const ExecutorModel& executor, bool recomputes, int short_shape) {
  const auto alone = [&](ActionKind action, int shape) {
    return price_alone(prices, action, {stage, shape});
  };
  const auto backward = [&](int shape) {
    const Duration again = recomputes ? alone(ActionKind::kRecompute, shape) : Duration{};
    return (again + backward_times(prices, {stage, shape}, kind, executor).first).count();
  };
  const auto weight = [&](int shape) {
    return backward_times(prices, {stage, shape}, kind, executor).rest.count();
  };
  const auto forward = [&](int shape) {
    const Duration gain =
        kind == BackwardKind::kMixed ? gain_of_overlap(prices, {stage, shape}) : Duration{};
    const Duration one = duration_of(prices, executor, ActionKind::kForward, {stage, shape});
    return std::max(Duration{}, one - gain).count();
  };
  // The gradient that comes back over the boundary behind this stage is the next one's to send.
  const auto gradient_back = [&](int shape) {
    return price_alone(prices, ActionKind::kSendGradient, {stage + 1, shape}).count();
  };
  StageTimes times;
  times.stash = prices.compute_of(stage, 0).stash.count;
  times.forward = forward(0);
  times.backward = times.least_backward = backward(0);
  times.weight = times.least_weight = weight(0);
  if (plan.has_next(stage) && plan.rank_of(stage) != plan.rank_of(stage + 1)) {
    times.send = alone(ActionKind::kSendActivation, 0).count();
    times.send_back = times.least_send_back = gradient_back(0);
  }
  for (int shape = 1; shape < prices.shapes; ++shape) {
    times.least_backward = std::min(times.least_backward, backward(shape));
    times.least_weight = std::min(times.least_weight, weight(shape));
    times.least_send_back = std::min(times.least_send_back, gradient_back(shape));
  }
  if (short_shape >= 0) {
    times.short_work = forward(short_shape) + backward(short_shape) + weight(short_shape);
  }
  return times;
}

Duration bound_of(const Bound& bound, const ExecutorModel& executor) {
  const bool barrier = executor.optimizer == OptimizerGate::kGlobalBarrier;
  return Duration{barrier ? bound.with_barrier() : bound.without_barrier()} + executor.per_step;
}

// What sections [first, end) add to their stage.
void add_run(const SectionSums& sums, BackwardKind backward, int first, int end,
             StageTimes& times) {
  const auto part = [first, end](const std::vector<std::int64_t>& prefix) {
    return prefix[static_cast<std::size_t>(end)] - prefix[static_cast<std::size_t>(first)];
  };
  const bool overlaps = backward == BackwardKind::kMixed;
  const std::int64_t forward = part(sums.forward) - (overlaps ? part(sums.gain) : 0);
  const std::int64_t gradient = part(sums.recompute) + part(sums.gradient_of(backward));
  times.forward += forward;
  times.backward += gradient;
  times.weight += part(sums.work_of(backward)) - forward - gradient;
}

Duration bound_of_compute(std::vector<StageTimes> stages, const Plan& plan, const HeldCounts& held,
                          const ExecutorModel& executor, const WiredTimes& wired) {
  for (std::size_t s = 0; s < wired.transfers.size(); ++s) {
    stages[s].send = wired.transfers[s].there.count();
    stages[s].send_back = wired.transfers[s].back.count();
  }
  if (!has_short_micro_batch(plan)) {
    for (StageTimes& times : stages) {
      times.least_backward = times.backward;
      times.least_weight = times.weight;
      times.least_send_back = times.send_back;
    }
  }
  Tail tail;
  tail.reduce.assign(stages.size(), 0);
  tail.reduce.front() = wired.end.reduce.count();
  tail.after_norm = wired.end.after_norm.count();
  return bound_of(Bound(plan, std::move(stages), std::move(tail), held), executor);
}

}  // namespace

Duration compute_bound(const RankSums& sums, const Plan& plan, BackwardKind backward,
                       const HeldCounts& held, const ExecutorModel& executor) {
  return end_bound(sums, plan, backward, held, executor, {});
}

Duration end_bound(const RankSums& sums, const Plan& plan, BackwardKind backward,
                   const HeldCounts& held, const ExecutorModel& executor, const WiredTimes& wired) {
  std::vector<StageTimes> stages(static_cast<std::size_t>(plan.stages()));
  for (int s = 0; s < plan.stages(); ++s) {
    add_run(sums[plan.rank_of(s)], backward, plan.first_section(s), plan.end_section(s),
            stages[static_cast<std::size_t>(s)]);
  }
  return bound_of_compute(std::move(stages), plan, held, executor, wired);
}

Duration compute_bound(const RecomputeSums& sums, const Plan& divided, BackwardKind backward,
                       const HeldCounts& held, const ExecutorModel& executor) {
  return end_bound(sums, divided, backward, held, executor, {});
}

Duration end_bound(const RecomputeSums& sums, const Plan& divided, BackwardKind backward,
                   const HeldCounts& held, const ExecutorModel& executor, const WiredTimes& wired) {
  std::vector<StageTimes> stages(static_cast<std::size_t>(divided.stages()));
  for (int s = 0; s < divided.stages(); ++s) {
    StageTimes& times = stages[static_cast<std::size_t>(s)];
    const int rank = divided.rank_of(s);
    const int first = divided.first_section(s);
    const int middle = first + recomputed_sections_of(divided, s);
    add_run(sums.recomputed[rank], backward, first, middle, times);
    add_run(sums.kept[rank], backward, middle, divided.end_section(s), times);
  }
  return bound_of_compute(std::move(stages), divided, held, executor, wired);
}

Duration least_behind_compute(const StagePrices& prices, const Plan& plan,
                              const ExecutorModel& executor) {
  const bool barrier = executor.optimizer == OptimizerGate::kGlobalBarrier;
  const std::int64_t after = barrier ? tail_of(prices, plan, executor).after_norm : 0;
  return Duration{after} + executor.per_step;
}

Duration step_bound(const StagePrices& prices, const Plan& plan, BackwardKind backward,
                    const HeldCounts& held, const ExecutorModel& executor, bool last_rank_keeps,
                    std::span<const std::int64_t> room) {
  std::vector<StageTimes> stages;
  stages.reserve(static_cast<std::size_t>(prices.stages));
  const int short_shape = short_shape_of(plan);
  for (int s = 0; s < prices.stages; ++s) {
    const bool recomputes = !last_rank_keeps || s + 1 < prices.stages;
    stages.push_back(times_of(prices, plan, s, backward, executor, recomputes, short_shape));
  }
  return bound_of(Bound(plan, std::move(stages), tail_of(prices, plan, executor), held, room),
                  executor);
}

}  // namespace penstock
