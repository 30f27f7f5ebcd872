#include "search/lower_bound.h"

#include <algorithm>
#include <numeric>

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
};

// After compute: what a rank still has to do.
struct Tail {
  std::vector<std::int64_t> reduce;  // per stage
  std::int64_t after_norm = 0;       // norm, then the longest optimizer and gather of a rank
};

class Bound {
 public:
  Bound(const Plan& plan, std::vector<StageTimes> stages, Tail tail,
        const std::vector<RankLiveness>& liveness)
      : plan_(plan),
        stages_(std::move(stages)),
        tail_(std::move(tail)),
        liveness_(liveness),
        full_(replica_loads(plan).front().samples / plan.micro_batch_size) {}

  // Ends of the step are barriers: every rank's own end counts, and so does rank 0's, which lies
  // behind everybody's drain.
  [[nodiscard]] std::int64_t with_barrier() const {
    std::int64_t latest = 0;
    std::int64_t fill = 0;
    std::int64_t drain = 0;
    for (int rank = 0; rank < plan_.pipeline; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::int64_t to_rank_0 = drain + (rank == 0 ? 0 : stages_[0].least_weight);
      latest = std::max(latest, fill + work(rank) + least_reduce(rank));
      latest = std::max(latest, fill + work_before_drain(rank) + to_rank_0 + tail_.reduce[0]);
      if (plan_.chunks == 1 && full_ > 0) {
        latest = std::max(latest, fill + round_trips(rank) + to_rank_0 + tail_.reduce[0]);
      }
      fill += stages_[r].forward + stages_[r].send;
      drain += stages_[r].least_backward + stages_[r].least_send_back;
    }
    return latest + tail_.after_norm;
  }

  // Without a barrier a step takes a rank's span: no less than its work.
  [[nodiscard]] std::int64_t without_barrier() const {
    std::int64_t longest = 0;
    for (int rank = 0; rank < plan_.pipeline; ++rank) longest = std::max(longest, work(rank));
    return longest;
  }

 private:
  template <class Term>
  [[nodiscard]] std::int64_t sum_of_rank(int rank, Term term) const {
    std::int64_t sum = 0;
    for (int s = rank; s < plan_.stages(); s += plan_.pipeline) {
      sum += term(stages_[static_cast<std::size_t>(s)]);
    }
    return sum;
  }
  [[nodiscard]] std::int64_t work(int rank) const {
    return sum_of_rank(rank, [this](const StageTimes& t) {
      return full_ * (t.forward + t.backward + t.weight) + t.short_work;
    });
  }
  // Weight gradients may follow a rank's last input gradient.
  [[nodiscard]] std::int64_t work_before_drain(int rank) const {
    const bool split = std::any_of(stages_.begin(), stages_.end(),
                                   [](const StageTimes& t) { return t.weight > 0; });
    if (!split) return work(rank);
    return sum_of_rank(rank,
                       [this](const StageTimes& t) { return full_ * (t.forward + t.backward); });
  }
  // With at most n micro-batches in flight on a stage, every n-th forward waits for a backward:
  // chains of round trips to the last stage and back (V = 1, lists in ascending order).
  [[nodiscard]] std::int64_t round_trips(int rank) const {
    std::int64_t trip = 0;
    for (std::size_t s = static_cast<std::size_t>(rank); s < stages_.size(); ++s) {
      trip += stages_[s].forward + stages_[s].backward;
      if (s + 1 < stages_.size()) trip += stages_[s].send + stages_[s].send_back;
    }
    if (liveness_.empty()) return trip;
    std::int64_t in_flight = 1;
    for (const LiveCounts& peak : liveness_[static_cast<std::size_t>(rank)].peaks) {
      in_flight = std::max<std::int64_t>(in_flight, peak.stash[0]);
    }
    const std::int64_t trips = (full_ - 1) / in_flight + 1;
    const std::int64_t rest = full_ - 1 - (trips - 1) * in_flight;
    return trips * trip + rest * stages_[static_cast<std::size_t>(rank)].backward;
  }
  [[nodiscard]] std::int64_t least_reduce(int rank) const {
    std::int64_t least = tail_.reduce[static_cast<std::size_t>(rank)];
    for (int s = rank; s < plan_.stages(); s += plan_.pipeline) {
      least = std::min(least, tail_.reduce[static_cast<std::size_t>(s)]);
    }
    return least;
  }

  const Plan& plan_;
  std::vector<StageTimes> stages_;
  Tail tail_;
  const std::vector<RankLiveness>& liveness_;
  std::int64_t full_;  // full micro-batches of the longest pipeline
};

bool has_short_micro_batch(const Plan& plan) {
  return replica_loads(plan).front().samples % plan.micro_batch_size > 0;
}

Tail tail_of(const StagePrices& prices, const Plan& plan, const ExecutorModel& executor) {
  Tail tail;
  for (const StepPrice& step : prices.step) {
    tail.reduce.push_back(step.reduce_gradient.duration.count());
  }
  std::int64_t longest = 0;
  for (int rank = 0; rank < plan.pipeline; ++rank) {
    std::int64_t optimizer = 0;
    std::int64_t gather = 0;
    for (int s = rank; s < plan.stages(); s += plan.pipeline) {
      const StepPrice& step = prices.step[static_cast<std::size_t>(s)];
      optimizer += (step.optimizer.duration + executor.per_action).count();
      gather = step.unshard.duration.count();  // of the last stage, behind all of them
    }
    longest = std::max(longest, optimizer + gather);
  }
  tail.after_norm = prices.norm.duration.count() + longest;
  return tail;
}

StageTimes times_of(const StagePrices& prices, const Plan& plan, int stage, bool split,
                    const ExecutorModel& executor) {
  const auto backward = [&](int shape) {
    const ComputePrice& price = prices.compute_of(stage, shape);
    const Duration part = split ? price.input_gradient.duration : price.fused_backward.duration;
    return (price.recompute.duration + part + executor.per_action).count();
  };
  const auto weight = [&](int shape) {
    if (!split) return std::int64_t{0};
    return (prices.compute_of(stage, shape).weight_gradient.duration + executor.per_action).count();
  };
  const auto forward = [&](int shape) {
    return (prices.compute_of(stage, shape).forward.duration + executor.per_action).count();
  };
  StageTimes times;
  times.forward = forward(0);
  times.backward = times.least_backward = backward(0);
  times.weight = times.least_weight = weight(0);
  if (stage + 1 < prices.stages) {
    times.send = prices.transfer_of(stage, 0).activation.duration.count();
    times.send_back = times.least_send_back =
        prices.transfer_of(stage, 0).gradient.duration.count();
  }
  for (int shape = 1; shape < prices.shapes; ++shape) {
    times.least_backward = std::min(times.least_backward, backward(shape));
    times.least_weight = std::min(times.least_weight, weight(shape));
    times.least_send_back =
        std::min(times.least_send_back, prices.transfer_of(stage, shape).gradient.duration.count());
  }
  if (has_short_micro_batch(plan)) {
    const auto shapes = micro_batch_shapes(plan);
    const int samples = replica_loads(plan).front().samples % plan.micro_batch_size;
    const int shape =
        static_cast<int>(std::find(shapes.begin(), shapes.end(), samples) - shapes.begin());
    times.short_work = forward(shape) + backward(shape) + weight(shape);
  }
  return times;
}

Duration bound_of(const Bound& bound, const ExecutorModel& executor) {
  const bool barrier = executor.optimizer == OptimizerGate::kGlobalBarrier;
  return Duration{barrier ? bound.with_barrier() : bound.without_barrier()} + executor.per_step;
}

}  // namespace

Duration compute_bound(const SectionSums& sums, const Plan& plan, bool split_backward,
                       const std::vector<RankLiveness>& liveness, const ExecutorModel& executor) {
  const bool shorter = has_short_micro_batch(plan);
  std::vector<StageTimes> stages;
  for (std::size_t s = 0; s + 1 < plan.cuts.size(); ++s) {
    const auto first = static_cast<std::size_t>(plan.cuts[s]);
    const auto end = static_cast<std::size_t>(plan.cuts[s + 1]);
    const auto part = [&](const std::vector<std::int64_t>& prefix) {
      return prefix[end] - prefix[first];
    };
    StageTimes times;
    times.forward = part(sums.forward);
    times.backward =
        part(sums.recompute) + part(split_backward ? sums.input_gradient : sums.fused_backward);
    if (split_backward) times.weight = part(sums.weight_gradient);
    if (!shorter) {
      times.least_backward = times.backward;
      times.least_weight = times.weight;
    }
    stages.push_back(times);
  }
  Tail tail;
  tail.reduce.assign(stages.size(), 0);
  return bound_of(Bound(plan, std::move(stages), std::move(tail), liveness), executor);
}

Duration step_bound(const StagePrices& prices, const Plan& plan, bool split_backward,
                    const std::vector<RankLiveness>& liveness, const ExecutorModel& executor) {
  std::vector<StageTimes> stages;
  stages.reserve(static_cast<std::size_t>(prices.stages));
  for (int s = 0; s < prices.stages; ++s) {
    stages.push_back(times_of(prices, plan, s, split_backward, executor));
  }
  return bound_of(Bound(plan, std::move(stages), tail_of(prices, plan, executor), liveness),
                  executor);
}

}  // namespace penstock
