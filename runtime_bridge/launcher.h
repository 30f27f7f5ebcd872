// Starts the ranks of a job on this machine, passes signals on to them, and sees them all end: when
// one dies, the others get some time to say what they saw, then they are ended too. Where a job has
// several machines, each has a launcher, which knows only its own ranks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/values/units.h"
#include "runtime_bridge/launch_environment.h"

namespace penstock {

// The job's store, in a launcher since ranks may die. `keeps` serves while it lives.
struct HostedStore {
  std::shared_ptr<void> keeps;  // nothing: the launcher of another machine serves it
  int port = 0;
  std::string host = "127.0.0.1";
  std::string token{};  // of the job; empty: as the launcher's environment says
};

// The process id of a new child with this environment.
using StartChild = std::function<int(int rank, const Environment& environment)>;

struct RankEnd {
  int rank = 0;
  int process = 0;
  int exit_code = 0;         // 0 where a signal ended it
  int signal = 0;            // that ended it, or 0
  bool ended_by_us = false;  // or by a signal that we passed on
  [[nodiscard]] bool failed() const { return exit_code != 0 || signal != 0; }
  bool operator==(const RankEnd&) const = default;
};

// Of the ranks here at one moment.
struct LaunchedRanks {
  struct Running {
    int rank = 0;
    int process = 0;
    bool operator==(const Running&) const = default;
  };
  std::vector<Running> running;
  std::vector<RankEnd> ends;
  bool operator==(const LaunchedRanks&) const = default;
};

struct LaunchOptions {
  int ranks = 1;                 // that are started here
  int first_rank = 0;            // of them
  std::optional<int> job_ranks;  // of all machines; nothing: all are here
  Environment environment;       // the launcher's own; each rank gets its part on top
  // Called before the first child is started; nothing: a signal came meanwhile.
  std::function<std::optional<HostedStore>()> serve;
  StartChild start;                           // start_program(), or a test's
  Duration grace = std::chrono::seconds(10);  // for the others, after one has failed
  Duration to_end = std::chrono::seconds(5);  // after SIGTERM, before SIGKILL
  // Asked when the grace is over, with the environment of a rank: whether the others are writing a
  // checkpoint of the last finished step (survivors.h), so that they get more time, up to
  // `saving_limit` in all. None when empty.
  std::function<bool(const Environment& of_rank)> is_saving{};
  Duration saving_limit = std::chrono::minutes(10);
  // Where ranks of other machines use the store as well: asked when those here have ended, with the
  // environment of one of them, until it says no or a signal tells to end. None when empty.
  std::function<bool(const Environment& of_rank)> is_store_needed{};
  // Asked once, when signals are passed on already: whether one has come before, so that nothing
  // need be started. None when empty.
  std::function<bool()> is_stopped;
  // Told when all have been started, and whenever one has ended.
  std::function<void(const LaunchedRanks&)> changed;
  // Asked all the time: whether somebody has given this start up, so that the ranks are ended.
  std::function<bool()> is_given_up;
};

struct LaunchResult {
  std::vector<RankEnd> ends;   // in the order in which they ended
  std::vector<int> passed_on;  // signals that the ranks got from us because we got them
  // Who failed first, on its own account.
  [[nodiscard]] std::optional<RankEnd> first_failure() const;
  bool operator==(const LaunchResult&) const = default;
};

// Returns when every rank has ended. SIGINT, SIGTERM and SIGUSR1 that arrive in the meantime go to
// the ranks, which then end by themselves; the second SIGINT or SIGTERM ends them for good. SIGUSR2
// goes to them as well, and they go on. The calling thread must stay until then: ranks end when it
// does. The store is served until then, and for ranks elsewhere as long as they need it.
LaunchResult launch(const LaunchOptions& options);

// For StartChild: `arguments` with `program` (an absolute path; "/proc/self/exe" is this one), in a
// process group of its own, so that the terminal's Ctrl-C reaches it only through the launcher. The
// program starts with SIGUSR1 and SIGUSR2 blocked: one that comes while it is loaded waits until
// the program has a handler and unblocks it.
StartChild start_program(const std::string& program, const std::vector<std::string>& arguments);

// For exec: pointers into texts that live as long, and the null behind them.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

// Whether this process was started by launch().
bool has_launcher(const Environment& environment);
// First thing in a rank: it gets killed when its launcher is gone, however that came about. No
// effect in a process that has no launcher, of which it returns false.
bool end_with_launcher(const Environment& environment);

// Whether one of the signals that launch() passes on waits for this thread, which blocks them:
// whoever makes launch() wait before there are ranks asks for it.
bool signal_waits();

// "rank 2 (process 4711) was ended by signal 9 (Killed)"
std::string words_of(const RankEnd& end);

}  // namespace penstock
