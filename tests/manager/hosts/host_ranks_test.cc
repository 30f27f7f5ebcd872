// Machines that do as the test says; folders and files are real.
#include "manager/hosts/host_ranks.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/values/error.h"
#include "manager/run_folder.h"

namespace penstock {
namespace {

class ScriptedHosts : public HostAccess {
 public:
  void start(const std::string& host, const DetachedCommand& command) override {
    if (broken.contains(host)) throw Error(ErrorKind::kMissingResource, host + ": no way there");
    started.emplace_back(host, command);
    JobProcess launcher;
    launcher.id = {100 + static_cast<int>(started.size()), 7};
    launcher.generation = std::stoll(command.variables.at(kGenerationVariable));
    launcher.machine = host;
    launcher.is_launcher = true;
    running[host].push_back(launcher);
  }
  std::optional<std::vector<JobProcess>> processes(const std::string& host,
                                                   const std::string& /*job*/) override {
    if (deaf.contains(host)) return std::nullopt;
    return running[host];
  }
  bool signal(const std::string& host, const std::vector<ProcessId>& processes,
              int signal) override {
    for (const ProcessId& process : processes) {
      signals.emplace_back(process.process, signal);
      if (signal == SIGKILL) {
        std::erase_if(running[host], [&](const JobProcess& each) { return each.id == process; });
      }
    }
    return true;
  }

  std::vector<std::pair<std::string, DetachedCommand>> started;
  std::map<std::string, std::vector<JobProcess>> running;
  std::vector<std::pair<int, int>> signals;
  std::set<std::string> deaf, broken;
};

struct Trial {
  Trial() {
    std::filesystem::remove_all(folder);
    options.job = "job";
    options.run_folder = folder;
    options.train = {"--data", "d"};
    options.look_every = options.missing_for = options.lost_after = Duration{};
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() { std::filesystem::remove_all(folder); }

  [[nodiscard]] MeetingFolder meeting(std::int64_t generation) const {
    return MeetingFolder(generation_folder(folder, generation));
  }
  // Of the polls until now those that end ranks.
  static std::vector<RankEnded> ends_in(const std::vector<Event>& events) {
    std::vector<RankEnded> ends;
    for (const Event& event : events) {
      if (const auto* end = std::get_if<RankEnded>(&event)) ends.push_back(*end);
    }
    return ends;
  }

  std::string folder =
      std::filesystem::temp_directory_path() / ("penstock_hands_" + std::to_string(getpid()));
  ScriptedHosts hosts;
  HostRanksOptions options;
};

StartRanks three_ranks(std::int64_t generation) {
  StartRanks start;
  start.generation = generation;
  start.page = 4;
  start.checkpoint_every = 25;
  for (int rank = 0; rank < 3; ++rank) {
    PlacedRank placed;
    placed.rank = rank;
    placed.machine = rank < 2 ? "a" : "b";
    start.ranks.push_back(placed);
  }
  return start;
}

TEST_CASE("ranks choose the interval of checkpoints where the job file does not") {
  Trial trial;
  trial.options.watch_slow_ranks = false;
  HostRanks ranks(trial.hosts, trial.options);
  StartRanks start = three_ranks(5);
  start.checkpoint_every = 0;
  start.between_losses = std::chrono::milliseconds(90'500);
  ranks.start(start);
  const std::vector<std::string>& words = trial.hosts.started.at(0).second.words;
  const auto every = std::ranges::find(words, "--checkpoint-every");
  REQUIRE(words.end() - every > 3);
  CHECK(std::vector<std::string>(every, every + 4) ==
        std::vector<std::string>{"--checkpoint-every", "auto", "--between-failures", "91s"});
  CHECK(std::ranges::find(words, "--slow-ranks") == words.end());
}

TEST_CASE("each machine gets one launcher, with its ranks, and only once") {
  Trial trial;
  HostRanks ranks(trial.hosts, trial.options);
  ranks.start(three_ranks(5));
  ranks.start(three_ranks(5));
  REQUIRE(trial.hosts.started.size() == 2);
  const auto& [host, command] = trial.hosts.started[1];
  CHECK(host == "b");
  const std::string there = trial.folder + "/generations/5";
  CHECK(command.words == std::vector<std::string>{
                             "penstock", "train", trial.folder + "/plans/4.json", "--data", "d",
                             "--log", there + "/run.jsonl", "--resume-if-any", "--checkpoint-every",
                             "25", "--slow-ranks", "--slow-machines", there + "/slow.json",
                             "--ranks-here", "2", "--meet", there, "--address", "b"});
  CHECK(command.variables.at(kJobVariable) == "job");
  CHECK(command.variables.at(kMachineVariable) == "b");
  CHECK(ranks.poll().empty());
}

TEST_CASE("a start that is carried out again does not start a launcher that has ended meanwhile") {
  Trial trial;
  HostRanks(trial.hosts, trial.options).start(three_ranks(5));
  REQUIRE(trial.hosts.started.size() == 2);
  trial.meeting(5).say_ranks({0, 2}, {{}, {{1, 12, 3, 0, false}, {0, 11, 3, 0, false}}});
  trial.hosts.running["a"].clear();
  // The manager was killed before it noted that it had carried out the start.
  HostRanks(trial.hosts, trial.options).start(three_ranks(5));
  CHECK(trial.hosts.started.size() == 2);
}

TEST_CASE("how a rank ended is what its launcher says, once") {
  Trial trial;
  HostRanks ranks(trial.hosts, trial.options);
  ranks.start(three_ranks(5));
  std::ofstream(trial.folder + "/generations/5/ranks-0-1.txt") << "error: a rank was lost\nmore\n";
  trial.meeting(5).say_ranks({0, 2}, {{{0, 11}}, {{1, 12, 3, 0, false}}});
  const auto ends = Trial::ends_in(ranks.poll());
  REQUIRE(ends.size() == 1);
  CHECK(ends[0] == RankEnded{5, 1, 3, 0, "a rank was lost"});
  CHECK(ranks.poll().empty());
  trial.meeting(5).say_ranks({0, 2}, {{}, {{1, 12, 3, 0, false}, {0, 11, 0, 9, true}}});
  CHECK(Trial::ends_in(ranks.poll()) == std::vector<RankEnded>{{5, 0, std::nullopt, 9, ""}});
}

TEST_CASE("ranks whose launcher is gone without a word ended somehow") {
  Trial trial;
  HostRanks ranks(trial.hosts, trial.options);
  ranks.start(three_ranks(5));
  trial.hosts.running["b"].clear();
  CHECK(Trial::ends_in(ranks.poll()) == std::vector<RankEnded>{{5, 2, std::nullopt, 0, ""}});
  CHECK(ranks.poll().empty());
  // A manager that takes over sees the same.
  HostRanks others(trial.hosts, trial.options);
  JobState state;
  state.generation.number = 5;
  state.generation.ranks = three_ranks(5).ranks;
  others.adopt(state);
  CHECK(Trial::ends_in(others.poll()) == std::vector<RankEnded>{{5, 2, std::nullopt, 0, ""}});
  // Those of machine a were found, and run.
  CHECK(trial.hosts.started.size() == 2);
}

TEST_CASE("a machine that cannot start its ranks, and one that does not answer, are told") {
  Trial trial;
  HostRanks ranks(trial.hosts, trial.options);
  trial.hosts.broken = {"b"};
  ranks.start(three_ranks(5));
  CHECK(Trial::ends_in(ranks.poll()) ==
        std::vector<RankEnded>{{5, 2, std::nullopt, 0, "b: no way there"}});
  trial.hosts.deaf = {"a"};
  const auto events = ranks.poll();
  REQUIRE(events.size() == 1);
  CHECK(std::get<MachineLost>(events[0]) == MachineLost{"a", "it does not answer"});
  CHECK(ranks.poll().empty());
}

TEST_CASE("requests go to launchers, and an end is for good") {
  Trial trial;
  HostRanks ranks(trial.hosts, trial.options);
  ranks.start(three_ranks(5));
  ranks.signal({5, ProcessSignal::kCheckpointAndExit, ""});
  ranks.signal({5, ProcessSignal::kCheckpoint, "b"});
  ranks.signal({4, ProcessSignal::kKill, ""});  // of another generation: nothing
  CHECK(trial.hosts.signals ==
        std::vector<std::pair<int, int>>{{101, SIGUSR1}, {102, SIGUSR1}, {102, SIGUSR2}});
  CHECK(!trial.meeting(5).is_given_up());
  ranks.signal({5, ProcessSignal::kKill, "a"});
  CHECK(trial.hosts.running["a"].empty());
  CHECK(trial.hosts.running["b"].size() == 1);
  CHECK(!trial.meeting(5).is_given_up());
  ranks.signal({5, ProcessSignal::kKill, ""});
  CHECK(trial.hosts.running["b"].empty());
  CHECK(trial.meeting(5).is_given_up());
}

TEST_CASE("of two processes that look like the launcher the older one is asked, in any order") {
  Trial trial;
  HostRanks ranks(trial.hosts, trial.options);
  ranks.start(three_ranks(5));
  std::vector<JobProcess>& on_b = trial.hosts.running["b"];
  JobProcess child = on_b.at(0);  // has not become another program yet
  child.id = {202, 9};
  on_b.push_back(child);
  ranks.signal({5, ProcessSignal::kCheckpoint, "b"});
  std::reverse(on_b.begin(), on_b.end());
  ranks.signal({5, ProcessSignal::kCheckpoint, "b"});
  CHECK(trial.hosts.signals == std::vector<std::pair<int, int>>{{102, SIGUSR2}, {102, SIGUSR2}});
}

TEST_CASE("a new generation ends what is left of others, also of those that nobody recorded") {
  Trial trial;
  HostRanks ranks(trial.hosts, trial.options);
  JobProcess stray;
  stray.id = {77, 1};
  stray.generation = 3;
  stray.machine = "b";
  trial.hosts.running["b"].push_back(stray);
  ranks.start(three_ranks(5));
  CHECK(trial.hosts.signals == std::vector<std::pair<int, int>>{{77, SIGKILL}});
  ranks.start(three_ranks(6));
  CHECK(trial.meeting(5).is_given_up());
  CHECK(trial.hosts.signals.size() == 3);
  CHECK(trial.hosts.started.size() == 4);
}

}  // namespace
}  // namespace penstock
