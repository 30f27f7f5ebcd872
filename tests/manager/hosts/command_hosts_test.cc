// The "other machine" is a shell of this one, so that the scripts really run.
#include "manager/hosts/command_hosts.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/values/error.h"

namespace penstock {
namespace {

std::string own_job() { return "commands-" + std::to_string(getpid()); }

std::vector<JobProcess> wait_for(CommandHosts& hosts, std::size_t count) {
  for (int i = 0; i < 200; ++i) {
    const auto found = hosts.processes("m", own_job());
    REQUIRE(found);
    if (found->size() == count) return *found;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL("there are not " << count << " processes");
  return {};
}

TEST_CASE("what is started through a shell is found, stopped and ended through one") {
  const std::string output =
      std::filesystem::temp_directory_path() / ("penstock hosts' " + std::to_string(getpid()));
  CommandHosts hosts(CommandTemplate("sh -c {command}"), "/usr/share", std::chrono::seconds(20));
  DetachedCommand command;
  command.words = {"sh", "-c", "echo \"it's $MORE in $PWD\"; exec sleep 30"};
  command.variables = {{"PENSTOCK_JOB", own_job()},
                       {"PENSTOCK_GENERATION", "7"},
                       {"PENSTOCK_MACHINE", "m"},
                       {"MORE", "a b"}};
  command.output = output;
  hosts.start("m", command);
  const std::vector<JobProcess> found = wait_for(hosts, 1);
  CHECK(found[0].generation == 7);
  CHECK(found[0].machine == "m");
  CHECK(found[0].is_launcher);
  CHECK(processes_of(own_job()) == found);  // as /proc says without a shell
  std::ifstream file(output);
  std::string line;
  std::getline(file, line);
  CHECK(line == "it's a b in /usr/share");

  ProcessId stranger = found[0].id;
  ++stranger.start_ticks;
  CHECK(hosts.signal("m", {stranger}, SIGKILL));
  CHECK(state_of(found[0].id) == ProcessState::kRunning);
  CHECK(hosts.signal("m", {found[0].id}, SIGSTOP));
  CHECK(wait_for(hosts, 1)[0].state == ProcessState::kStopped);
  CHECK(hosts.signal("m", {found[0].id}, SIGKILL));
  wait_for(hosts, 0);
  std::filesystem::remove(output);
}

TEST_CASE("a machine that does not answer is told from one that runs nothing") {
  CommandHosts deaf(CommandTemplate("sh -c 'exit 255' {command}"), "/", std::chrono::seconds(20));
  CHECK(!deaf.processes("m", own_job()));
  CHECK(!deaf.signal("m", {}, SIGTERM));
  CHECK_THROWS_WITH_AS(deaf.start("m", {{"penstock"}, {}, "/dev/null"}),
                       doctest::Contains("m: does not answer"), Error);
  CommandHosts greets(CommandTemplate("sh -c 'echo welcome' {command}"), "/",
                      std::chrono::seconds(20));
  CHECK(!greets.processes("m", own_job()));
  CommandHosts hangs(CommandTemplate("sh -c 'sleep 20' {command}"), "/",
                     std::chrono::milliseconds(100));
  CHECK(!hangs.processes("m", own_job()));
}

}  // namespace
}  // namespace penstock
