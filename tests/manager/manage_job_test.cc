#include "manager/manage_job.h"

#include <filesystem>

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/manager/jobs.h"

namespace penstock::test {
namespace {

struct Killed {};

// Ranks that do a step whenever they are asked, and the machine that they need.
class SmallWorld final : public RankProcesses, public EventSource {
 public:
  void start(const StartRanks& what) override {
    if (dies_in_start) {
      dies_in_start = false;
      throw Killed{};
    }
    started.push_back(what);
    step = 0;
  }
  void signal(const SignalRanks& what) override { signals.push_back(what); }
  void adopt(const JobState& state) override { adopted = state.generation.number; }
  std::vector<Event> poll() override { return {}; }
  void begin(const JobState& /*state*/) override {}
  void decided(const Event& /*event*/, const JobDecision& /*decision*/) override {}

  std::vector<Event> next() {
    if (started.empty()) return {MachineJoined{"a", 1}};
    const std::int64_t generation = started.back().generation;
    if (dies_at_step == step) {
      dies_at_step = -1;
      throw Killed{};
    }
    if (++step < 5) {
      std::vector<Event> events{StepFinished{generation, step, 0.5, seconds(4)}};
      if (checkpoints) events.emplace_back(CheckpointWritten{generation, step, std::nullopt});
      return events;
    }
    return {CheckpointWritten{generation, 5, std::nullopt}, RankEnded{generation, 0, 0, 0, ""}};
  }

  std::vector<StartRanks> started;
  std::vector<SignalRanks> signals;
  std::int64_t step = 0, adopted = 0, dies_at_step = -1;
  bool dies_in_start = false, checkpoints = false;
};

class Source final : public EventSource {
 public:
  explicit Source(SmallWorld& world) : world_(world) {}
  std::vector<Event> poll() override { return world_.next(); }
  void begin(const JobState& /*state*/) override {}
  void decided(const Event& /*event*/, const JobDecision& /*decision*/) override {}

 private:
  SmallWorld& world_;
};

// The clock tells a second more whenever it is asked.
JobState managed(const std::string& file, SmallWorld& ranks, int second = 0) {
  const JobRules rules = rules_of_test(5);
  JobStore store(file);
  Source source(ranks);
  JobWorld world{ranks,
                 {&source},
                 [&second] { return at(seconds(++second)); },
                 [] {},
                 [](const LogEntry& /*entry*/) {},
                 [](const std::string& /*what*/) {}};
  return manage_job(rules, store, first_state(rules, "secret", at({})), world);
}

std::string new_file(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("penstock_" + name + "_" + std::to_string(getpid()));
  std::filesystem::remove(path);
  return path.string();
}

// Its ranks write a checkpoint in steps 1 to 3 and, an hour later, in the last one.
TEST_CASE("the time without a manager is no interval between checkpoints") {
  const std::string file = new_file("interval");
  SmallWorld world;
  world.checkpoints = true;
  world.dies_at_step = 3;
  CHECK_THROWS_AS(managed(file, world), Killed);
  const auto before = JobStore(file).state();
  REQUIRE(before);
  REQUIRE(before->kept_interval());
  CHECK(*before->kept_interval() < seconds(60));
  world.checkpoints = false;
  const JobState end = managed(file, world, 3600);
  CHECK(world.step == 5);
  REQUIRE(end.kept_interval());
  CHECK(*end.kept_interval() < seconds(60));
  std::filesystem::remove(file);
}

TEST_CASE("a manager that is killed is followed by one that goes on") {
  const std::string file = new_file("loop");
  SmallWorld world;
  // After the start was kept, before it was carried out: it is carried out by the next one.
  world.dies_in_start = true;
  CHECK_THROWS_AS(managed(file, world), Killed);
  CHECK(world.started.empty());
  world.dies_at_step = 3;
  CHECK_THROWS_AS(managed(file, world), Killed);
  REQUIRE(world.started.size() == 1);
  CHECK(world.started[0].generation == 1);
  const JobState end = managed(file, world);
  CHECK(world.adopted == 1);
  CHECK(world.started.size() == 1);
  CHECK(end.phase == JobPhase::kFinished);
  CHECK(end.checkpoint_step == 5);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace penstock::test
