#include "manager/hosts/job_processes.h"

#include <csignal>
#include <thread>

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock {
namespace {

// A process that sleeps, with this environment; killed with the object.
class Sleeper {
 public:
  explicit Sleeper(std::vector<std::string> variables) {
    std::string program = "/bin/sleep", time = "30";
    char* words[] = {program.data(), time.data(), nullptr};
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    REQUIRE(posix_spawn(&process_, words[0], nullptr, nullptr, words, environment.data()) == 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    kill(process_, SIGKILL);
    if (!taken_) waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] int process() const { return process_; }
  [[nodiscard]] ProcessId id() const { return {process_, start_ticks_of(process_).value()}; }
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    taken_ = true;
    return status;
  }

 private:
  pid_t process_ = 0;
  bool taken_ = false;
};

// Of this test alone, however many run on the machine.
std::string own_job() { return "test-" + std::to_string(getpid()); }

template <class Condition>
bool soon(const Condition& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_CASE("the processes of a job are found by their mark, those of others are not") {
  const std::string job = own_job();
  const Sleeper launcher({"PENSTOCK_JOB=" + job, "PENSTOCK_GENERATION=3", "PENSTOCK_MACHINE=a"});
  const Sleeper rank({"PENSTOCK_JOB=" + job, "PENSTOCK_GENERATION=3", "PENSTOCK_MACHINE=a",
                      "PENSTOCK_LAUNCHER_PROCESS=" + std::to_string(launcher.process())});
  const Sleeper other({"PENSTOCK_JOB=" + job + "0", "PENSTOCK_GENERATION=3", "PENSTOCK_MACHINE=a"});
  const Sleeper stranger({"PATH=/bin"});
  std::vector<JobProcess> found;
  CHECK(soon([&] {
    found = processes_of(job);
    return found.size() == 2;
  }));
  REQUIRE(found.size() == 2);
  const JobProcess& first = found[0].is_launcher ? found[0] : found[1];
  const JobProcess& second = found[0].is_launcher ? found[1] : found[0];
  CHECK(first.id == launcher.id());
  CHECK(first.is_launcher);
  CHECK(first.generation == 3);
  CHECK(first.machine == "a");
  CHECK(second.id == rank.id());
  CHECK(!second.is_launcher);
}

TEST_CASE("a process that was stopped and one that has ended are told apart") {
  Sleeper sleeper({"PENSTOCK_JOB=" + own_job(), "PENSTOCK_GENERATION=1", "PENSTOCK_MACHINE=a"});
  const ProcessId id = sleeper.id();
  CHECK(state_of(id) == ProcessState::kRunning);
  CHECK(send_signal(id, SIGSTOP));
  CHECK(soon([&] { return state_of(id) == ProcessState::kStopped; }));
  CHECK(send_signal(id, SIGKILL));
  CHECK(soon([&] { return state_of(id) == ProcessState::kEnded; }));  // nobody has waited yet
  CHECK(processes_of(own_job()).empty());
  CHECK(WTERMSIG(sleeper.wait()) == SIGKILL);
  CHECK(state_of(id) == ProcessState::kEnded);
}

TEST_CASE("a signal does not reach another process of the same number") {
  Sleeper sleeper({"PATH=/bin"});
  ProcessId other = sleeper.id();
  --other.start_ticks;
  CHECK(!send_signal(other, SIGKILL));
  CHECK(state_of(other) == ProcessState::kEnded);
  CHECK(state_of(sleeper.id()) == ProcessState::kRunning);
  CHECK(send_signal(sleeper.id(), SIGTERM));
  CHECK(WTERMSIG(sleeper.wait()) == SIGTERM);
}

}  // namespace
}  // namespace penstock
