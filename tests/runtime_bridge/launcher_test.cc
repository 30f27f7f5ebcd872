#include "runtime_bridge/launcher.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "tests/core/messages.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

LaunchOptions options_for(int ranks, const std::string& verb) {
  LaunchOptions options;
  options.ranks = ranks;
  options.start = start_program(PENSTOCK_LAUNCHED_PROGRAM, {verb});
  options.grace = milliseconds(100);
  options.to_end = milliseconds(300);
  return options;
}

const RankEnd& end_of(const LaunchResult& result, int rank) {
  return *std::ranges::find(result.ends, rank, &RankEnd::rank);
}

bool is_running(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

bool handles(int process, int signal) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("SigCgt:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

// Whether `holds` within ten seconds.
template <class Condition>
bool soon(const Condition& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST_CASE("each rank is told its number, and every end is reported") {
  LaunchOptions options = options_for(3, "rank_as_code");
  options.grace = seconds(10);
  int served = 0;
  options.serve = [&served] {
    ++served;
    return HostedStore{nullptr, 4001};
  };
  const LaunchResult result = launch(options);
  CHECK(served == 1);
  REQUIRE(result.ends.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(end_of(result, rank).exit_code == rank);
    CHECK(end_of(result, rank).signal == 0);
  }
  CHECK(result.passed_on.empty());
}

TEST_CASE("on one of several machines only its ranks are started, and told of all of them") {
  LaunchOptions options = options_for(2, "rank_as_code");
  options.grace = seconds(10);
  options.first_rank = 3;
  options.job_ranks = 6;
  std::vector<Environment> told;
  const StartChild start = options.start;
  options.start = [&](int rank, const Environment& environment) {
    told.push_back(environment);
    return start(rank, environment);
  };
  options.serve = [] { return HostedStore{nullptr, 4001, "gpu7", "token"}; };
  std::vector<LaunchedRanks> seen;
  options.changed = [&](const LaunchedRanks& ranks) { seen.push_back(ranks); };
  const LaunchResult result = launch(options);
  CHECK(end_of(result, 3).exit_code == 3);
  CHECK(end_of(result, 4).exit_code == 4);
  REQUIRE(told.size() == 2);
  const auto place = read_launch_environment(told[1]);
  REQUIRE(place);
  CHECK(place->rank == 4);
  CHECK(place->ranks == 6);
  CHECK(place->local_rank == 1);
  CHECK(place->host == "gpu7");
  CHECK(place->key_prefix == "/token/worker/attempt_0");
  // Both running, then one, then none.
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].running.size() == 2);
  CHECK(seen[0].ends.empty());
  CHECK(seen[1].running.size() == 1);
  CHECK(seen[2] == LaunchedRanks{{}, result.ends});
}

TEST_CASE("a store that ranks elsewhere need is served after the ranks here have ended") {
  LaunchOptions options = options_for(2, "rank_as_code");
  const auto kept = std::make_shared<int>(0);
  options.serve = [&] { return HostedStore{kept, 4001}; };
  int asked = 0;
  options.is_store_needed = [&](const Environment& of_rank) {
    CHECK(of_rank.at("MASTER_PORT") == "4001");
    CHECK(kept.use_count() > 1);
    return ++asked < 3;
  };
  CHECK(launch(options).ends.size() == 2);
  CHECK(asked == 3);
  CHECK(kept.use_count() == 1);
  // A signal ends that.
  options.is_store_needed = [&](const Environment&) { return std::raise(SIGTERM) == 0; };
  CHECK(launch(options).ends.size() == 2);
}

TEST_CASE("a start that is given up ends at once, without a last word of its ranks") {
  LaunchOptions options = options_for(2, "deaf");
  options.grace = options.to_end = seconds(10);
  int asked = 0;
  options.is_given_up = [&] { return ++asked > 2; };
  const SteadyTime begin = steady_now();
  const LaunchResult result = launch(options);
  CHECK(steady_now() - begin < seconds(5));
  for (const RankEnd& end : result.ends) {
    CHECK(end.signal == SIGKILL);
    CHECK(end.ended_by_us);
  }
}

TEST_CASE("a signal that comes while the store is waited for starts nothing") {
  LaunchOptions options = options_for(2, "exits");
  options.serve = []() -> std::optional<HostedStore> {
    CHECK(!signal_waits());
    std::raise(SIGUSR1);
    CHECK(signal_waits());
    sigset_t all;  // which this test takes itself
    sigemptyset(&all);
    sigaddset(&all, SIGUSR1);
    int signal = 0;
    sigwait(&all, &signal);
    return std::nullopt;
  };
  CHECK(launch(options) == LaunchResult{});
}

TEST_CASE("when one rank dies the others are ended, and the first is named") {
  const SteadyTime begin = steady_now();
  const LaunchResult result = launch(options_for(3, "exits"));
  CHECK(steady_now() - begin < seconds(10));
  const auto first = result.first_failure();
  REQUIRE(first);
  CHECK(first->rank == 1);
  CHECK(first->exit_code == 3);
  CHECK(words_of(*first) ==
        "rank 1 (process " + std::to_string(first->process) + ") ended with exit code 3");
  REQUIRE(result.ends.size() == 3);
  CHECK(end_of(result, 0).signal == SIGTERM);
  CHECK(end_of(result, 0).ended_by_us);
}

TEST_CASE("a rank that was killed is named with the signal") {
  const LaunchResult result = launch(options_for(2, "killed"));
  REQUIRE(result.first_failure());
  CHECK(words_of(*result.first_failure()).ends_with(") was ended by signal 9 (Killed)"));
}

TEST_CASE("ranks that do not listen, or have been stopped, end too") {
  CHECK(end_of(launch(options_for(2, "deaf")), 0).signal == SIGKILL);
  CHECK(end_of(launch(options_for(2, "stopped")), 0).signal == SIGTERM);
}

TEST_CASE("signals go on to the ranks, and after them nobody is to blame") {
  LaunchOptions options = options_for(2, "exits");
  const StartChild start = options.start;
  // Comes after the last child has been started; launch() has blocked it by then.
  options.start = [start](int rank, const Environment& environment) {
    const int process = start(rank, environment);
    if (rank == 1) std::raise(SIGTERM);
    return process;
  };
  const LaunchResult result = launch(options);
  CHECK(result.passed_on == std::vector<int>{SIGTERM});
  CHECK(end_of(result, 0).signal == SIGTERM);
  CHECK(end_of(result, 1).signal == SIGTERM);
  CHECK(!result.first_failure());
}

TEST_CASE("asked with SIGUSR1, ranks take their time, and their exit codes are their own") {
  LaunchOptions options = options_for(2, "asked");
  const StartChild start = options.start;
  options.start = [start](int rank, const Environment& environment) {
    const int process = start(rank, environment);
    CHECK(soon([&] { return handles(process, SIGUSR1); }));  // it is ready
    if (rank == 1) std::raise(SIGUSR1);
    return process;
  };
  const LaunchResult result = launch(options);
  CHECK(result.passed_on == std::vector<int>{SIGUSR1});
  // Rank 0 ends half a second after rank 1, five times the grace.
  CHECK(end_of(result, 0).exit_code == 4);
  CHECK(end_of(result, 1).exit_code == 4);
  CHECK(result.first_failure() == end_of(result, 1));
}

TEST_CASE("a SIGUSR1 that comes before a rank has a handler waits for it") {
  LaunchOptions options = options_for(2, "asked_early");
  const StartChild start = options.start;
  // Almost always before the sleep of the ranks has ended; after it, it would be handled as well.
  options.start = [start](int rank, const Environment& environment) {
    const int process = start(rank, environment);
    if (rank == 1) std::raise(SIGUSR1);
    return process;
  };
  const LaunchResult result = launch(options);
  CHECK(end_of(result, 0).exit_code == 4);
  CHECK(end_of(result, 1).exit_code == 4);
}

TEST_CASE("a launcher that was asked to end before it began starts nothing") {
  LaunchOptions options = options_for(2, "exits");
  options.is_stopped = [] { return true; };
  bool served = false;
  options.serve = [&served] {
    served = true;
    return HostedStore{};
  };
  CHECK(launch(options) == LaunchResult{});
  CHECK(!served);
}

TEST_CASE("told twice to end, ranks that do not listen are ended") {
  LaunchOptions options = options_for(2, "deaf");
  const StartChild start = options.start;
  options.start = [start](int rank, const Environment& environment) {
    const int process = start(rank, environment);
    if (rank == 1) std::raise(SIGINT), std::raise(SIGTERM);
    return process;
  };
  const SteadyTime begin = steady_now();
  const LaunchResult result = launch(options);
  CHECK(steady_now() - begin < seconds(10));
  CHECK(result.passed_on.size() == 2);
  CHECK(!result.first_failure());
}

TEST_CASE("no rank outlives a launcher that was killed") {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("penstock_launcher_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const pid_t launcher =
      start_program(PENSTOCK_LAUNCHED_PROGRAM, {"launch_two", folder})(0, Environment{});
  CHECK(soon([&] {
    return std::filesystem::exists(folder + "/0") && std::filesystem::exists(folder + "/1");
  }));
  std::vector<pid_t> ranks(2);
  for (std::size_t i = 0; i < 2; ++i) std::ifstream(folder + "/" + std::to_string(i)) >> ranks[i];
  CHECK(is_running(ranks[0]));
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  CHECK(soon([&] { return !is_running(ranks[0]) && !is_running(ranks[1]); }));
  std::filesystem::remove_all(folder);
}

TEST_CASE("a program that is not there is named") {
  LaunchOptions options = options_for(2, "exits");
  options.start = start_program("/no/such/program", {});
  CHECK(tests::message_of([&] { launch(options); }) ==
        "rank 0 could not be started: /no/such/program: No such file or directory");
}

}  // namespace
}  // namespace penstock
