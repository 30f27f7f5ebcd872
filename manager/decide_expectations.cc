// When a generation ends, the time until the next one's first step is predicted, and compared once
// that step is done: until all ranks have ended, by the way in which they end, as they took the
// last times; the start, from what the starts before have taken (start_times.h); and a step of the
// plan that will run. Of ends the median of the last five counts, which forgives two odd ones.
#include <algorithm>

#include "manager/decider.h"

namespace penstock {
namespace {

constexpr Duration kAtOnce = std::chrono::milliseconds(250);
constexpr Duration kToSeeAnEnd = std::chrono::milliseconds(500);
constexpr Duration kToNotice = std::chrono::seconds(3);  // that a peer is lost

bool is_loss(WayToEnd way) { return way == WayToEnd::kLostPeer || way == WayToEnd::kLostUnseen; }

void learn(std::vector<Duration>& known, Duration measured) {
  known.push_back(std::max(Duration{1}, measured));
  if (known.size() > ChangeTimes::kRemembered) known.erase(known.begin());
}

}  // namespace

// Nothing is known but constants: what a checkpoint takes where one is written; ranks look for 3 s
// who is lost; one that hangs is killed after 2 s, and a look at the machines sees the end of ranks
// after half a second.
Duration Decider::assumed_end(WayToEnd way) const {
  switch (way) {
    case WayToEnd::kTold:
      return step_time() + decision_.next.write_time;
    case WayToEnd::kLostPeer:
      return kToNotice;
    case WayToEnd::kLostUnseen:
      return kToNotice - kToSeeAnEnd;
    case WayToEnd::kSilentPeer:
      return std::chrono::seconds(2) + kToSeeAnEnd;
    case WayToEnd::kKilled:
      return kToSeeAnEnd;
    case WayToEnd::kFailedStart:
      break;
  }
  return {};
}

// Of a way that was never met, as much later than assumed as the others were: these ranks, on these
// machines, take their time to exit, whatever made them.
Duration Decider::time_to_end() const {
  if (!ranks_live()) return {};
  const ChangeTimes& times = decision_.next.change_times;
  const WayToEnd way = decision_.next.stopping->way;
  if (const auto known = times.end(way)) return *known;
  std::vector<Duration> later;
  for (std::size_t other = 0; other < kWaysToEnd; ++other) {
    const auto its = static_cast<WayToEnd>(other);
    const auto known = times.end(its);
    if (known && its != WayToEnd::kFailedStart) {
      later.push_back(std::max(Duration{}, *known - assumed_end(its)));
    }
  }
  return assumed_end(way) + ChangeTimes::typical(later).value_or(Duration{});
}

std::optional<Duration> Decider::time_to_start(int ranks) const {
  return expected_start(decision_.next.change_times.starts, ranks, rules_.processors);
}

void Decider::expect_first_step() {
  const bool ends =
      next().stopping->then != AfterStop::kStartAgain ||
      std::ranges::any_of(generation().ranks, [](const PlacedRank& r) { return r.code == 0; });
  if (ends) return next().expected.reset();
  ExpectedStep expected;
  expected.since = now_;
  expected.time = time_to_end();
  expected.end = expected.time;
  if (const std::optional<ChosenPlan> chosen = plan_to_start(rules_, next(), now_)) {
    const auto start = time_to_start(static_cast<int>(chosen->ranks.size()));
    expected.time += start ? *start + chosen->step() : rules_.job.restart;
  } else {
    expected.waited = true;
  }
  next().expected = expected;
}

// Ranks end in another way than was foreseen: those that were told to end have lost one meanwhile,
// or all were lost together, so that none is left to be waited for.
void Decider::rethink_expectation(const RankEnded& event) {
  Stopping& stopping = *next().stopping;
  if (!next().expected || stopping.killed) return;
  const bool as_told = event.code == 0 || event.code == kStoppedCode;
  if (stopping.way == WayToEnd::kTold && !as_told) {
    stopping.way = way_of_loss(event);
    stopping.began = now_;
    expect_first_step();
    log("follow",
        "A rank did not exit as it was told: the others may be waiting for it." + expectation());
  } else if (is_loss(stopping.way) && !ranks_live() && now_ > stopping.began &&
             now_ - stopping.began < kAtOnce) {
    expect_first_step();
    log("follow", "All ranks were lost together." + expectation());
  }
}

// A sentence to follow another; empty where nobody can tell.
std::string Decider::expectation() const {
  const std::optional<ExpectedStep>& expected = decision_.next.expected;
  if (!expected || expected->waited) return "";
  return " The next step is expected to be done in " + to_text(expected->time) + ".";
}

// Ranks that outlived the time that they had say nothing about the next ones, but where one that
// hangs is always waited for until then.
void Decider::learn_end() {
  const Stopping& stopping = *next().stopping;
  const Duration took = now_ - stopping.began;
  const bool hung = stopping.way == WayToEnd::kSilentPeer;
  if (took == Duration{} || (stopping.outlived && !hung)) return;
  // Nobody was left who had to notice that a peer was lost.
  const bool some_noticed = std::ranges::any_of(
      generation().ranks, [](const PlacedRank& rank) { return rank.code.has_value(); });
  if (is_loss(stopping.way) && !some_noticed) return;
  learn(next().change_times.ends.at(static_cast<std::size_t>(stopping.way)), took);
}

void Decider::learn_start(Duration first_step) {
  const Duration took = now_ - generation().started - first_step;
  if (took <= Duration{}) return;  // the clock was put back
  std::vector<MeasuredStart>& starts = next().change_times.starts;
  starts.push_back({static_cast<int>(generation().ranks.size()), took});
  if (starts.size() > MeasuredStart::kRemembered) starts.erase(starts.begin());
}

void Decider::compare_expectation() {
  if (!next().expected) return;
  const ExpectedStep expected = *next().expected;
  next().expected.reset();
  if (expected.waited) return;
  std::string text = "The first step was done " + to_text(now_ - expected.since) +
                     " after the change had begun; " + to_text(expected.time) + " were expected.";
  if (expected.end) {
    text += " Until the ranks were started it was " +
            to_text(generation().started - expected.since) + " (" + to_text(*expected.end) +
            " expected), from there on " + to_text(now_ - generation().started) + " (" +
            to_text(expected.time - *expected.end) + ").";
  }
  log("measure", text);
}

}  // namespace penstock
