// GPUs of several device types that come and go.
#include <algorithm>
#include <random>
#include <utility>

#include <doctest/doctest.h>

#include "morphing/goodput.h"
#include "tests/morphing/recordings.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using std::chrono::seconds;

Rung rung_on(int fast, int slow, double steps_per_second) {
  Rung rung = rung_of(fast + slow, steps_per_second);
  rung.of_types = {fast, slow};
  return rung;
}

// On four fast GPUs 4 steps a second, on four slow ones 1, on all eight 5.
std::vector<Rung> three_rungs() {
  return {rung_on(0, 4, 1.0), rung_on(4, 0, 4.0), rung_on(4, 4, 5.0)};
}

AvailabilityChange change_to(int at, int fast, int slow) {
  AvailabilityChange change;
  change.at = seconds(at);
  change.gpus = fast + slow;
  change.of_types = {fast, slow};
  return change;
}

double steps_of(const Availability& recording, const std::vector<Rung>& rungs,
                const ChangeCosts& costs, std::unique_ptr<ChangePolicy> policy) {
  return replay_availability(recording, rungs, costs, *policy).steps;
}

TEST_CASE("A rung is left out where another one is as fast on no more GPUs of any type") {
  // (4, 4) is as fast as (2, 4); (5, 0) is slower than (4, 0). (0, 8) and (4, 0) are incomparable.
  const std::vector<Rung> useful =
      useful_rungs({rung_on(4, 4, 6.0), rung_on(4, 0, 4.0), rung_on(0, 8, 2.0), rung_on(2, 4, 6.0),
                    rung_on(5, 0, 3.0)});
  CHECK(useful == std::vector<Rung>{rung_on(0, 8, 2.0), rung_on(4, 0, 4.0), rung_on(2, 4, 6.0)});
  const auto on = [&](std::vector<int> there) {
    return fastest_rung(useful, there[0] + there[1], there);
  };
  CHECK(on({4, 3}) == 1);  // as many GPUs as (2, 4) needs, but of the other type
  CHECK(on({3, 4}) == 2);
  CHECK(on({3, 3}) == std::nullopt);
}

// The fast GPUs are away from 600 s to 1,200 s; a change takes 60 s.
//   always:    600 x 5, then 540 x 1, then 540 x 5: 6,240
//   never:     600 x 5, nothing, 540 x 5: 5,700
//   hindsight: as always, since the loss costs a change in any case
//   free:      600 x 5 + 600 x 1 + 600 x 5 = 6,600
TEST_CASE("The loss of one type is survived by the plan on the other") {
  Availability recording;
  recording.types = {"fast", "slow"};
  recording.changes = {change_to(0, 4, 4), change_to(600, 0, 4), change_to(1200, 4, 4)};
  recording.end = seconds(1800);
  const ChangeCosts costs{{}, seconds(60), {}, {}};
  const std::vector<Rung> rungs = three_rungs();
  CHECK(steps_of(recording, rungs, costs, always_policy(rungs)) == doctest::Approx(6240));
  CHECK(steps_of(recording, rungs, costs, never_policy(rungs)) == doctest::Approx(5700));
  CHECK(most_steps(recording, rungs, costs) == doctest::Approx(6240));
  CHECK(steps_of_free_changes(recording, rungs) == doctest::Approx(6600));
  CHECK(steps_of(recording, rungs, costs, expected_gain_policy(recording, rungs, costs)) >=
        0.98 * 6240);
}

// The plan on four fast GPUs takes m0 and m2, which were there first of their type; the loss of m1
// does not touch it, that of m2 does.
TEST_CASE("A plan takes the machines of its types that have been there longest") {
  Availability recording;
  recording.types = {"fast", "slow"};
  recording.machines = {{"m0", 2, 0}, {"m1", 4, 1}, {"m2", 2, 0}, {"m3", 2, 0}};
  recording.changes = {change_to(0, 2, 4), change_to(100, 6, 4), change_to(200, 6, 0),
                       change_to(300, 4, 0)};
  recording.changes[0].added = {0, 1};
  recording.changes[1].added = {2, 3};
  recording.changes[2].lost = {1};
  recording.changes[3].lost = {2};
  recording.end = seconds(400);
  const ChangeCosts costs{{}, seconds(10), {}, {}};
  const std::vector<Rung> rungs = {rung_on(4, 0, 4.0)};
  const auto policy = always_policy(rungs);
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  REQUIRE(goodput.starts.size() == 2);
  CHECK(goodput.starts[0] == RungStart{seconds(100), 0, false});
  CHECK(goodput.starts[1] == RungStart{seconds(300), 0, true});
  // 10 s of restart behind each start: 190 s and 90 s at 4 steps a second.
  CHECK(goodput.steps == doctest::Approx(4.0 * (190 + 90)));
}

TEST_CASE("Hindsight over types keeps what no policy exceeds") {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < testing::draws(200); ++round) {
    CAPTURE(round);
    Availability recording;
    recording.types = {"fast", "slow"};
    for (int i = 0, at = 0; i < 30; ++i, at += 1 + below(400)) {
      recording.changes.push_back(change_to(at, below(9), below(9)));
      recording.end = seconds(at + 100);
    }
    const std::vector<Rung> rungs =
        useful_rungs({rung_on(0, 4, 1.0), rung_on(0, 8, 1.9), rung_on(4, 0, 4.0),
                      rung_on(4, 4, 4.8), rung_on(8, 0, 7.0), rung_on(8, 8, 8.5)});
    const ChangeCosts costs{seconds(below(40)), seconds(below(120)), seconds(60 + below(3) * 60),
                            seconds(below(2) * 60), seconds(below(3))};
    const double most = most_steps(recording, rungs, costs);
    CHECK(most <= steps_of_free_changes(recording, rungs) + 1e-6);
    for (auto* make : {always_policy, never_policy, restart_all_policy}) {
      CHECK(steps_of(recording, rungs, costs, make(rungs)) <= most + 1e-6);
    }
    CHECK(steps_of(recording, rungs, costs, expected_gain_policy(recording, rungs, costs)) <=
          most + 1e-6);
  }
}

// What is counted by type of one type only is what is counted without types.
TEST_CASE("One type that is counted changes no replay") {
  for (const char* name : kRecordings) {
    for (const bool named : {true, false}) {
      CAPTURE(name);
      const Availability plain = named ? recording_called(name) : counts_of(recording_called(name));
      Availability typed = plain;
      typed.types = {"only"};
      for (AvailabilityChange& change : typed.changes) change.of_types = {change.gpus};
      const std::vector<Rung> rungs = linear_rungs(std::min(64, most_gpus(plain)), 4);
      std::vector<Rung> of_types = rungs;
      for (Rung& rung : of_types) rung.of_types = {rung.gpus};
      const ChangeCosts costs{seconds(20), seconds(50), seconds(300), seconds(30), seconds(1)};
      CHECK(most_steps(typed, of_types, costs) == most_steps(plain, rungs, costs));
      for (auto* make : {always_policy, never_policy, restart_all_policy}) {
        CHECK(steps_of(typed, of_types, costs, make(of_types)) ==
              steps_of(plain, rungs, costs, make(rungs)));
      }
      CHECK(
          steps_of(typed, of_types, costs, expected_gain_policy(typed, of_types, costs)) ==
          doctest::Approx(steps_of(plain, rungs, costs, expected_gain_policy(plain, rungs, costs)))
              .epsilon(1e-12));
    }
  }
}

}  // namespace
}  // namespace penstock
