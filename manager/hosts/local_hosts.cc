// Machines of a job that are all this one: ranks are started detached, found in /proc, signalled.
//
// Ranks must outlive the manager, so they are started in a session of their own with default
// signals and without its files, and are found again by what stands in their environment, never by
// what a manager remembers. A process is named by its id and its start time, so that an id that was
// given to another process is not signalled.
#include "manager/hosts/local_hosts.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "core/values/error.h"
#include "runtime_bridge/launcher.h"

namespace penstock {
namespace {

constexpr Duration kSameLook = std::chrono::milliseconds(20);

// A session of its own, so that neither a terminal nor the end of this process reaches it; no
// signal blocked or ignored; no file of ours open, since a port of the manager would stay taken.
class Detached {
 public:
  explicit Detached(const std::string& output) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0666);
    posix_spawn_file_actions_adddup2(&files_, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(&files_, 3);
  }
  Detached(const Detached&) = delete;
  Detached& operator=(const Detached&) = delete;
  ~Detached() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&files_);
  }

  int spawn(std::vector<std::string> words, std::vector<std::string> variables) {
    pid_t process = 0;
    const int error = posix_spawnp(&process, words.front().c_str(), &files_, &attributes_,
                                   pointers_to(words).data(), pointers_to(variables).data());
    if (error != 0) {
      throw Error(ErrorKind::kMissingResource,
                  words.front() + ": cannot be started: " + std::strerror(error));
    }
    return process;
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t files_{};
};

}  // namespace

void LocalHosts::start(const std::string& /*host*/, const DetachedCommand& command) {
  look_.reset();
  std::map<std::string, std::string> environment = environment_;
  for (const auto& [name, value] : command.variables) environment[name] = value;
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    variables.push_back(name);
    variables.back().append("=").append(value);
  }
  children_.push_back(Detached(command.output).spawn(command.words, std::move(variables)));
}

std::optional<std::vector<JobProcess>> LocalHosts::processes(const std::string& host,
                                                             const std::string& job) {
  const SteadyTime now = steady_now();
  if (!look_ || look_->job != job || now - look_->at > kSameLook) {
    take_ends();
    look_ = Look{job, now, processes_of(job)};
  }
  std::vector<JobProcess> found = look_->found;
  std::erase_if(found, [&](const JobProcess& process) { return process.machine != host; });
  return found;
}

bool LocalHosts::signal(const std::string& /*host*/, const std::vector<ProcessId>& processes,
                        int signal) {
  look_.reset();
  for (const ProcessId& process : processes) send_signal(process, signal);
  return true;
}

void LocalHosts::take_ends() {
  std::erase_if(children_, [](int child) {
    const pid_t got = waitpid(child, nullptr, WNOHANG);
    return got == child || (got < 0 && errno == ECHILD);
  });
}

}  // namespace penstock
