#include "morphing/goodput.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "core/values/seconds.h"
#include "morphing/checkpoint_interval.h"
#include "tests/morphing/recordings.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using std::chrono::seconds;

// A (8 GPUs, 8 steps/s), B (7, 6.4), C (6, 6), D (4, 4); a change costs 60 s.
std::vector<Rung> four_rungs() {
  return {rung_of(4, 4.0), rung_of(6, 6.0), rung_of(7, 6.4), rung_of(8, 8.0)};
}

Availability six_intervals() {
  Availability recording;
  Duration at{};
  for (const auto& [gpus, length] : {std::pair{6, 600}, std::pair{8, 100}, std::pair{6, 1200},
                                     std::pair{8, 1200}, std::pair{7, 300}, std::pair{6, 1600}}) {
    recording.changes.push_back({at, gpus, {}, {}, {}, {}});
    at += seconds(length);
  }
  recording.end = at;
  return recording;
}

double steps_of(const Availability& recording, const std::vector<Rung>& rungs,
                const ChangeCosts& costs, std::unique_ptr<ChangePolicy> policy) {
  return replay_availability(recording, rungs, costs, *policy).steps;
}

TEST_CASE("Six intervals come out as worked out on paper") {
  const Availability recording = six_intervals();
  const ChangeCosts costs{{}, seconds(60), {}, {}};
  // Step times are whole nanoseconds, so speeds such as 6 are off by 1e-9.
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-7); };
  CHECK(steps_of_free_changes(recording, four_rungs()) == near(32'720));
  CHECK(most_steps(recording, four_rungs(), costs) == near(31'560));
  CHECK(steps_of(recording, four_rungs(), costs, always_policy(four_rungs())) == near(30'656));
  CHECK(steps_of(recording, four_rungs(), costs, never_policy(four_rungs())) == near(30'000));
}

// Knows how long the number of GPUs stays the same in the mean, t: to more from worth r1 to r2
// where t > C / ln(r2 / r1), from nothing at once; what fits where there are too few.
class MeanInterval final : public ChangePolicy {
 public:
  MeanInterval(const Availability& counts, std::vector<Rung> rungs, Duration change)
      : rungs_(std::move(rungs)),
        in_changes_(to_seconds(counts.end - counts.changes.front().at) /
                    static_cast<double>(counts.changes.size()) / to_seconds(change)) {}
  Decision decide(const Situation& situation) override {
    const auto best = fastest_rung(rungs_, situation.gpus);
    if (!best || !situation.running) return {best, false, std::nullopt};
    const double ratio =
        rungs_[*best].steps_per_second() / rungs_[*situation.running].steps_per_second();
    const bool pays = ratio > 1.0 && in_changes_ > 1.0 / std::log(ratio);
    return {pays ? best : situation.running, false, std::nullopt};
  }

 private:
  std::vector<Rung> rungs_;
  double in_changes_;  // t / C
};

int changes_of(const Goodput& goodput, const Availability& recording) {
  return static_cast<int>(std::count_if(
      goodput.starts.begin(), goodput.starts.end(),
      [&](const RungStart& start) { return start.at != recording.changes.front().at; }));
}

TEST_CASE("Published recordings with four GPUs a replica come out as worked out apart") {
  struct Row {
    const char* name;
    double free, restart, always;
    int changes;
    double rule;
    int changes_by_rule;
    double most;
  };
  for (const Row& row : {Row{"aws_p3_bamboo.nodes", 230'580, 60, 196'800, 93, 203'520, 48, 209'880},
                         Row{"aws_p3_bamboo.nodes", 230'580, 300, 107'460, 93, 114'360, 2, 178'980},
                         Row{"g4dn_oobleck.nodes", 109'560, 60, 103'380, 38, 103'380, 38, 103'920},
                         Row{"g4dn_oobleck.nodes", 109'560, 300, 82'440, 38, 69'180, 13, 89'880}}) {
    CAPTURE(row.name);
    CAPTURE(row.restart);
    const Availability recording = counts_of(recording_called(row.name));
    const std::vector<Rung> rungs = linear_rungs(32, 4);
    const ChangeCosts costs{{}, seconds(static_cast<int>(row.restart)), {}, {}};
    CHECK(steps_of_free_changes(recording, rungs) == doctest::Approx(row.free).epsilon(1e-6));
    CHECK(most_steps(recording, rungs, costs) == doctest::Approx(row.most).epsilon(1e-6));
    const auto policy = always_policy(rungs);
    const Goodput always = replay_availability(recording, rungs, costs, *policy);
    CHECK(always.steps == doctest::Approx(row.always).epsilon(1e-6));
    CHECK(changes_of(always, recording) == row.changes);
    MeanInterval rule(recording, rungs, costs.restart);
    const Goodput by_rule = replay_availability(recording, rungs, costs, rule);
    CHECK(by_rule.steps == doctest::Approx(row.rule).epsilon(1e-6));
    CHECK(changes_of(by_rule, recording) == row.changes_by_rule);
  }
}

// Tries every plan, with a checkpoint before it and without, and a wait at every change: as many as
// twice the rungs plus one to the power of the changes. 0 waits, odd numbers write a checkpoint.
class Scripted final : public ChangePolicy {
 public:
  explicit Scripted(std::vector<int> script) : script_(std::move(script)) {}
  Decision decide(const Situation& /*situation*/) override {
    const int choice = script_[next_++];
    if (choice == 0) return {};
    return {rung_of_choice(choice), is_restart(choice), std::nullopt};
  }

  static std::size_t rung_of_choice(int choice) { return static_cast<std::size_t>(choice - 1) / 2; }

 private:
  static bool is_restart(int choice) { return choice % 2 == 0; }

  std::vector<int> script_;
  std::size_t next_ = 0;
};

double most_of_all_scripts(const Availability& recording, const std::vector<Rung>& rungs,
                           const ChangeCosts& costs) {
  const std::size_t changes = recording.changes.size();
  std::vector<int> script(changes, 0);
  double most = 0.0;
  while (true) {
    bool can_run = true;
    for (std::size_t i = 0; i < changes; ++i) {
      const AvailabilityChange& there = recording.changes[i];
      can_run = can_run && (script[i] == 0 || fits(rungs[Scripted::rung_of_choice(script[i])],
                                                   there.gpus, there.of_types));
    }
    if (can_run) {
      Scripted policy(script);
      most = std::max(most, replay_availability(recording, rungs, costs, policy).steps);
    }
    std::size_t i = 0;
    while (i < changes && script[i] == 2 * static_cast<int>(rungs.size())) script[i++] = 0;
    if (i == changes) return most;
    ++script[i];
  }
}

TEST_CASE("Hindsight finds the best of all scripts where only the number of GPUs is known") {
  std::mt19937 random(1);
  for (int round = 0; round < testing::draws(40); ++round) {
    CAPTURE(round);
    const Availability recording = random_recording(random, 5, false);
    const std::vector<Rung> rungs = {rung_of(2, 2.0), rung_of(4, 3.5), rung_of(7, 5.0)};
    // Losses are announced; in a third of the rounds every step is in a checkpoint.
    const ChangeCosts costs{seconds(1 + random() % 20), seconds(random() % 90),
                            seconds(round % 3 * 25), seconds(30)};
    CHECK(most_steps(recording, rungs, costs) ==
          doctest::Approx(most_of_all_scripts(recording, rungs, costs)).epsilon(1e-9));
  }
}

// Two types of GPUs, of which up to four are there; no plan fits wherever another one does.
TEST_CASE("Hindsight finds the best of all scripts where device types are counted") {
  std::mt19937 random(3);
  std::vector<Rung> rungs = {rung_of(2, 1.0), rung_of(2, 2.0), rung_of(4, 3.5)};
  rungs[0].of_types = {0, 2};
  rungs[1].of_types = {2, 0};
  rungs[2].of_types = {2, 2};
  for (int round = 0; round < testing::draws(40); ++round) {
    CAPTURE(round);
    Availability recording = random_recording(random, 5, false);
    recording.types = {"fast", "slow"};
    for (AvailabilityChange& change : recording.changes) {
      change.of_types = {static_cast<int>(random() % 5), static_cast<int>(random() % 5)};
      change.gpus = change.of_types[0] + change.of_types[1];
    }
    const ChangeCosts costs{seconds(1 + random() % 20), seconds(random() % 90),
                            seconds(round % 3 * 25), seconds(30)};
    CHECK(most_steps(recording, rungs, costs) ==
          doctest::Approx(most_of_all_scripts(recording, rungs, costs)).epsilon(1e-9));
  }
}

// Every segment from every change, without a short cut: kept and saved, or what is left when its
// last steps are given up.
double most_of_all_segments(const Availability& recording, const std::vector<Rung>& rungs,
                            const ChangeCosts& costs) {
  std::vector<Duration> at;
  for (const AvailabilityChange& change : recording.changes) at.push_back(change.at);
  at.push_back(recording.end);
  std::vector<double> saved(at.size(), -1e18), stopped(at.size(), -1e18);
  stopped[0] = 0.0;
  std::vector<int> there;  // machines
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    stopped[i + 1] = std::max({stopped[i + 1], stopped[i], saved[i]});
    for (const int lost : recording.changes[i].lost) std::erase(there, lost);
    const std::vector<int>& added = recording.changes[i].added;
    there.insert(there.end(), added.begin(), added.end());
    int gpus = recording.changes[i].gpus;
    for (std::size_t j = i + 1; j < at.size(); ++j) {
      const auto rung = fastest_rung(rungs, gpus);
      if (!rung) break;
      const double speed = rungs[*rung].steps_per_second();
      for (const bool is_saved : {true, false}) {
        const Duration cost = is_saved ? costs.planned() : costs.restart;
        const Duration runs = std::max(Duration{}, at[j] - at[i] - (i == 0 ? Duration{} : cost));
        const double kept = (is_saved ? saved : stopped)[i] + speed * to_seconds(runs);
        saved[j] = std::max(saved[j], kept);
        const Duration unsaved = costs.every > Duration{} ? runs % costs.every : Duration{};
        stopped[j] = std::max(stopped[j], kept - speed * to_seconds(unsaved));
      }
      if (j + 1 == at.size()) break;
      if (!recording.names_machines()) gpus = std::min(gpus, recording.changes[j].gpus);
      for (const int lost : recording.changes[j].lost) {
        const bool was_there = std::ranges::find(there, lost) != there.end();
        if (was_there) gpus -= recording.machines[static_cast<std::size_t>(lost)].gpus;
      }
    }
  }
  return std::max(saved.back(), stopped.back());
}

TEST_CASE("Hindsight leaves out segments, and finds to the bit what all of them give") {
  std::mt19937 random(4);
  for (int round = 0; round < testing::draws(300); ++round) {
    CAPTURE(round);
    const Availability recording = random_recording(random, 60, round % 2 == 0);
    const std::vector<Rung> rungs = linear_rungs(8, 1 + round % 3);
    const ChangeCosts costs{
        seconds(random() % 40), seconds(random() % 120), seconds(random() % 3 * 25), {}};
    CHECK(most_steps(recording, rungs, costs) == most_of_all_segments(recording, rungs, costs));
  }
}

TEST_CASE("With named machines hindsight is an upper bound, since it also picks the machines") {
  std::mt19937 random(2);
  int equal = 0;
  for (int round = 0; round < testing::draws(40); ++round) {
    CAPTURE(round);
    const Availability recording = random_recording(random, 5, true);
    const std::vector<Rung> rungs = {rung_of(1, 1.0), rung_of(3, 2.7), rung_of(5, 4.0)};
    // Every second round without notice.
    const ChangeCosts costs{seconds(random() % 20), seconds(random() % 60), seconds(round % 3 * 25),
                            seconds(round % 2 * 30)};
    const double most = most_steps(recording, rungs, costs);
    const double scripts = most_of_all_scripts(recording, rungs, costs);
    CHECK(most >= scripts - 1e-6);
    equal += most <= scripts + 1e-6 ? 1 : 0;
  }
  CHECK(equal >= testing::least(10));  // and not a loose one
}

TEST_CASE("A loss that nobody announced takes the work since the last checkpoint") {
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}}, {seconds(1000), 3, {}, {}, {}, {}}};
  recording.end = seconds(2000);
  const std::vector<Rung> rungs = {rung_of(2, 1.0), rung_of(4, 2.0)};
  // Checkpoints after 300, 600 and 900 s: 100 s at two steps a second are lost.
  const ChangeCosts silent{seconds(10), seconds(50), seconds(300), {}};
  const auto policy = always_policy(rungs);
  const Goodput lost = replay_availability(recording, rungs, silent, *policy);
  CHECK(lost.lost_steps == doctest::Approx(200));
  CHECK(lost.steps == doctest::Approx(1800 + 950));
  CHECK(lost.changes == 1);
  CHECK(lost.restarting == seconds(50));
  // Announced in time, the checkpoint is written first and nothing is lost.
  ChangeCosts announced = silent;
  announced.notice = seconds(30);
  const auto again = always_policy(rungs);
  const Goodput kept = replay_availability(recording, rungs, announced, *again);
  CHECK(kept.lost_steps == 0.0);
  CHECK(kept.steps == doctest::Approx(2000 + 940));
  // The recording's own notice counts more than the assumed one.
  recording.changes[1].notice = seconds(5);
  const auto third = always_policy(rungs);
  CHECK(replay_availability(recording, rungs, announced, *third).lost_steps ==
        doctest::Approx(200));
}

TEST_CASE("A checkpoint in the background stops the job for its stall") {
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}}, {seconds(980), 3, {}, {}, {}, {}}};
  recording.end = seconds(980 + 50 + 310);
  const std::vector<Rung> rungs = {rung_of(2, 1.0), rung_of(4, 2.0)};
  // 300 s of work, 10 s of standing still. Of 980 s on four GPUs three rounds are kept, 900 s of
  // work; of the fourth, 50 s at 300 / 310 of two steps a second are lost. Then one round on two.
  const ChangeCosts costs{seconds(10), seconds(50), seconds(300), {}, seconds(10)};
  const auto policy = always_policy(rungs);
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  CHECK(goodput.lost_steps == doctest::Approx(50 * 2.0 * 300 / 310));
  CHECK(goodput.steps == doctest::Approx(900 * 2.0 + 300));
  // Hindsight needs none in the background: it writes one when the loss comes.
  CHECK(most_steps(recording, rungs, costs) == doctest::Approx(980 * 2.0 + 300));
}

TEST_CASE("A plan that has made no step has nothing to write") {
  // Four GPUs for 100 s, then two, and 20 s later three: the first loss costs 10 + 50 s, the change
  // during that restart 50 s more, without a checkpoint.
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}},
                       {seconds(100), 2, {}, {}, {}, {}},
                       {seconds(120), 3, {}, {}, {}, {}}};
  recording.end = seconds(1000);
  const std::vector<Rung> rungs = {rung_of(2, 2.0), rung_of(3, 3.0), rung_of(4, 4.0)};
  const ChangeCosts costs{seconds(10), seconds(50), {}, seconds(30)};
  const auto policy = always_policy(rungs);
  const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
  CHECK(goodput.restarting == seconds(20 + 50));
  CHECK(goodput.steps == doctest::Approx(100 * 4.0 + 830 * 3.0));
  // After 5 s the checkpoint is half written: the rest of it, then the restart.
  recording.changes[2].at = seconds(105);
  const auto other = always_policy(rungs);
  const Goodput early = replay_availability(recording, rungs, costs, *other);
  CHECK(early.restarting == seconds(5 + 5 + 50));
  CHECK(early.steps == doctest::Approx(100 * 4.0 + 840 * 3.0));
}

TEST_CASE("Restarting all loses what is not in a checkpoint at every arrival") {
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}}, {seconds(450), 5, {}, {}, {}, {}}};
  recording.end = seconds(1000);
  const std::vector<Rung> rungs = {rung_of(4, 2.0)};
  const auto policy = restart_all_policy(rungs);
  const Goodput goodput = replay_availability(
      recording, rungs, {seconds(10), seconds(50), seconds(400), seconds(120)}, *policy);
  CHECK(goodput.lost_steps == doctest::Approx(100));
  CHECK(goodput.steps == doctest::Approx(800 + 1000));
}

TEST_CASE("Hindsight writes no checkpoint before a change where one was just written") {
  // 610 s on 4 GPUs, then 1,390 s on 8. With a checkpoint of 100 s before the change: 610 + 2 x
  // (1,390 - 150) = 3,090 steps. Without: 10 steps are done again, 600 + 2 x (1,390 - 50) = 3,280.
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}}, {seconds(610), 8, {}, {}, {}, {}}};
  recording.end = seconds(2000);
  const std::vector<Rung> rungs = {rung_of(4, 1.0), rung_of(8, 2.0)};
  const ChangeCosts costs{seconds(100), seconds(50), seconds(300), seconds(120)};
  CHECK(steps_of(recording, rungs, costs, always_policy(rungs)) == doctest::Approx(3090));
  CHECK(steps_of(recording, rungs, costs, restart_all_policy(rungs)) == doctest::Approx(3280));
  CHECK(most_steps(recording, rungs, costs) == doctest::Approx(3280));
}

TEST_CASE("No policy keeps more than hindsight, on any recording and with any costs") {
  for (const char* name : kRecordings) {
    const Availability recording = recording_called(name);
    const std::vector<Rung> rungs = linear_rungs(32, 4);
    for (const int change : {3, 30, 300, 3000}) {
      CAPTURE(name);
      CAPTURE(change);
      for (const int notice : {0, 4000}) {
        const ChangeCosts costs{seconds(change), seconds(change), seconds(change * 7),
                                seconds(notice)};
        const double most = most_steps(recording, rungs, costs) * (1.0 + 1e-9);
        CHECK(steps_of(recording, rungs, costs, always_policy(rungs)) <= most);
        CHECK(steps_of(recording, rungs, costs, never_policy(rungs)) <= most);
        CHECK(steps_of(recording, rungs, costs, restart_all_policy(rungs)) <= most);
        CHECK(steps_of(recording, rungs, costs, expected_gain_policy(recording, rungs, costs)) <=
              most);
      }
    }
  }
}

TEST_CASE("GPU hours and dollars follow the recording's own prices where it has them") {
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}}, {seconds(3600), 2, {}, {}, {}, 3.0}};
  recording.end = seconds(7200);
  CHECK(gpu_hours(recording) == doctest::Approx(6.0));
  CHECK(usd_paid(recording, 2.0) == doctest::Approx(4 * 2.0 + 2 * 3.0));
}

TEST_CASE("Daly's interval is that of his paper's formula") {
  // d 30 s, M 10,800 s: 785.1 s; Young's first order would be 805.0.
  const Duration best = checkpoint_interval(seconds(30), seconds(10'800));
  CHECK(static_cast<double>(best.count()) * 1e-9 == doctest::Approx(785.1).epsilon(1e-4));
  CHECK(checkpoint_interval(seconds(100), seconds(40)) == seconds(100));
  CHECK(checkpoint_interval(seconds(100), seconds(50)) == seconds(100));
}

// The same for a stall of 30 s, but for a checkpoint that takes longer to write than that.
TEST_CASE("In the background a checkpoint costs its stall, and the next waits for it") {
  CHECK(background_interval(seconds(30), seconds(60), seconds(10'800)) ==
        checkpoint_interval(seconds(30), seconds(10'800)));
  CHECK(background_interval(seconds(30), seconds(900), seconds(10'800)) == seconds(900));
  CHECK(background_interval(Duration{}, seconds(60), seconds(10'800)) == seconds(60));
}

// Of two losses within 8,000 s one is announced 100 s before, which is enough for 60 s, the other
// by the 30 s of all that say nothing, which is not; one more is taken to come at the end.
TEST_CASE("Only losses that nobody announced in time count for the interval") {
  Availability recording;
  recording.changes = {{seconds(1000), 4, {}, {}, {}, {}},
                       {seconds(2000), 3, {}, {}, seconds(100), {}},
                       {seconds(3000), 2, {}, {}, {}, {}},
                       {seconds(4000), 3, {}, {}, {}, {}}};
  recording.end = seconds(9000);
  CHECK(mean_between_silent_losses(recording, seconds(30), seconds(60)) == seconds(4000));
  CHECK(mean_between_silent_losses(recording, seconds(60), seconds(60)) == seconds(8000));
}

TEST_CASE("Rungs that are no faster with more GPUs are left out") {
  const std::vector<Rung> rungs = useful_rungs({{8, seconds(3)}, {2, seconds(9)}, {4, seconds(3)}});
  CHECK(rungs == std::vector<Rung>{{2, seconds(9)}, {4, seconds(3)}});
  CHECK(fastest_rung(rungs, 1) == std::nullopt);
  CHECK(fastest_rung(rungs, 3) == 0);
  CHECK(fastest_rung(rungs, 100) == 1);
}

}  // namespace
}  // namespace penstock
