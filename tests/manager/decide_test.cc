#include "manager/decide.h"

#include <doctest/doctest.h>

#include "tests/manager/jobs.h"

namespace penstock::test {
namespace {

TEST_CASE("the first machine that suffices starts the job at once, with a rank per GPU") {
  Told job;
  job(seconds(1), MachineJoined{"a", 2});
  const std::vector<StartRanks> starts = job.acts<StartRanks>();
  REQUIRE(starts.size() == 1);
  CHECK(starts[0].generation == 1);
  CHECK(starts[0].page == 2);
  REQUIRE(starts[0].ranks.size() == 2);
  CHECK(starts[0].ranks[1].machine == "a");
  CHECK(starts[0].ranks[1].local_rank == 1);
  // A checkpoint every 20 s, and a step of 2 s: every 10 steps.
  CHECK(starts[0].checkpoint_every == 10);
  CHECK(job.state.phase == JobPhase::kStarting);
  REQUIRE(job.last.log.size() == 2);
  CHECK(job.last.log[1].reason == "Generation 1 runs the plan for 2 GPUs on a, from step 0.");
}

TEST_CASE("machines that were seen together are there before ranks are started") {
  const JobRules rules = rules_of_test();
  const JobState first = first_state(rules, "token", at(seconds(0)));
  JobDecision decision = decide(rules, first, MachineJoined{"a", 1}, at(seconds(1)), true);
  CHECK(decision.acts.empty());
  CHECK(decision.next.phase == JobPhase::kWaiting);
  decision = decide(rules, decision.next, MachineJoined{"b", 1}, at(seconds(1)), false);
  REQUIRE(decision.acts.size() == 1);
  CHECK(std::get<StartRanks>(decision.acts[0]).ranks.size() == 2);
}

TEST_CASE("where no plan fits the job waits and says what is missing") {
  JobRules rules = rules_of_test();
  rules.pages.erase(rules.pages.begin());
  Told job(rules);
  job(seconds(1), MachineJoined{"a", 1});
  CHECK(job.last.acts.empty());
  CHECK(job.state.phase == JobPhase::kWaiting);
  CHECK(job.state.why == "the smallest plan of the book needs 2 GPUs, and there is 1");
}

// A step takes 2 s, a checkpoint 3 s: 1.5 x 5 s + 2 s = 9.5 s before the machine goes.
TEST_CASE("a notice far ahead lets the job work until there is just time for a checkpoint") {
  Told job;
  job.run_on({{"a", 1}, {"b", 1}});
  job(seconds(5), TimePassed{});
  // On both of them by now, whichever way it got there.
  job(seconds(6), RanksReady{job.state.generation.number});
  if (job.state.phase == JobPhase::kStopping) {
    job.all_end(seconds(7), 4);
    job(seconds(8), RanksReady{job.state.generation.number});
  }
  job(seconds(9), CommandGiven{"1", CommandKind::kMorph, "test"});
  job.all_end(seconds(9), 4);
  REQUIRE(job.state.generation.ranks.size() == 2);
  job(seconds(10), RanksReady{job.state.generation.number});
  job(seconds(12), StepFinished{job.state.generation.number, 1, 0.5, seconds(2)});
  job(seconds(13), MachineLeaves{"b", at(seconds(40)), "AWS"});
  CHECK(job.last.acts.empty());
  REQUIRE(job.last.wake);
  CHECK(*job.last.wake <= at(milliseconds(30'500)));
  job(milliseconds(30'499), TimePassed{});
  CHECK(job.last.acts.empty());
  job(milliseconds(30'500), TimePassed{});
  CHECK(job.told(ProcessSignal::kCheckpointAndExit));
  REQUIRE(job.state.stopping);
  CHECK(job.state.stopping->kill_at == at(seconds(40)));
  job(seconds(33), CheckpointWritten{job.state.generation.number, 10, seconds(3)});
  const std::int64_t before = job.state.generation.number;
  job.all_end(seconds(34), 4);
  CHECK(job.state.generation.number == before + 1);
  REQUIRE(job.state.generation.ranks.size() == 1);
  CHECK(job.state.generation.ranks[0].machine == "a");
  CHECK(job.state.failures == 0);
}

TEST_CASE("a spare machine that leaves changes nothing, and may be taken at once") {
  Told job;
  job.run_on({{"a", 4}, {"b", 1}});
  job(seconds(10), RanksReady{1});
  job(seconds(11), MachineLeaves{"b", at(seconds(20)), ""});
  CHECK(job.acts<SignalRanks>().empty());
  CHECK(job.acts<ReleaseMachine>() == std::vector{ReleaseMachine{"b"}});
  job(seconds(21), TimePassed{});
  CHECK(job.state.machines.size() == 1);
  CHECK(job.state.phase == JobPhase::kRunning);
}

TEST_CASE("a machine that joins again is no longer about to go") {
  for (const int gpus : {2, 4}) {  // as many as before, or more
    Told job;
    job.run_on({{"a", 2}});
    job(seconds(10), RanksReady{1});
    job(seconds(11), MachineLeaves{"a", at(seconds(300)), ""});
    REQUIRE(job.state.machines.at(0).gone_by.has_value());
    job(seconds(12), MachineJoined{"a", gpus});
    CHECK_FALSE(job.state.machines.at(0).gone_by.has_value());
    CHECK(job.state.machines.at(0).gpus == gpus);
    CHECK(job.last.log.at(0).reason == "Its notice is withdrawn: the job may use it again.");
  }
}

TEST_CASE("a withdrawn notice is as if it had never been") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(10), RanksReady{1});
  job(seconds(11), MachineLeaves{"a", at(seconds(300)), ""});
  job(seconds(12), NoticeWithdrawn{"a"});
  job(seconds(299), StepFinished{1, 200, 0.5, seconds(1)});
  CHECK(job.last.acts.empty());
  CHECK(job.state.phase == JobPhase::kRunning);
}

TEST_CASE("a deadline that has passed is acted on at once, and ranks get the time to exit") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(10), RanksReady{1});
  job(seconds(11), MachineLeaves{"a", at(seconds(-50)), "late"});
  CHECK(job.told(ProcessSignal::kCheckpointAndExit));
  CHECK(job.state.stopping->kill_at == at(seconds(31)));
}

TEST_CASE("a rank that dies ends its generation, and the next starts from the newest checkpoint") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(10), RanksReady{1});
  job(seconds(12), StepFinished{1, 7, 0.5, seconds(1)});
  job(seconds(13), CheckpointWritten{1, 7, std::nullopt});
  job(seconds(14), StepFinished{1, 9, 0.4, seconds(1)});
  job(seconds(15), RankEnded{1, 2, std::nullopt, 9, ""});
  CHECK(job.state.phase == JobPhase::kStopping);
  CHECK(job.acts<StartRanks>().empty());
  job(seconds(16), RankEnded{1, 0, 3, 0, ""});
  job(seconds(16), RankEnded{1, 1, 3, 0, ""});
  CHECK(job.acts<StartRanks>().empty());
  // The last one hangs: killed after the 20 s that ranks get.
  job(seconds(34), TimePassed{});
  CHECK(job.last.acts.empty());
  job(seconds(35), TimePassed{});
  CHECK(job.told(ProcessSignal::kKill));
  job(seconds(36), RankEnded{1, 3, std::nullopt, 9, ""});
  REQUIRE(job.acts<StartRanks>().size() == 1);
  CHECK(job.acts<StartRanks>()[0].generation == 2);
  job(seconds(46), RanksReady{2});
  job(seconds(47), StepFinished{2, 8, 0.5, seconds(1)});
  CHECK(job.state.lost_steps == 2);  // steps 8 and 9
}

// Rank 3 hangs, the others end at 16 s at the latest: 2 s later it is killed, and not at 35 s.
TEST_CASE("a rank that hangs is not waited for once all finished steps are in a checkpoint") {
  for (const bool one_more : {false, true}) {
    CAPTURE(one_more);
    Told job;
    job.run_on({{"a", 4}});
    job(seconds(10), RanksReady{1});
    job(seconds(14), StepFinished{1, 9, 0.4, seconds(1)});
    job(seconds(15), RankEnded{1, 0, 3, 0, "rank 3 was lost"});
    job(seconds(15), CheckpointWritten{1, 9, std::nullopt});
    job(seconds(16), RankEnded{1, 1, 3, 0, ""});
    job(seconds(16), RankEnded{1, 2, 3, 0, ""});
    REQUIRE(job.last.wake);
    CHECK(*job.last.wake == at(seconds(18)));
    // A line of the log that came late: a step is not kept yet.
    if (one_more) job(seconds(17), StepFinished{1, 10, 0.4, seconds(1)});
    job(seconds(18), TimePassed{});
    CHECK(job.told(ProcessSignal::kKill) == !one_more);
    if (!one_more) continue;
    job(seconds(19), CheckpointWritten{1, 10, std::nullopt});
    job(seconds(21), TimePassed{});
    CHECK(job.told(ProcessSignal::kKill));
  }
}

TEST_CASE("failures without a new checkpoint make pauses, and the third in a row is the last") {
  Told job;
  job.run_on({{"a", 4}});
  job.all_end(seconds(11), 3);
  CHECK(job.state.generation.number == 2);
  job.all_end(seconds(21), 3);
  CHECK(job.state.phase == JobPhase::kWaiting);
  CHECK(job.state.pause_until == at(seconds(26)));
  job(seconds(26), TimePassed{});
  CHECK(job.state.generation.number == 3);
  job.all_end(seconds(31), 3);
  CHECK(job.state.phase == JobPhase::kFailed);
  CHECK(job.state.why ==
        "3 failures without a new checkpoint after step 0; the last: rank 0 of generation 3 ended "
        "with exit code 3");
}

TEST_CASE("a checkpoint between failures begins the count anew") {
  Told job;
  job.run_on({{"a", 4}});
  for (int i = 1; i < 10; ++i) {
    job(seconds(20 * i), RanksReady{i});
    job(seconds(20 * i + 1), CheckpointWritten{i, i, std::nullopt});
    job.all_end(seconds(20 * i + 2), 3);
    CHECK(job.state.generation.number == i + 1);
  }
}

TEST_CASE("bad input is not tried again") {
  Told job;
  job.run_on({{"a", 2}});
  job(seconds(5), RankEnded{1, 0, 2, 0, "corpus.txt: there is no such file"});
  CHECK(job.told(ProcessSignal::kKill));
  job(seconds(6), RankEnded{1, 1, std::nullopt, 9, ""});
  CHECK(job.state.phase == JobPhase::kFailed);
  CHECK(job.state.why.find("there is no such file") != std::string::npos);
}

TEST_CASE("the job is finished when all ranks have exited with 0") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(10), RanksReady{1});
  job(seconds(110), CheckpointWritten{1, 100, std::nullopt});
  job.all_end(seconds(111), 0);
  CHECK(job.state.phase == JobPhase::kFinished);
  CHECK(!job.last.wake);
  job(seconds(112), MachineJoined{"b", 4});
  CHECK(job.last.acts.empty());
}

// With one GPU 100 steps take 400 s more than on four, a change takes 13 s.
TEST_CASE("machines that join are used when that pays, and not just before the end") {
  Told job;
  job.run_on({{"a", 1}});
  job(seconds(10), RanksReady{1});
  job(seconds(11), MachineJoined{"b", 4});
  Duration when = seconds(11);
  while (job.state.phase == JobPhase::kRunning && when < seconds(400)) {
    when += seconds(1);
    if (when.count() % seconds(4).count() == 0) {
      job(when, StepFinished{1, job.state.last_step + 1, 0.5, seconds(4)});
    } else {
      job(when, TimePassed{});
    }
  }
  CHECK(job.state.phase == JobPhase::kStopping);
  // Waiting costs 3/4 of a second each second: 13 s / (3/4) = 17.3 s after it joined, at the
  // latest.
  CHECK(when <= seconds(29));

  Told late;
  late.run_on({{"a", 1}});
  late(seconds(10), RanksReady{1});
  late(seconds(394), StepFinished{1, 96, 0.5, seconds(4)});
  late(seconds(395), MachineJoined{"b", 4});
  // 4 steps: 16 s against 13 s + 4 s.
  for (Duration now = seconds(396); now < seconds(420); now += seconds(1)) {
    late(now, TimePassed{});
    CHECK(late.state.phase == JobPhase::kRunning);
  }
}

TEST_CASE("a slow machine is left out where a plan without it is faster") {
  Told job;
  job.run_on({{"a", 2}, {"b", 2}, {"c", 2}});
  // Started on a alone; asked to grow to two of them.
  job(seconds(10), RanksReady{1});
  if (job.state.phase == JobPhase::kRunning) {
    job(seconds(11), CommandGiven{"1", CommandKind::kMorph, "test"});
  }
  job.all_end(seconds(12), 4);
  REQUIRE(job.state.generation.ranks.size() == 4);
  job(seconds(22), RanksReady{job.state.generation.number});
  job(seconds(23), MachineSlow{"b", 1.5});
  CHECK(job.told(ProcessSignal::kCheckpointAndExit));
  job.all_end(seconds(26), 4);
  REQUIRE(job.state.generation.ranks.size() == 4);
  for (const PlacedRank& rank : job.state.generation.ranks) CHECK(rank.machine != "b");
}

// Four GPUs of two machines, by a command, since it does not pay at once.
void run_on_four(Told& job) {
  job.run_on({{"a", 2}, {"b", 2}});
  job(seconds(10), RanksReady{1});
  if (job.state.phase == JobPhase::kRunning) {
    job(seconds(11), CommandGiven{"1", CommandKind::kMorph, "test"});
  }
  job.all_end(seconds(12), 4);
  REQUIRE(job.state.generation.ranks.size() == 4);
  job(seconds(22), RanksReady{job.state.generation.number});
}

JobRules rules_with_advice() {
  JobRules rules = rules_of_test();
  rules.advised = true;
  return rules;
}

TEST_CASE("what to do about a slow machine is decided when the simulation has said what it costs") {
  Told job(rules_with_advice());
  run_on_four(job);
  const std::int64_t generation = job.state.generation.number;
  job(seconds(23), MachineSlow{"b", 1.5});
  CHECK(job.last.acts.empty());
  REQUIRE(job.last.log.size() == 1);
  CHECK(job.last.log[0].decision == "simulate");
  // 1.4 s as it runs; two GPUs alone take 2 s; other cuts 1.25 s: 100 steps gain 15 s, a change
  // costs 3 s + 10 s.
  const PlanPage other{kFirstFoundPage + 1, 4, milliseconds(1250)};
  job(seconds(24), SlowAdvised{generation, milliseconds(1400), other, "sections 3|5"});
  CHECK(job.told(ProcessSignal::kCheckpointAndExit));
  const std::vector<PlacedRank> before = job.state.generation.ranks;
  job.all_end(seconds(26), 4);
  REQUIRE(job.acts<StartRanks>().size() == 1);
  CHECK(job.acts<StartRanks>()[0].page == other.page);
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(job.state.generation.ranks[i].machine == before[i].machine);
    CHECK(job.state.generation.ranks[i].local_rank == before[i].local_rank);
  }
  job(seconds(36), RanksReady{job.state.generation.number});
  // The plan for it is not worth a look while it is as slow as before, nor is the book's.
  CHECK(job.state.phase == JobPhase::kRunning);
  // Well again: the book's plan takes 1 s, and 100 steps gain 25 s.
  job(seconds(37), MachineSlow{"b", 1.0});
  CHECK(job.told(ProcessSignal::kCheckpointAndExit));
  job.all_end(seconds(39), 4);
  CHECK(job.acts<StartRanks>().at(0).page == 4);
}

TEST_CASE("a slow machine that costs little is kept") {
  Told job(rules_with_advice());
  run_on_four(job);
  job(seconds(23), MachineSlow{"b", 1.5});
  job(seconds(24), SlowAdvised{job.state.generation.number, milliseconds(1050), std::nullopt, ""});
  CHECK(job.last.acts.empty());
  REQUIRE(!job.last.log.empty());
  CHECK(job.last.log[0].decision == "keep");
  // Of another generation it says nothing.
  job(seconds(25), SlowAdvised{job.state.generation.number - 1, seconds(9), std::nullopt, ""});
  CHECK(job.last.log.empty());
}

// Of machine b nothing is heard any more: its two ranks are told to end, at 40 s to be killed, and
// 20 s later they count as ended, since the machine should have gone.
TEST_CASE("a job does not wait for ranks on a machine that has gone without a word") {
  Told job;
  run_on_four(job);
  const std::int64_t before = job.state.generation.number;
  job(seconds(30), MachineLeaves{"b", at(seconds(40)), "test"});
  for (const int second : {31, 33, 35, 37, 39}) job(seconds(second), TimePassed{});
  REQUIRE(job.state.phase == JobPhase::kStopping);
  const Generation generation = job.state.generation;
  for (const PlacedRank& rank : generation.ranks) {
    if (rank.machine == "a") job(seconds(39), RankEnded{before, rank.rank, 4, 0, ""});
  }
  job(seconds(40), TimePassed{});
  CHECK(job.told(ProcessSignal::kKill));
  CHECK(job.state.generation.number == before);
  job(seconds(60), TimePassed{});
  CHECK(job.state.generation.number == before + 1);
  REQUIRE(job.state.generation.ranks.size() == 2);
  for (const PlacedRank& rank : job.state.generation.ranks) CHECK(rank.machine == "a");
}

// Of 10,000 steps at 1.3 s, either plan would gain far more than the 13 s that a change costs; but
// what a simulation foresees to be 4 % faster may be slower: 1.1 x 1.25 s are more than 1.3 s, 1.1
// x 1.18 s are less.
TEST_CASE("a slow machine is not left for a plan that is faster by less than a tenth") {
  for (const int step : {1250, 1180}) {
    CAPTURE(step);
    JobRules rules = rules_with_advice();
    rules.job.steps = 10'000;
    Told job(rules);
    run_on_four(job);
    job(seconds(23), MachineSlow{"b", 1.5});
    const PlanPage other{kFirstFoundPage + 1, 4, milliseconds(step)};
    job(seconds(24), SlowAdvised{job.state.generation.number, milliseconds(1300), other, "3|5"});
    CHECK(job.told(ProcessSignal::kCheckpointAndExit) == (step == 1180));
  }
}

TEST_CASE("a plan made for slow ranks is not started on machines that are not as they were") {
  Told job(rules_with_advice());
  run_on_four(job);
  job(seconds(23), MachineSlow{"b", 1.5});
  const PlanPage other{kFirstFoundPage + 1, 4, milliseconds(1250)};
  job(seconds(24), SlowAdvised{job.state.generation.number, milliseconds(1400), other, "cuts"});
  job(seconds(25), MachineLost{"a", "test"});
  job(seconds(25), MachineJoined{"c", 2});
  job.all_end(seconds(26), 4);
  REQUIRE(job.acts<StartRanks>().size() == 1);
  CHECK(job.acts<StartRanks>()[0].page < kFirstFoundPage);
}

TEST_CASE("a plan that a search has found is used as if the book had it") {
  Told job;
  job.run_on({{"a", 3}});
  REQUIRE(job.state.generation.ranks.size() == 2);
  job(seconds(10), RanksReady{1});
  // 2 s a step on two GPUs; on three 1.2 s: 100 steps gain 80 s.
  job(seconds(11), PlanFound{{kFirstFoundPage + 1, 3, milliseconds(1200)}});
  for (Duration when = seconds(12); job.state.phase == JobPhase::kRunning && when < seconds(100);
       when += seconds(1)) {
    job(when, TimePassed{});
  }
  CHECK(job.state.phase == JobPhase::kStopping);
  job.all_end(seconds(101), 4);
  REQUIRE(job.acts<StartRanks>().size() == 1);
  CHECK(job.acts<StartRanks>()[0].page == kFirstFoundPage + 1);
  CHECK(job.state.generation.ranks.size() == 3);
}

// "measure" lines of the log, as they were decided.
std::string measured(const JobDecision& decision) {
  for (const LogEntry& entry : decision.log) {
    if (entry.decision == "measure") return entry.reason;
  }
  return "";
}

// But for what is rounded.
bool is_near(std::optional<Duration> one, Duration other) {
  return one && *one - other < milliseconds(1) && other - *one < milliseconds(1);
}

TEST_CASE("the time until the next first step is predicted from what ends and starts have taken") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});  // started in 10 s, without its step
  job(seconds(20), RankEnded{1, 2, std::nullopt, 9, ""});
  REQUIRE(job.state.expected);
  // 3 s until the others know who is lost, until it is measured.
  CHECK(job.state.expected->time == seconds(3 + 11));
  job.all_end(seconds(22), 3);
  job(seconds(33), StepFinished{2, 1, 0.5, seconds(1)});
  CHECK(measured(job.last).find("13 s after") != std::string::npos);
  CHECK(measured(job.last).find("14 s were expected") != std::string::npos);
  CHECK(measured(job.last).find("it was 2 s (3 s expected), from there on 11 s (11 s)") !=
        std::string::npos);
  CHECK(!job.state.expected);
  job(seconds(34), CheckpointWritten{2, 2, seconds(3)});
  // 2 s until they end, 10 s to start, 1 s for the step.
  job(seconds(40), RankEnded{2, 0, std::nullopt, 9, ""});
  CHECK(job.state.expected->time == seconds(13));
  job.all_end(seconds(42), 3);
  // Told to end: the step of 1 s and a checkpoint of 3 s, until that is measured.
  job(seconds(52), StepFinished{3, 3, 0.5, seconds(1)});
  job(seconds(53), MachineJoined{"b", 4});
  job(seconds(54), MachineLeaves{"a", at(seconds(55)), "test"});
  REQUIRE(job.state.expected);
  CHECK(job.state.expected->end == seconds(4));
  // The last start of four ranks has taken 9 s without its step.
  CHECK(is_near(job.state.expected->time, seconds(4 + 9 + 1)));
}

TEST_CASE("of a change that an older manager began, only the whole time was expected") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(20), RankEnded{1, 2, std::nullopt, 9, ""});
  job.state.expected->end.reset();
  const Json json = write_job_state(job.state);
  CHECK(to_text(json).find("end_ns") == std::string::npos);
  CHECK(read_job_state(json, "state") == job.state);
  job.all_end(seconds(22), 3);
  job(seconds(33), StepFinished{2, 1, 0.5, seconds(1)});
  CHECK(measured(job.last).ends_with("14 s were expected."));
}

// Starts of four ranks take 10 s, of two 6 s; each way to end has taken its own time before.
TEST_CASE("each way to end, and each number of ranks that start, has a time of its own") {
  Told job;
  const auto expected = [&] { return job.state.expected->time; };
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  // A rank is killed, the others need 4 s to notice and save.
  job(seconds(20), RankEnded{1, 2, std::nullopt, 9, ""});
  job.all_end(seconds(24), 3);
  job(seconds(35), StepFinished{2, 2, 0.5, seconds(1)});
  job(seconds(35), CheckpointWritten{2, 2, std::nullopt});
  // One hangs: the first that is seen to end has ended by itself. It takes 7 s in all; 2.5 s are
  // assumed, and 1 s more, since the only way that was met took so much more than its 3 s.
  job(seconds(40), RankEnded{2, 0, 3, 0, ""});
  CHECK(expected() == milliseconds(3500) + seconds(11));
  job.all_end(seconds(47), 3);
  // The third does not come to its first step, and all end within 1 s, which is the lesser of 1 s
  // and 4.5 s by which the ways that were met took longer than assumed.
  job(seconds(50), RankEnded{3, 0, 3, 0, "damaged"});
  CHECK(expected() == seconds(1 + 11));
  job(seconds(51), CheckpointWritten{3, 3, std::nullopt});
  job.all_end(seconds(51), 3);
  job(seconds(62), StepFinished{4, 4, 0.5, seconds(1)});
  job(seconds(70), RankEnded{4, 2, std::nullopt, 9, ""});
  CHECK(expected() == seconds(4 + 11));
  job(seconds(71), CheckpointWritten{4, 4, std::nullopt});
  job.all_end(seconds(74), 3);
  job(seconds(85), StepFinished{5, 5, 0.5, seconds(1)});
  job(seconds(86), RankEnded{5, 0, 3, 0, ""});
  CHECK(expected() == seconds(7 + 11));
  job(seconds(87), CheckpointWritten{5, 5, std::nullopt});
  job.all_end(seconds(93), 3);
  job(seconds(94), RankEnded{6, 0, 3, 0, "damaged"});
  CHECK(expected() == seconds(1 + 11));
  job(seconds(94), CheckpointWritten{6, 6, std::nullopt});
  job.all_end(seconds(95), 3);
  // Two ranks: as four, until it is known that they start in 6 s. A step takes 2 s.
  job(seconds(106), StepFinished{7, 7, 0.5, seconds(1)});
  job(seconds(107), MachineJoined{"b", 2});
  job(seconds(108), MachineLost{"a", "test"});
  CHECK(expected() == seconds(10 + 2));
  job(seconds(116), StepFinished{8, 8, 0.5, seconds(2)});
  job(seconds(120), RankEnded{8, 0, std::nullopt, 9, ""});
  CHECK(is_near(expected(), seconds(4 + 6 + 2)));
  CHECK(read_job_state(write_job_state(job.state), "state") == job.state);
}

// Four ranks were started in 16 s and then in 81 s, 81 / 16 times as long, of which other work on
// the machines is expected to stay with the power 0.75: two ranks, which never started, take 54 s.
TEST_CASE("a start is expected to suffer from what slowed the last ones, of as many ranks or not") {
  Told job;
  job.state.change_times.starts = {{4, seconds(16)}};
  job.run_on({{"a", 4}});
  job(seconds(82), StepFinished{1, 1, 0.5, seconds(1)});
  CHECK(job.state.change_times.starts ==
        std::vector<MeasuredStart>{{4, seconds(16)}, {4, seconds(81)}});
  job(seconds(83), MachineJoined{"b", 2});
  job(seconds(84), MachineLost{"a", "test"});
  REQUIRE(job.state.expected);
  CHECK(is_near(job.state.expected->time, seconds(54 + 2)));
  CHECK(read_job_state(write_job_state(job.state), "state") == job.state);
}

TEST_CASE("of a clock that was put back no start is learnt") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(1), StepFinished{1, 1, 0.5, seconds(1)});
  CHECK(job.state.change_times.starts.empty());
}

TEST_CASE("a state with starts in the form of earlier managers can be read; they are forgotten") {
  Told job;
  job.run_on({{"a", 4}});
  Json json = write_job_state(job.state);
  json.set("starts", Json::array()).set("loads", Json::array());
  CHECK(read_job_state(json, "state") == job.state);
}

TEST_CASE("the last sixteen starts are remembered") {
  Told job;
  job.state.change_times.starts.assign(16, {1, seconds(1)});
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  CHECK(job.state.change_times.starts.size() == MeasuredStart::kRemembered);
  CHECK(job.state.change_times.starts.back() == MeasuredStart{4, seconds(10)});
}

// The ranks write checkpoints when they please.
JobRules without_interval() {
  JobRules rules = rules_of_test();
  rules.job.checkpoint_every.reset();
  return rules;
}

// 20 s pass between checkpoints, then 30 s: (20 20 + 30 30) / 50 = 26 s. What ranks write when they
// are told to end is not counted.
TEST_CASE("the interval that ranks keep between checkpoints is seen") {
  Told job(without_interval());
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(20), CheckpointWritten{1, 10, seconds(3)});
  CHECK(!job.state.kept_interval());
  job(seconds(40), CheckpointWritten{1, 30, seconds(3)});
  job(seconds(70), CheckpointWritten{1, 60, seconds(3)});
  CHECK(job.state.kept_interval() == seconds(26));
  CHECK(read_job_state(write_job_state(job.state), "state") == job.state);
  job(seconds(75), MachineLeaves{"a", at(seconds(76)), "test"});
  job(seconds(76), CheckpointWritten{1, 65, seconds(1)});
  CHECK(job.state.kept_interval() == seconds(26));
}

// Intervals of 20, 18 and 2 s: a moment drawn from these 40 s lies in the first with 20 / 40, and
// so on, so that it lies in one of (400 + 324 + 4) / 40 = 18.2 s in the mean, of which a loss takes
// half. A mean of the three numbers would say 13.3 s. Two more that were asked for in a row, 1 and
// 1 s behind one of 18 s: (400 + 324 + 4 + 324 + 1 + 1) / 60 = 17.57 s.
TEST_CASE("checkpoints that were asked for count by the time that they shorten") {
  Told job(without_interval());
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(20), CheckpointWritten{1, 10, seconds(3)});
  job(seconds(40), CheckpointWritten{1, 30, seconds(3)});
  CHECK(job.state.kept_interval() == seconds(20));
  job(seconds(57), CommandGiven{"1", CommandKind::kCheckpoint, "test"});
  job(seconds(58), CheckpointWritten{1, 48, seconds(1)});
  job(seconds(60), CheckpointWritten{1, 50, seconds(1)});
  CHECK(job.state.kept_interval() == milliseconds(18'200));
  job(seconds(77), CommandGiven{"2", CommandKind::kCheckpoint, "test"});
  job(milliseconds(77'500), CommandGiven{"3", CommandKind::kCheckpoint, "test"});
  job(seconds(78), CheckpointWritten{1, 68, seconds(1)});
  job(seconds(79), CheckpointWritten{1, 69, seconds(1)});
  job(seconds(80), CheckpointWritten{1, 70, seconds(1)});
  CHECK(job.state.kept_interval() == Duration{17'566'666'667});
  CHECK(read_job_state(write_job_state(job.state), "state") == job.state);
}

// Eight are remembered: after eight of 30 s nothing is left of the one of 20 s.
TEST_CASE("old intervals between checkpoints are forgotten") {
  Told job(without_interval());
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(20), CheckpointWritten{1, 10, seconds(3)});
  job(seconds(40), CheckpointWritten{1, 30, seconds(3)});
  for (int i = 1; i <= 8; ++i) {
    job(seconds(40 + 30 * i), CheckpointWritten{1, 30 + 30 * i, seconds(3)});
  }
  CHECK(job.state.kept_interval() == seconds(30));
}

TEST_CASE("what survivors write is no interval between checkpoints") {
  Told job(without_interval());
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(20), CheckpointWritten{1, 10, seconds(3)});
  job(seconds(45), CheckpointWritten{1, 35, seconds(3)});
  job(seconds(46), RankEnded{1, 0, std::nullopt, 9, ""});
  job(seconds(47), CheckpointWritten{1, 37, seconds(1)});
  CHECK(job.state.kept_interval() == seconds(25));
}

// Nobody saw the rank end: half a second of the 3 s has passed. The others needed 0.6 s more than
// assumed the last time, to exit, and are taken to need it again: 2.5 + 0.6 s, then 10 s to start
// and 1 s for the step.
TEST_CASE("a way to end that was never met is foreseen from those that were") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(20), RankEnded{1, 2, std::nullopt, 9, ""});
  job.all_end(milliseconds(23'600), 3);
  CHECK(job.state.change_times.end(WayToEnd::kLostPeer) == milliseconds(3600));
  job(milliseconds(34'600), StepFinished{2, 1, 0.5, seconds(1)});
  job(seconds(40), RankEnded{2, 0, std::nullopt, 0, ""});
  CHECK(job.state.stopping->way == WayToEnd::kLostUnseen);
  REQUIRE(job.state.expected);
  CHECK(job.state.expected->time == milliseconds(14'100));
  job.all_end(seconds(43), 3);
  CHECK(job.state.change_times.end(WayToEnd::kLostUnseen) == seconds(3));
  CHECK(job.state.change_times.end(WayToEnd::kLostPeer) == milliseconds(3600));
}

TEST_CASE("what ends otherwise than foreseen is foreseen anew") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  // All four are gone within a tenth of a second: nobody needs time to notice.
  job(seconds(20), RankEnded{1, 0, std::nullopt, 0, ""});
  for (int rank : {1, 2}) job(milliseconds(20'050), RankEnded{1, rank, std::nullopt, 0, ""});
  job(milliseconds(20'100), RankEnded{1, 3, std::nullopt, 0, ""});
  CHECK(job.state.expected->since == at(milliseconds(20'100)));
  CHECK(job.state.expected->time == seconds(11));
  job(seconds(31), StepFinished{2, 2, 0.5, seconds(1)});
  // Told to end, and one is killed: the others notice that from now on.
  job(seconds(32), MachineJoined{"b", 4});
  job(seconds(33), MachineLeaves{"a", at(seconds(41)), "test"});  // 1.5 x 4 s + 2 s ahead
  REQUIRE(job.state.stopping);
  CHECK(job.state.stopping->way == WayToEnd::kTold);
  job(seconds(35), RankEnded{2, 1, std::nullopt, 9, ""});
  CHECK(job.state.stopping->way == WayToEnd::kLostPeer);
  CHECK(job.state.expected->since == at(seconds(35)));
  job.all_end(seconds(39), 3);
  CHECK(job.state.change_times.end(WayToEnd::kLostPeer) == seconds(4));
  CHECK(!job.state.change_times.end(WayToEnd::kTold));
}

TEST_CASE("a step of ranks that are told to end is not the first of the next ones") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(12), MachineJoined{"b", 4});
  job(seconds(20), RankEnded{1, 2, std::nullopt, 9, ""});
  job.all_end(seconds(22), 3);
  // Generation 2 has not done a step when its machine is announced to go; then it does one.
  job(seconds(31), MachineLeaves{"a", at(seconds(32)), "test"});
  REQUIRE(job.state.stopping);
  job(seconds(32), StepFinished{2, 1, 0.5, seconds(1)});
  CHECK(measured(job.last).empty());
  REQUIRE(job.state.expected);
  job.all_end(seconds(35), 4);
  job(seconds(46), StepFinished{3, 2, 0.5, seconds(1)});
  CHECK(measured(job.last).find("15 s after") != std::string::npos);
}

TEST_CASE("while a job waits for machines nobody can say when it goes on") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(11), StepFinished{1, 1, 0.5, seconds(1)});
  job(seconds(20), MachineLost{"a", "test"});
  job(seconds(100), MachineJoined{"b", 4});
  job(seconds(111), StepFinished{2, 1, 0.5, seconds(1)});
  CHECK(measured(job.last).empty());
}

TEST_CASE("a command is carried out once, whoever repeats it") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(10), RanksReady{1});
  const CommandGiven command{"17", CommandKind::kCheckpoint, "alice"};
  job(seconds(11), command);
  CHECK(job.told(ProcessSignal::kCheckpoint));
  REQUIRE(job.last.answer);
  CHECK(job.last.answer->accepted);
  const JobState before = job.state;
  job(seconds(12), command);
  CHECK(job.last.acts.empty());
  CHECK(!job.last.answer->accepted);
  CHECK(job.state == before);
}

TEST_CASE("stop ends the job with a checkpoint; managed anew it goes on") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(10), RanksReady{1});
  job(seconds(11), CommandGiven{"1", CommandKind::kStop, "bob"});
  CHECK(job.told(ProcessSignal::kCheckpointAndExit));
  job.all_end(seconds(14), 4);
  CHECK(job.state.phase == JobPhase::kStopped);
  job.state = reopened(job.state);
  job(seconds(20), MachineJoined{"a", 4});
  REQUIRE(job.acts<StartRanks>().size() == 1);
  CHECK(job.acts<StartRanks>()[0].generation == 2);
}

TEST_CASE("ranks that never meet, and ranks without a step, are killed and started again") {
  Told job;
  job.run_on({{"a", 4}});
  job(seconds(59), TimePassed{});
  CHECK(job.last.acts.empty());
  job(seconds(60), TimePassed{});
  CHECK(job.told(ProcessSignal::kKill));
  job.all_end(seconds(61), std::nullopt);
  job(seconds(70), RanksReady{2});
  // 30 s and ten steps of 1 s.
  job(seconds(109), TimePassed{});
  CHECK(job.state.phase == JobPhase::kRunning);
  job(seconds(110), TimePassed{});
  CHECK(job.told(ProcessSignal::kKill));
  CHECK(job.state.stopping->failure);
}

// 60 s, then twice as long after each start in a row that took longer, up to 8 times: 480 s.
TEST_CASE("a start that took too long gives the next one more time, until one succeeds") {
  JobRules rules = rules_of_test();
  rules.job.limits.attempts = 9;
  rules.job.limits.pause = seconds(0);
  Told job(rules);
  job.run_on({{"a", 4}});
  Duration begun{};
  for (const int limit : {60, 120, 240, 480, 480}) {
    REQUIRE(job.state.phase == JobPhase::kStarting);
    CHECK(job.last.wake == at(begun + seconds(limit)));
    job(begun + seconds(limit - 1), TimePassed{});
    CHECK(job.state.phase == JobPhase::kStarting);
    job(begun + seconds(limit), TimePassed{});
    CHECK(job.state.why == "the ranks did not connect within " + to_text(Duration{seconds(limit)}));
    begun += seconds(limit + 1);
    job.all_end(begun, std::nullopt);
  }
  CHECK(read_job_state(write_job_state(job.state), "state") == job.state);
  job(begun + seconds(470), RanksReady{6});
  CHECK(job.state.failed_starts == 0);
  // One that fails by itself has used up no time.
  job.all_end(begun + seconds(471), 3);
  CHECK(job.last.wake == at(begun + seconds(471 + 60)));
}

TEST_CASE("events of an old generation change nothing") {
  Told job;
  job.run_on({{"a", 4}});
  job.all_end(seconds(1), 3);
  REQUIRE(job.state.generation.number == 2);
  const JobState before = job.state;
  job(seconds(2), RankEnded{1, 0, 2, 0, ""});
  job(seconds(2), RanksReady{1});
  job(seconds(2), StepFinished{1, 50, 0.1, seconds(1)});
  CHECK(job.state == before);
  CHECK(job.last.acts.empty());
}

}  // namespace
}  // namespace penstock::test
