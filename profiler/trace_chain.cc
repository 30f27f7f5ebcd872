// The same steps run twice, without and with the tracer, so that the report can say what tracing
// costs. A scope around every action carries the section and the phase as its tag, by which kernels
// are attributed later. A first traced round is thrown away: it holds the tracer's own warm-up.
#include "profiler/trace_chain.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "profiler/run_chain.h"

namespace penstock {
namespace {

// The phases that are actions.
constexpr std::pair<ActionKind, ActivityPhase> kPhases[] = {
    {ActionKind::kForward, ActivityPhase::kForward},
    {ActionKind::kInputGradient, ActivityPhase::kInputGradient},
    {ActionKind::kWeightGradient, ActivityPhase::kWeightGradient},
    {ActionKind::kFusedBackward, ActivityPhase::kFusedBackward},
    {ActionKind::kRecompute, ActivityPhase::kRecompute},
    {ActionKind::kOptimizer, ActivityPhase::kOptimizer},
    {ActionKind::kNorm, ActivityPhase::kGradientNorm}};

ActivityPhase phase_of_action(ActionKind kind) {
  for (const auto& [action, phase] : kPhases) {
    if (action == kind) return phase;
  }
  throw Error(ErrorKind::kInternal, "a step over a chain has no such action");
}

// A scope around every action, where somebody traces.
class Scopes {
 public:
  Scopes(const ChainToMeasure& chain, ActivityTracer* tracer) : chain_(chain), tracer_(tracer) {}

  template <class Call>
  void action(ActionKind kind, int stage, const Call& call) {
    const ActivityPhase phase = phase_of_action(kind);
    const int section =
        is_of_one_section(phase) ? chain_.sections[static_cast<std::size_t>(stage)] : 0;
    during(activity_tag(section, phase), call);
  }
  template <class Call>
  void during(ActivityTag tag, const Call& call) {
    if (tracer_ == nullptr) return call();
    tracer_->open_scope(tag);
    call();
    tracer_->close_scope();
  }
  void leaves(int, int) {}
  void left(int) {}

 private:
  const ChainToMeasure& chain_;
  ActivityTracer* tracer_;  // may be absent
};

class ChainTracing {
 public:
  ChainTracing(const ChainToMeasure& chain, RankWork& work, Device& device, const TraceRule& rule)
      : chain_(chain), work_(work), device_(device), rule_(rule) {}

  // The same steps, apart from the tracer: so their times say what it costs.
  ChainTrace run(ActivityTracer& tracer) {
    run_steps(rule_.warm_up, nullptr);
    const Clocks untraced = run_steps(rule_.steps, nullptr);
    const SampleSummary untraced_step = summary_of(untraced);
    // Kernels that were launched before tracing began would belong to nothing.
    device_.synchronize();
    tracer.start();
    run_steps(rule_.warm_up, &tracer);
    static_cast<void>(tracer.stop());
    tracer.start();
    const Clocks traced = run_steps(rule_.steps, &tracer);
    ChainTrace trace;
    trace.recording = tracer.stop();
    trace.samples = summarize_trace(chain_, trace.recording);
    trace.samples.steps = rule_.steps;
    trace.samples.untraced_step = untraced_step;
    trace.samples.traced_step = summary_of(traced);
    return trace;
  }

 private:
  using Clocks = std::vector<std::unique_ptr<Stopwatch>>;

  Clocks run_steps(int count, ActivityTracer* tracer) {
    Clocks clocks;
    clocks.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      clocks.push_back(device_.stopwatch());
      clocks.back()->begin();
      run_step(tracer);
      clocks.back()->end();
    }
    return clocks;
  }

  void run_step(ActivityTracer* tracer) {
    Scopes scopes(chain_, tracer);
    scopes.during(activity_tag(0, ActivityPhase::kStepBegin), [&] { work_.begin_step(step_++); });
    ChainRun run(chain_, work_, scopes);
    run.fused();
    if (chain_.splits) run.split();
    run.update_weights();
  }

  static SampleSummary summary_of(const Clocks& clocks) {
    std::vector<Duration> times;
    times.reserve(clocks.size());
    for (const auto& clock : clocks) times.push_back(clock->duration());
    return summarize(std::move(times));
  }

  const ChainToMeasure& chain_;
  RankWork& work_;
  Device& device_;
  const TraceRule& rule_;
  std::int64_t step_ = 0;
};

}  // namespace

ChainTrace trace_chain(const ChainToMeasure& chain, RankWork& work, Device& device,
                       ActivityTracer& tracer, const TraceRule& rule) {
  return ChainTracing(chain, work, device, rule).run(tracer);
}

}  // namespace penstock
