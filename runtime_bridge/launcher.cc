// One thread waits with sigtimedwait for the end of children and for the signals that are passed
// on; there is no handler. When a rank fails, the others have `grace` to end by themselves, then
// get SIGTERM, then SIGKILL. A signal that was passed on is nobody's failure, and told a second
// time the launcher no longer waits. Ranks lead process groups of their own, so that a terminal's
// Ctrl-C reaches them once, through here.
#include "runtime_bridge/launcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/values/error.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

constexpr const char* kLauncherVariable = "PENSTOCK_LAUNCHER_PROCESS";
constexpr std::array<int, 4> kPassedOn{SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

// Blocks the signals that launch() waits for, and gives back what was before.
class Signals {
 public:
  Signals() {
    sigemptyset(&waited_for_);
    sigaddset(&waited_for_, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&waited_for_, signal);
    pthread_sigmask(SIG_BLOCK, &waited_for_, &before_);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // The next of them; nothing when there is none within `limit`.
  [[nodiscard]] std::optional<int> wait(Duration limit) const {
    timespec time{};
    time.tv_sec = static_cast<time_t>(limit / std::chrono::seconds(1));
    time.tv_nsec = (limit % std::chrono::seconds(1)).count();
    const int signal = sigtimedwait(&waited_for_, nullptr, &time);
    return signal > 0 ? std::optional<int>(signal) : std::nullopt;
  }

 private:
  sigset_t waited_for_{}, before_{};
};

class Job {
 public:
  explicit Job(const LaunchOptions& options) : options_(options) {}
  // Nothing survives, also when starting a later child failed.
  ~Job() {
    signal_all(SIGKILL);
    while (!running_.empty() && reap(0)) {
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Whether there is anything to wait for.
  bool start() {
    std::optional<HostedStore> store = options_.serve ? options_.serve() : HostedStore{};
    if (!store) return false;
    store_ = *std::move(store);
    for (int i = 0; i < options_.ranks; ++i) {
      const int rank = options_.first_rank + i;
      running_.push_back({rank, options_.start(rank, environment_of(i))});
    }
    tell();
    return true;
  }

  LaunchResult run(const Signals& signals) {
    while (!running_.empty()) {
      const std::optional<int> signal = signals.wait(std::chrono::milliseconds(50));
      if (signal && *signal != SIGCHLD) {
        pass_on(*signal);
      }
      while (reap(WNOHANG)) {
      }
      if (stage_ == Stage::kRunning && options_.is_given_up && options_.is_given_up()) give_up();
      hurry();
    }
    return std::move(result_);
  }

  // Whoever lost a rank here has to agree with others on what to do, and needs the store for it.
  void serve_others(const Signals& signals) const {
    if (!options_.is_store_needed) return;
    const Environment of_rank = environment_of(0);
    while (!told_twice_ && options_.is_store_needed(of_rank)) {
      const std::optional<int> signal = signals.wait(std::chrono::milliseconds(50));
      if (signal == SIGINT || signal == SIGTERM) return;
    }
  }

 private:
  using Running = LaunchedRanks::Running;

  [[nodiscard]] Environment environment_of(int local_rank) const {
    StartedRank started;
    started.rank = options_.first_rank + local_rank;
    started.ranks = options_.job_ranks.value_or(options_.ranks);
    started.local_rank = local_rank;
    started.local_ranks = options_.ranks;
    started.host = store_.host;
    started.port = store_.port;
    Environment environment = environment_of_rank(options_.environment, started);
    environment[kLauncherVariable] = std::to_string(getpid());
    if (!store_.token.empty()) environment[kTokenVariable] = store_.token;
    return environment;
  }

  void tell() const {
    if (options_.changed) options_.changed({running_, result_.ends});
  }

  // Ranks end a step and write a checkpoint first, however long that takes; told a second time to
  // end, they are not waited for.
  void pass_on(int signal) {
    // Asks for a checkpoint and ends nobody.
    if (signal == SIGUSR2) return signal_all(signal);
    const bool again = signal != SIGUSR1 && std::ranges::find_if(result_.passed_on, [](int before) {
                                              return before != SIGUSR1;
                                            }) != result_.passed_on.end();
    if (again) deadline_ = steady_now();
    told_twice_ = told_twice_ || again;
    result_.passed_on.push_back(signal);
    signal_all(signal);
  }

  // Not somebody's failure: we ended it, or a signal that we only passed on did.
  [[nodiscard]] bool is_our_doing(const RankEnd& end) const {
    return end.signal != 0 &&
           (stage_ != Stage::kRunning ||
            std::ranges::find(result_.passed_on, end.signal) != result_.passed_on.end());
  }

  // Ranks that exit after a signal do as they were asked, and the others are about to.
  [[nodiscard]] bool is_reason_to_hurry(const RankEnd& end) const {
    return end.failed() && !end.ended_by_us && (end.signal != 0 || result_.passed_on.empty());
  }

  // Whether there was one to reap.
  bool reap(int flags) {
    for (auto child = running_.begin(); child != running_.end(); ++child) {
      int status = 0;
      pid_t got = 0;
      do {
        got = waitpid(child->process, &status, flags);
      } while (got < 0 && errno == EINTR);
      if (got == 0) continue;
      RankEnd end;
      end.rank = child->rank;
      end.process = child->process;
      if (got < 0) end.exit_code = -1;  // somebody else took its end
      if (got > 0 && WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
      if (got > 0 && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
      end.ended_by_us = is_our_doing(end);
      running_.erase(child);
      result_.ends.push_back(end);
      tell();
      if (is_reason_to_hurry(end) && !deadline_) deadline_ = steady_now() + options_.grace;
      return true;
    }
    return false;
  }

  // At once, without a last checkpoint: another start may write its own by now.
  void give_up() {
    stage_ = Stage::kAsked;
    deadline_ = steady_now();
  }

  // Ends those that do not end by themselves after a failure.
  void hurry() {
    if (!deadline_ || steady_now() < *deadline_ || running_.empty()) return;
    if (stage_ == Stage::kRunning && !told_twice_ && are_saving()) {
      deadline_ = steady_now() + std::chrono::seconds(1);
      return;
    }
    stage_ = stage_ == Stage::kRunning ? Stage::kAsked : Stage::kKilled;
    signal_all(stage_ == Stage::kAsked ? SIGTERM : SIGKILL);
    // A stopped process takes note of SIGTERM only when it runs again.
    if (stage_ == Stage::kAsked) signal_all(SIGCONT);
    deadline_ = steady_now() + options_.to_end;
  }

  [[nodiscard]] bool are_saving() {
    if (!options_.is_saving) return false;
    if (!saving_until_) saving_until_ = steady_now() + options_.saving_limit;
    return steady_now() < *saving_until_ && options_.is_saving(environment_of(0));
  }

  void signal_all(int signal) const {
    for (const Running& child : running_) kill(child.process, signal);
  }

  enum class Stage { kRunning, kAsked, kKilled };

  const LaunchOptions& options_;
  HostedStore store_;
  std::vector<Running> running_;
  std::optional<SteadyTime> deadline_, saving_until_;
  bool told_twice_ = false;  // to end
  Stage stage_ = Stage::kRunning;
  LaunchResult result_;
};

// Of the signals that we block a child inherits those that would end it before it has a handler and
// are not meant to; the others may end it.
void prepare(posix_spawnattr_t& attributes) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGUSR2);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

}  // namespace

std::optional<RankEnd> LaunchResult::first_failure() const {
  const auto found = std::ranges::find_if(
      ends, [](const RankEnd& end) { return end.failed() && !end.ended_by_us; });
  if (found == ends.end()) return std::nullopt;
  return *found;
}

LaunchResult launch(const LaunchOptions& options) {
  const Signals signals;  // before any thread that serves the store, which then blocks them too
  if (options.is_stopped && options.is_stopped()) return {};
  Job job(options);
  if (!job.start()) return {};
  LaunchResult result = job.run(signals);
  job.serve_others(signals);
  return result;
}

bool signal_waits() {
  sigset_t pending;
  if (sigpending(&pending) != 0) return false;
  return std::ranges::any_of(kPassedOn,
                             [&](int signal) { return sigismember(&pending, signal) == 1; });
}

StartChild start_program(const std::string& program, const std::vector<std::string>& arguments) {
  return [program, arguments](int rank, const Environment& environment) {
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables;
    variables.reserve(environment.size());
    for (const auto& entry : environment) variables.push_back(entry.first + "=" + entry.second);
    posix_spawnattr_t attributes;
    prepare(attributes);
    pid_t process = 0;
    const int error = posix_spawn(&process, program.c_str(), nullptr, &attributes,
                                  pointers_to(words).data(), pointers_to(variables).data());
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      throw Error(ErrorKind::kMissingResource, "rank " + std::to_string(rank) +
                                                   " could not be started: " + program + ": " +
                                                   std::strerror(error));
    }
    return process;
  };
}

bool has_launcher(const Environment& environment) {
  return environment.contains(kLauncherVariable);
}

bool end_with_launcher(const Environment& environment) {
  const auto launcher = environment.find(kLauncherVariable);
  if (launcher == environment.end()) return false;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have gone before that.
  if (std::to_string(getppid()) != launcher->second) {
    throw Error(ErrorKind::kMissingResource,
                "the launcher of this rank (process " + launcher->second + ") is gone");
  }
  return true;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string words_of(const RankEnd& end) {
  const std::string who =
      "rank " + std::to_string(end.rank) + " (process " + std::to_string(end.process) + ") ";
  if (end.signal != 0) {
    return who + "was ended by signal " + std::to_string(end.signal) + " (" +
           strsignal(end.signal) + ")";
  }
  return who + "ended with exit code " + std::to_string(end.exit_code);
}

}  // namespace penstock
