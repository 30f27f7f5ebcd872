#include "runtime_bridge/run_virtual.h"

#include <algorithm>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/rank_threads.h"
#include "runtime_bridge/virtual_prices.h"

namespace penstock {
namespace {

// Virtual boundary tensors cost no memory, and a receive that is posted early ends when its message
// arrives, as in the simulator's timeline.
constexpr int kTransfersAhead = 64;

// Times as they would be without the stretch.
void unstretch(MeasuredStep& step, std::int64_t stretch) {
  step.step_time /= stretch;
  for (Duration* phase : {&step.phases.compute, &step.phases.waiting, &step.phases.reducing,
                          &step.phases.optimizer}) {
    *phase /= stretch;
  }
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

}  // namespace

std::vector<MeasuredStep> run_virtual(std::shared_ptr<const PlanFile> plan,
                                      const VirtualRunOptions& options, StepObserver* observer) {
  if (options.stretch < 1) {
    throw_bad_input("a stretch of " + std::to_string(options.stretch) + "; 1 is the least");
  }
  const PlanDelays delays(*plan, options.stretch);
  std::vector<std::shared_ptr<const VirtualDurations>> durations;
  durations.reserve(plan->program.pipelines.size());
  for (std::size_t k = 0; k < plan->program.pipelines.size(); ++k) {
    durations.push_back(virtual_durations(*plan, static_cast<int>(k), options.stretch));
  }
  LoopbackOptions loopback;
  loopback.time_out = options.time_out;
  loopback.delays = &delays;
  const int ranks = plan->plan.pipeline * plan->plan.data;
  LoopbackHub hub(ranks, loopback);

  RunRankOptions run;
  run.end_step = options.steps;
  run.timeline = options.timeline;
  run.execute.transfers_ahead = kTransfersAhead;
  Collector collector(options.stretch, observer);
  const RunRankHooks hooks{&collector, options.control, nullptr};
  const MakeWork make_work = [&durations](const PlanFile& /*file*/, const RankProgram& program) {
    return std::make_unique<VirtualWork>(program.setup,
                                         durations[static_cast<std::size_t>(program.pipeline)]);
  };
  OnePlan source(std::move(plan));
  on_rank_threads(ranks, [&](int rank) {
    const auto transport = hub.transport(rank);
    run_rank(source, make_work, *transport, run, hooks);
  });
  return collector.take();
}

std::int64_t stretch_for(const PlanFile& plan, Duration shortest) {
  Duration least = Duration::max();
  for (const ComputePrice& price : plan.prices.compute) {
    for (const Price* each : {&price.forward, &price.input_gradient, &price.weight_gradient,
                              &price.fused_backward, &price.recompute}) {
      if (each->duration > Duration{0}) least = std::min(least, each->duration);
    }
  }
  if (least == Duration::max()) return 1;
  return std::max<std::int64_t>(1, (shortest + least - Duration{1}) / least);
}

}  // namespace penstock
