#include <cmath>

#include <doctest/doctest.h>

#include "morphing/goodput.h"
#include "tests/morphing/recordings.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using std::chrono::seconds;

struct Compared {
  double ours = 0.0, always = 0.0, never = 0.0, most = 0.0;
};

Compared compare(const Availability& recording, const std::vector<Rung>& rungs,
                 const ChangeCosts& costs) {
  const auto steps = [&](std::unique_ptr<ChangePolicy> policy) {
    return replay_availability(recording, rungs, costs, *policy).steps;
  };
  return {steps(expected_gain_policy(recording, rungs, costs)), steps(always_policy(rungs)),
          steps(never_policy(rungs)), most_steps(recording, rungs, costs)};
}

std::vector<Rung> concave_rungs(int most) {
  std::vector<Rung> rungs;
  for (int gpus = 1; gpus <= most; ++gpus) rungs.push_back(rung_of(gpus, std::pow(gpus, 0.85)));
  return rungs;
}

TEST_CASE("On every shipped recording the policy keeps nine tenths of what hindsight keeps") {
  for (const int restart : {30, 60}) {
    double sum = 0.0;
    int count = 0;
    for (const char* name : kRecordings) {
      const Availability recording = recording_called(name);
      const int most = most_gpus(recording);
      for (const std::vector<Rung>& rungs : {linear_rungs(most), concave_rungs(most)}) {
        const Compared found = compare(recording, rungs, {{}, seconds(restart), {}, {}});
        CAPTURE(name);
        CAPTURE(restart);
        CHECK(found.ours >= 0.90 * found.most);
        CHECK(found.ours >= 0.98 * std::max(found.always, found.never));
        sum += found.ours / found.most;
        ++count;
      }
    }
    CHECK(sum / count >= 0.95);
  }
}

TEST_CASE("Growing waits until the change pays, and asks to be woken for it") {
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}},
                       {seconds(100), 3, {}, {}, {}, {}},
                       {seconds(200), 4, {}, {}, {}, {}}};
  recording.end = seconds(100'000);
  const std::vector<Rung> rungs = {rung_of(3, 3.0), rung_of(4, 3.1)};
  const ChangeCosts costs{{}, seconds(60), {}, {}};
  const auto policy = expected_gain_policy(recording, rungs, costs);
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  REQUIRE(goodput.starts.size() == 3);
  CHECK(goodput.starts[0].rung == 1);
  CHECK(goodput.starts[1].rung == 0);
  CHECK(goodput.starts[1].broken);
  CHECK(goodput.starts[2].rung == 1);
  // One loss was seen that breaks the larger rung, none that breaks the smaller. E seconds after
  // half an hour before the start they are worth 3.1 (1 - 60 * 1.5 / E) and 3 (1 - 60 * 0.5 / E);
  // the gain foregone since 200 s reaches the 60 s that a change costs near E = 5,400, 3,600 s
  // after the start.
  CHECK(goodput.starts[2].at > seconds(3'200));
  CHECK(goodput.starts[2].at < seconds(4'200));
}

TEST_CASE("After a wave of losses the policy keeps spare GPUs where changes are dear") {
  Availability recording;
  for (int i = 0; i < 40; ++i) {
    recording.changes.push_back({seconds(200 * i), i % 2 == 0 ? 8 : 7, {}, {}, {}, {}});
  }
  recording.end = seconds(8'000);
  const std::vector<Rung> rungs = {rung_of(7, 7.0), rung_of(8, 8.0)};
  const ChangeCosts costs{{}, seconds(120), {}, {}};
  const auto policy = expected_gain_policy(recording, rungs, costs);
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  CHECK(goodput.changes <= 2);
  CHECK(goodput.steps >= 0.95 * most_steps(recording, rungs, costs));
}

TEST_CASE("While a plan restarts, a better one may start for the difference alone") {
  // 3,600 s on 8 GPUs, then 4, and 5 s later 8 again. The loss and the prior's in 3,600 + 1,800 s
  // on 8 GPUs: t = 2,700 s. A change that takes 60 s when it stands alone takes 5 s more than going
  // on.
  Availability recording;
  recording.changes = {{Duration{}, 8, {}, {}, {}, {}},
                       {seconds(3600), 4, {}, {}, {}, {}},
                       {seconds(3605), 8, {}, {}, {}, {}}};
  recording.end = seconds(4000);
  const std::vector<Rung> rungs = {rung_of(4, 4.0), rung_of(8, 4.1)};
  const ChangeCosts costs{{}, seconds(60), {}, {}};
  // What the plans are worth after three quarters of their losses are 4.049 and 3.983, whose
  // logarithms are 0.016 apart: more than 5 s in 2,700 s (0.002), less than the whole change
  // (0.022).
  const auto policy = expected_gain_policy(recording, rungs, costs);
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  REQUIRE(goodput.starts.size() == 3);
  CHECK(goodput.starts[2].rung == 1);
  CHECK(goodput.starts[2].at == seconds(3605));
  // The same after the restart: 90 s, and 90 s / 2,700 s are more than 0.025.
  const ChangeCosts dear{seconds(30), seconds(60), {}, seconds(60)};
  recording.changes[2].at = seconds(3695);
  const auto other = expected_gain_policy(recording, rungs, dear);
  const Goodput later = replay_availability(recording, rungs, dear, *other);
  CHECK(later.starts.size() == 2);
}

TEST_CASE("A policy never runs more GPUs than there are, nor sees what is to come") {
  std::mt19937 random(3);
  for (int round = 0; round < testing::draws(200); ++round) {
    CAPTURE(round);
    const bool named = round % 2 == 0;
    const Availability whole = random_recording(random, 12, named);
    const std::vector<Rung> rungs = linear_rungs(8);
    const ChangeCosts costs{seconds(5), seconds(40), seconds(100), seconds(0)};
    const auto policy = expected_gain_policy(whole, rungs, costs);
    const Goodput goodput = replay_availability(whole, rungs, costs, *policy);
    const double most = most_steps(whole, rungs, costs);
    // A checkpoint at another moment may be worth a write.
    CHECK(goodput.steps <= most + 8.0 * 5.0 * goodput.changes + 1e-6);
    Availability half = whole;
    half.changes.resize(6);
    half.end = whole.changes[6].at;
    const auto again = expected_gain_policy(half, rungs, costs);
    const Goodput first = replay_availability(half, rungs, costs, *again);
    REQUIRE(first.starts.size() <= goodput.starts.size());
    for (std::size_t i = 0; i < first.starts.size(); ++i) {
      CHECK(first.starts[i] == goodput.starts[i]);
    }
  }
}

}  // namespace
}  // namespace penstock
