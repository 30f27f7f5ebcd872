// The ranks are threads, the transport is in memory, and the clock can jump: when all ranks sleep,
// it goes on to the first that wakes. So a run takes no longer than its bookkeeping, and its times
// are exact. With real sleeping the plan's times are stretched where they would be shorter than the
// operating system can sleep. Invariant: under the jumping clock every start and end equals the
// simulator's (virtual_times_test).
#include "runtime_bridge/run_virtual.h"

#include <mutex>
#include <optional>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/communicators.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/rank_threads.h"
#include "runtime_bridge/virtual_prices.h"

namespace penstock {
namespace {

// Virtual boundary tensors cost no memory, and a receive that is posted early ends when its message
// arrives, as in the simulator's timeline.
constexpr int kTransfersAhead = 64;

// Of a wait under a clock that jumps: only ranks that wait for each other come to its end.
constexpr Duration kForEver = std::chrono::hours(24 * 365 * 100);

// A rank that has ended keeps nobody from jumping.
struct Leaving {
  JumpingClock& clock;
  ~Leaving() { clock.leave(); }
};

// Times as they would be without the stretch.
void unstretch(MeasuredStep& step, std::int64_t stretch) {
  step.step_time /= stretch;
  for (Duration* phase : {&step.phases.compute, &step.phases.waiting, &step.phases.reducing,
                          &step.phases.optimizer}) {
    *phase /= stretch;
  }
  for (Duration& compute : step.rank_compute) compute /= stretch;
  for (MeasuredRank& rank : step.ranks) {
    for (Duration& start : rank.start) start /= stretch;
    for (Duration& end : rank.end) end /= stretch;
  }
}

// Called on the thread of rank 0.
class Collector : public StepObserver {
 public:
  Collector(std::int64_t stretch, StepObserver* next) : stretch_(stretch), next_(next) {}
  void step_finished(const MeasuredStep& step) override {
    steps_.push_back(step);
    unstretch(steps_.back(), stretch_);
    if (next_ != nullptr) next_->step_finished(steps_.back());
  }
  [[nodiscard]] std::vector<MeasuredStep> take() { return std::move(steps_); }

 private:
  std::int64_t stretch_;
  StepObserver* next_;
  std::vector<MeasuredStep> steps_;
};

// What one plan's actions, messages and reductions take.
struct PricedPlan {
  PricedPlan(std::shared_ptr<const PlanFile> priced, std::int64_t stretch)
      : plan(std::move(priced)), delays(*plan, stretch) {
    for (std::size_t k = 0; k < plan->program.pipelines.size(); ++k) {
      durations.push_back(virtual_durations(*plan, static_cast<int>(k), stretch));
    }
  }
  std::shared_ptr<const PlanFile> plan;
  PlanDelays delays;
  std::vector<std::shared_ptr<const VirtualDurations>> durations;  // [pipeline]
};

// The prices of the plan that runs. Ranks come to a plan one after the other, and none begins its
// first step before all are there: what is asked for in between has no price in any plan.
class CurrentPrices : public LoopbackDelays {
 public:
  explicit CurrentPrices(std::int64_t stretch) : stretch_(stretch) {}

  // By each rank, before it runs under the plan.
  std::shared_ptr<const PricedPlan> come_to(const std::shared_ptr<const PlanFile>& plan) {
    const std::lock_guard lock(mutex_);
    if (priced_ == nullptr || priced_->plan != plan) {
      priced_ = std::make_shared<const PricedPlan>(plan, stretch_);
    }
    return priced_;
  }

  [[nodiscard]] Duration of_message(int from, int to, MessageTag tag,
                                    std::size_t bytes) const override {
    return current()->delays.of_message(from, to, tag, bytes);
  }
  [[nodiscard]] Duration of_collective(const std::string& group, GroupCall call,
                                       std::size_t bytes) const override {
    return current()->delays.of_collective(std::string(name_in_plan(group)), call, bytes);
  }

 private:
  [[nodiscard]] std::shared_ptr<const PricedPlan> current() const {
    const std::lock_guard lock(mutex_);
    return priced_;
  }

  std::int64_t stretch_;
  mutable std::mutex mutex_;
  std::shared_ptr<const PricedPlan> priced_;
};

}  // namespace

std::vector<MeasuredStep> run_virtual(std::shared_ptr<const PlanFile> plan,
                                      const VirtualRunOptions& options, StepObserver* observer) {
  OnePlan source(std::move(plan));
  return run_virtual(source, options, observer);
}

std::vector<MeasuredStep> run_virtual(ProgramSource& source, const VirtualRunOptions& options,
                                      StepObserver* observer) {
  if (options.stretch < 1) {
    throw_bad_input("a stretch of " + std::to_string(options.stretch) + "; 1 is the least");
  }
  const int ranks = source.plan_from(0).plan->plan.devices();
  if (!options.slow.empty() && options.slow.rbegin()->first >= ranks) {
    throw_bad_input("slow rank " + std::to_string(options.slow.rbegin()->first) +
                    ": the job has ranks 0 to " + std::to_string(ranks - 1));
  }
  CurrentPrices prices(options.stretch);
  SteadyRankClock steady;
  JumpingClock jumping(ranks);
  RankClock& clock = options.jumps ? static_cast<RankClock&>(jumping) : steady;
  LoopbackOptions loopback;
  loopback.clock = &clock;
  loopback.time_out = options.jumps ? kForEver : options.time_out;
  loopback.delays = &prices;
  LoopbackHub hub(ranks, loopback);

  RunRankOptions run;
  run.end_step = options.steps;
  run.timeline = options.timeline;
  run.execute.transfers_ahead = kTransfersAhead;
  Collector collector(options.stretch, observer);
  const RunRankHooks hooks{&collector, options.control, nullptr};
  on_rank_threads(ranks, [&](int rank) {
    const Leaving leaving{jumping};
    const auto transport = hub.transport(rank);
    const auto slow = options.slow.find(rank);
    RankParts parts;
    parts.make_work = [&](const std::shared_ptr<const PlanFile>& plan, const RankProgram& program) {
      const auto priced = prices.come_to(plan);
      return std::make_unique<VirtualWork>(
          program.setup, priced->durations[static_cast<std::size_t>(program.pipeline)], clock,
          slow == options.slow.end() ? std::nullopt : std::optional(slow->second));
    };
    run_rank(source, parts, *transport, run, hooks);
  });
  return collector.take();
}

}  // namespace penstock
