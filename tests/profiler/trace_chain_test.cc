#include "profiler/trace_chain.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "profiler/activity_file.h"
#include "tests/profiler/fake_tracer.h"
#include "tests/profiler/fake_work.h"

namespace penstock {
namespace {

using tests::FakeDevice;
using tests::FakeTracer;
using tests::FakeWork;
using tests::four_stages;

ChainToMeasure chain_of_four() {
  ChainToMeasure chain;
  chain.sections = {0, 1, 2, 5};
  chain.types = {"embedding", "block", "block", "head"};
  chain.micro_batch_size = 3;
  chain.sequence_length = 64;
  return chain;
}

constexpr TraceRule kTwoSteps{.warm_up = 1, .steps = 2};

struct Traced {
  FakeDevice device;
  FakeWork work{device, four_stages(), false};
  FakeTracer tracer{[this] { return device.now; }};
  ChainTrace trace(const TraceRule& rule = kTwoSteps) {
    device.now += Duration{1000};
    return trace_chain(chain_of_four(), work, device, tracer, rule);
  }
};

const TagActivity* find(const std::vector<TagActivity>& tags, int section, ActivityPhase phase) {
  const auto found = std::ranges::find(tags, activity_tag(section, phase), &TagActivity::tag);
  return found == tags.end() ? nullptr : &*found;
}

// Per step: the 8 F, 4 B, 4 I, 4 W and 4 optimizer steps have a scope each, as have the beginning
// and the norm.
TEST_CASE("every action of a step is traced under its section of the model and its phase") {
  Traced run;
  const ChainTrace trace = run.trace();
  CHECK(trace.recording.scopes.size() == 2 * 26);
  CHECK(trace.samples.why_void.empty());
  CHECK(trace.samples.unattributed == Duration{});
  CHECK(trace.samples.steps == 2);
  CHECK(trace.samples.micro_batch_size == 3);
  CHECK(trace.samples.recompute == "none");
  // F, B, I, W and the optimizer of four sections, the beginning and the norm.
  CHECK(trace.samples.sections.size() == 4 * 5 + 2);
  const TagActivity* late = find(trace.samples.sections, 2, ActivityPhase::kForward);
  REQUIRE(late != nullptr);
  CHECK(late->repeats == 4);
  CHECK(late->busy.median == Duration{104});
  const TagActivity* head = find(trace.samples.sections, 5, ActivityPhase::kFusedBackward);
  REQUIRE(head != nullptr);
  CHECK(head->busy.median == Duration{84});
  CHECK(head->kernels == 1);
  CHECK(find(trace.samples.sections, 3, ActivityPhase::kForward) == nullptr);
}

// F of the two blocks: 100 and 104, four times each; the median is halfway.
TEST_CASE("sections of one type are also taken together") {
  Traced run;
  const TraceSamples samples = run.trace().samples;
  CHECK(samples.types.size() == 3 * 5 + 2);
  const TagActivity* block = find(samples.types, 1, ActivityPhase::kForward);
  REQUIRE(block != nullptr);
  CHECK(block->repeats == 8);
  CHECK(block->busy.median == Duration{102});
  CHECK(find(samples.types, 2, ActivityPhase::kForward) == nullptr);
  const auto place = static_cast<std::size_t>(block - samples.types.data());
  CHECK(samples.type_names[place] == "block");
  const TagActivity* norm = find(samples.types, 0, ActivityPhase::kGradientNorm);
  REQUIRE(norm != nullptr);
  CHECK(norm->busy.median == Duration{5});
  CHECK(samples.type_names[static_cast<std::size_t>(norm - samples.types.data())].empty());
}

// A step takes F 2 (10 + 100 + 104 + 50), B 21 + 165 + 165 + 84, I 1 + 90 + 90 + 40,
// W 20 + 80 + 80 + 45, norm 5, optimizer 300 + 100 + 100 + 200: 2114 ns. A tracer that takes 100 ns
// before each of the 26 scopes adds 2600.
TEST_CASE("what tracing costs is the time of the same steps without it") {
  Traced run;
  run.tracer.on_open = [&] { run.device.now += Duration{100}; };
  const TraceSamples samples = run.trace().samples;
  CHECK(samples.untraced_step.median == Duration{2114});
  CHECK(samples.traced_step.median == Duration{4714});
  CHECK(samples.untraced_step.count == 2);
  CHECK(tracing_overhead(samples) == doctest::Approx(2600.0 / 2114.0));
  // The kernels took no longer.
  CHECK(find(samples.types, 1, ActivityPhase::kForward)->busy.median == Duration{102});
  CHECK(tracing_overhead({}) == 0.0);
}

TEST_CASE("steps to warm up are run with and without the tracer, and are not in the recording") {
  Traced run;
  const ChainTrace trace = run.trace({.warm_up = 3, .steps = 4});
  CHECK(run.work.steps == 2 * (3 + 4));
  CHECK(run.tracer.starts == 2);
  CHECK(run.tracer.recordings == 2);
  CHECK(trace.recording.scopes.size() == 4 * 26);
}

// 2 x 4 fused backwards are launched by another thread; of the other 22 scopes of a step the one
// of its beginning holds nothing.
TEST_CASE("launches of another thread are counted apart from those that an id confirms") {
  Traced run;
  const TraceSamples samples = run.trace().samples;
  CHECK(samples.without_external_id == 2 * 4);
  CHECK(samples.confirmed == 2 * 21);
}

TEST_CASE("activity of nobody voids the trace, and no number of it is kept") {
  Traced run;
  run.tracer.stray = "somebody_else";
  const ChainTrace trace = run.trace();
  CHECK(trace.samples.why_void ==
        "5 ns of 1 device activities belong to no scope: somebody_else (launched outside all "
        "scopes)");
  CHECK(trace.samples.unattributed == Duration{5});
  CHECK(trace.samples.sections.empty());
  CHECK(trace.samples.types.empty());
  CHECK(trace.recording.scopes.size() == 2 * 26);  // to see what it was
}

TEST_CASE("lost records void the trace") {
  Traced run;
  run.tracer.dropped = 7;
  CHECK(run.trace().samples.why_void ==
        "the tracer dropped 7 records, so kernels are missing; trace fewer repeats at a time");
}

TEST_CASE("a recording that was written to a file says the same when it is replayed") {
  Traced run;
  const ChainTrace trace = run.trace();
  const ActivityRecording replayed =
      read_activity(parse_json(to_text(write_activity(trace.recording)), "r.json"), "r.json");
  CHECK(replayed == trace.recording);
  TraceSamples samples = summarize_trace(chain_of_four(), replayed);
  samples.steps = trace.samples.steps;
  samples.untraced_step = trace.samples.untraced_step;
  samples.traced_step = trace.samples.traced_step;
  CHECK(samples == trace.samples);
}

}  // namespace
}  // namespace penstock
