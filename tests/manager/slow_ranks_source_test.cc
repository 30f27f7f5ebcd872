#include "manager/slow_ranks_source.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/values/json_reader.h"
#include "manager/run_folder.h"
#include "report/slow_ranks_report.h"
#include "tests/manager/jobs.h"

namespace penstock::test {
namespace {

namespace fs = std::filesystem;

// A generation of two ranks on each of a and b, and what its ranks write.
class Watched {
 public:
  Watched()
      : folder_(fs::temp_directory_path() / ("penstock_slow_" + std::to_string(getpid()))),
        source_(folder_, [this](const std::string& what) { complaints.push_back(what); }) {
    fs::remove_all(folder_);
    state.phase = JobPhase::kRunning;
    for (const char* name : {"a", "b"}) {
      JobMachine machine;
      machine.name = name;
      machine.gpus = 2;
      state.machines.push_back(machine);
    }
    start(1);
    source_.begin(state);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { fs::remove_all(folder_); }

  void start(std::int64_t generation) {
    state.generation = {};
    state.generation.number = generation;
    state.generation.has_stepped = true;
    state.generation.first_step = state.last_step;
    for (int rank = 0; rank < 4; ++rank) {
      PlacedRank placed;
      placed.rank = rank;
      placed.machine = rank < 2 ? "a" : "b";
      placed.local_rank = rank % 2;
      state.generation.ranks.push_back(placed);
    }
    fs::create_directories(generation_folder(folder_, generation));
  }
  void ranks_write(const std::vector<RankSlowness>& slow) { write(slow_ranks_file({slow, {}})); }
  void write(const std::string& text) {
    write_file(slow_ranks_path(folder_, state.generation.number), text);
  }
  // What is news; the state then has it.
  std::vector<MachineSlow> look() {
    JobDecision decision;
    decision.next = state;
    source_.decided(TimePassed{}, decision);
    std::vector<MachineSlow> news;
    for (const Event& event : source_.poll()) {
      news.push_back(std::get<MachineSlow>(event));
      for (JobMachine& machine : state.machines) {
        if (machine.name == news.back().machine) machine.slow_factor = news.back().factor;
      }
    }
    return news;
  }

  JobState state;
  std::vector<std::string> complaints;

 private:
  std::string folder_;
  SlowRanksSource source_;
};

RankSlowness slow(int rank, double factor) {
  RankSlowness one;
  one.rank = rank;
  one.factor = factor;
  return one;
}

TEST_CASE("ranks that are slow are news of their machine, once, by the slowest of them") {
  Watched job;
  CHECK(job.look().empty());  // no file yet
  job.ranks_write({});
  CHECK(job.look().empty());
  job.ranks_write({slow(2, 1.2), slow(3, 1.3049)});
  CHECK(job.look() == std::vector<MachineSlow>{{"b", 1.3}});
  CHECK(job.look().empty());
  job.ranks_write({slow(3, 1.36)});  // as good as the same
  CHECK(job.look().empty());
  job.ranks_write({slow(3, 1.6)});
  CHECK(job.look() == std::vector<MachineSlow>{{"b", 1.6}});
  job.ranks_write({});
  CHECK(job.look() == std::vector<MachineSlow>{{"b", 1.0}});
}

TEST_CASE("a stage that was slow from the beginning is a matter of the plan") {
  Watched job;
  RankSlowness whole = slow(1, 2.0);
  whole.whole_stage = true;
  whole.from_start = true;
  job.ranks_write({whole});
  CHECK(job.look().empty());
  // It was seen at full speed: then it is the machine.
  whole.from_start = false;
  job.ranks_write({whole});
  CHECK(job.look() == std::vector<MachineSlow>{{"a", 2.0}});
}

TEST_CASE("a machine is well when another generation has done enough steps on it") {
  Watched job;
  job.ranks_write({slow(0, 1.5)});
  REQUIRE(job.look().size() == 1);
  job.state.last_step = 100;
  job.start(2);
  job.ranks_write({});
  CHECK(job.look().empty());
  job.state.last_step = 132;
  CHECK(job.look().empty());
  job.state.last_step = 133;
  CHECK(job.look() == std::vector<MachineSlow>{{"a", 1.0}});
}

TEST_CASE("a file that cannot be read is said once and changes nothing") {
  Watched job;
  job.write("{\"format\": \"penstock.slow/1\"");
  CHECK(job.look().empty());
  CHECK(job.look().empty());
  REQUIRE(job.complaints.size() == 1);
  CHECK(job.complaints[0].find("slow.json") != std::string::npos);
}

}  // namespace
}  // namespace penstock::test
