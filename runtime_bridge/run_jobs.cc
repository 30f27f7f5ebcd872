// One thread polls its children: jobs take minutes, and a tenth of a second between two is nothing.
// The order on every rank is that of the schedule's starts, so who has to wait for whom is known
// before anything runs, and times only decide when.
#include "runtime_bridge/run_jobs.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/values/error.h"
#include "training/steady_time.h"

extern char** environ;

namespace penstock {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
constexpr int kNotStarted = 127;

class Jobs {
 public:
  Jobs(const std::vector<ScheduledJob>& jobs, const RunJobsOptions& options)
      : jobs_(jobs), options_(options), ends_(jobs.size()), processes_(jobs.size()) {
    order_.resize(jobs.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return jobs[a].start < jobs[b].start; });
  }

  std::vector<JobEnd> run() {
    while (true) {
      stop_if_asked();
      if (!is_stopped_) start_those_that_can();
      if (running_ == 0 && (is_stopped_ || waiting() == 0)) return std::move(ends_);
      std::this_thread::sleep_for(kBetweenLooks);
      for (std::size_t job = 0; job < jobs_.size(); ++job) look_at(job);
      if (options_.observer != nullptr) options_.observer->time_passed();
    }
  }

 private:
  [[nodiscard]] std::size_t waiting() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(ends_, [](const JobEnd& end) { return !end.was_started; }));
  }
  [[nodiscard]] bool has_ended(std::size_t job) const {
    return ends_[job].was_started && !processes_[job];
  }

  // Behind all that come before it on one of its ranks.
  [[nodiscard]] bool can_start(std::size_t place) const {
    const std::vector<int>& ranks = jobs_[order_[place]].ranks;
    for (std::size_t before = 0; before < place; ++before) {
      if (has_ended(order_[before])) continue;
      for (const int rank : jobs_[order_[before]].ranks) {
        if (std::ranges::find(ranks, rank) != ranks.end()) return false;
      }
    }
    return true;
  }

  void start_those_that_can() {
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const std::size_t job = order_[place];
      if (ends_[job].was_started || !can_start(place)) continue;
      ends_[job].was_started = true;
      ends_[job].start = now();
      try {
        processes_[job] = options_.start(job);
        ++running_;
        if (options_.observer != nullptr) options_.observer->job_started(job);
      } catch (const std::exception&) {
        ends_[job].exit_code = kNotStarted;
        end(job);
      }
    }
  }

  void look_at(std::size_t job) {
    if (!processes_[job]) return;
    int status = 0;
    const int process = waitpid(*processes_[job], &status, WNOHANG);
    if (process == 0 || (process < 0 && errno == EINTR)) return;
    if (WIFSIGNALED(status)) ends_[job].signal = WTERMSIG(status);
    if (WIFEXITED(status)) ends_[job].exit_code = WEXITSTATUS(status);
    processes_[job].reset();
    --running_;
    end(job);
  }

  void end(std::size_t job) {
    ends_[job].end = now();
    if (options_.observer != nullptr) options_.observer->job_ended(job, ends_[job]);
  }

  void stop_if_asked() {
    if (is_stopped_ || !options_.is_stopped || !options_.is_stopped()) return;
    is_stopped_ = true;
    for (const std::optional<int>& process : processes_) {
      if (process) kill(*process, SIGUSR1);
    }
  }

  [[nodiscard]] Duration now() const { return steady_now() - began_; }

  const std::vector<ScheduledJob>& jobs_;
  const RunJobsOptions& options_;
  const SteadyTime began_ = steady_now();
  std::vector<std::size_t> order_;
  std::vector<JobEnd> ends_;
  std::vector<std::optional<int>> processes_;  // of those that run
  int running_ = 0;
  bool is_stopped_ = false;
};

[[noreturn]] void cannot_start(const ChildProgram& child, int code) {
  throw Error(ErrorKind::kMissingResource, "cannot start " + child.program + " for " +
                                               child.errors + ": " + std::strerror(code));
}

}  // namespace

std::vector<JobEnd> run_jobs(const std::vector<ScheduledJob>& jobs, const RunJobsOptions& options) {
  return Jobs(jobs, options).run();
}

int start_child(const ChildProgram& child) {
  std::vector<std::string> words{child.program};
  words.insert(words.end(), child.arguments.begin(), child.arguments.end());
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    const std::string name = variable.substr(0, variable.find('='));
    const bool is_set =
        std::ranges::any_of(child.environment, [&](const auto& own) { return own.first == name; });
    if (!is_set) variables.push_back(variable);
  }
  for (const auto& [name, value] : child.environment) {
    std::string& variable = variables.emplace_back(name);
    variable += '=';
    variable += value;
  }
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  };
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kAnew = O_WRONLY | O_CREAT | O_TRUNC;
  constexpr mode_t kMode = 0644;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, child.output.c_str(), kAnew, kMode);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, child.errors.c_str(), kAnew, kMode);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int code = posix_spawn(&process, child.program.c_str(), &files, &attributes,
                               pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) cannot_start(child, code);
  return process;
}

}  // namespace penstock
