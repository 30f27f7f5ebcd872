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
    if (++step < 5) return {StepFinished{generation, step, 0.5, seconds(4)}};
    return {CheckpointWritten{generation, 5, std::nullopt}, RankEnded{generation, 0, 0, 0, ""}};
  }

  std::vector<StartRanks> started;
  std::vector<SignalRanks> signals;
  std::int64_t step = 0, adopted = 0, dies_at_step = -1;
  bool dies_in_start = false;
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

JobState managed(const std::string& file, SmallWorld& ranks) {
  const JobRules rules = rules_of_test(5);
  JobStore store(file);
  Source source(ranks);
  int second = 0;
  JobWorld world{ranks,
                 {&source},
                 [&second] { return at(seconds(++second)); },
                 [] {},
                 [](const LogEntry& /*entry*/) {},
                 [](const std::string& /*what*/) {}};
  return manage_job(rules, store, first_state(rules, "secret", at({})), world);
}

TEST_CASE("a manager that is killed is followed by one that goes on") {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("penstock_loop_" + std::to_string(getpid())))
          .string();
  std::filesystem::remove(file);
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
