// When a generation ends, the time until the next one's first step is predicted, and compared once
// that step is done: until all ranks have ended, by the way in which they end, as they took the
// last times; the start as it took the last times; and a step of the plan that will run. A mean in
// which the last time counts half follows a machine that becomes slower, and forgives one odd
// start.
#include <algorithm>

#include "manager/decider.h"

namespace penstock {
namespace {

void learn(std::optional<Duration>& known, Duration measured) {
  measured = std::max(Duration{1}, measured);
  known = known ? (*known + measured) / 2 : measured;
}

}  // namespace

// Until it has been measured: what a checkpoint takes where one is written, else nothing.
Duration Decider::time_to_end() const {
  const ChangeTimes& times = decision_.next.change_times;
  const Stopping& stopping = *decision_.next.stopping;
  if (stopping.killed) return times.killed.value_or(Duration{});
  if (!stopping.with_checkpoint) return times.lost.value_or(Duration{});
  return times.told.value_or(step_time() + decision_.next.write_time);
}

void Decider::expect_first_step() {
  const bool ends =
      next().stopping->then != AfterStop::kStartAgain ||
      std::ranges::any_of(generation().ranks, [](const PlacedRank& r) { return r.code == 0; });
  if (ends) return next().expected.reset();
  ExpectedStep expected;
  expected.since = now_;
  expected.time = time_to_end();
  if (const std::optional<ChosenPlan> chosen = plan_to_start(rules_, next(), now_)) {
    const std::optional<Duration>& start = next().change_times.start;
    expected.time += start ? *start + chosen->step() : rules_.job.restart;
  } else {
    expected.waited = true;
  }
  next().expected = expected;
}

// A sentence to follow another; empty where nobody can tell.
std::string Decider::expectation() const {
  const std::optional<ExpectedStep>& expected = decision_.next.expected;
  if (!expected || expected->waited) return "";
  return " The next step is expected to be done in " + to_text(expected->time) + ".";
}

// Ranks that outlived the time that they had say nothing about the next ones.
void Decider::learn_end() {
  const Stopping& stopping = *next().stopping;
  ChangeTimes& times = next().change_times;
  const Duration took = now_ - stopping.began;
  if (stopping.outlived) return;
  if (stopping.killed) {
    learn(times.killed, took);
  } else {
    learn(stopping.with_checkpoint ? times.told : times.lost, took);
  }
}

void Decider::learn_start(Duration first_step) {
  learn(next().change_times.start, now_ - generation().started - first_step);
}

void Decider::compare_expectation() {
  if (!next().expected) return;
  const ExpectedStep expected = *next().expected;
  next().expected.reset();
  if (expected.waited) return;
  log("measure", "The first step was done " + to_text(now_ - expected.since) +
                     " after the change had begun; " + to_text(expected.time) + " were expected.");
}

}  // namespace penstock
