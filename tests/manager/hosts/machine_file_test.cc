#include "manager/hosts/machine_file.h"

#include <filesystem>
#include <fstream>
#include <tuple>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/values/error.h"
#include "manager/hosts/machine_file_source.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

using Machines = std::vector<ListedMachine>;

TEST_CASE("machines are listed as lines or as JSON") {
  CHECK(read_machines("# ours\ngpu7 8\n\n  gpu8\t4 # half\r\ngpu9\n", "m") ==
        Machines{{"gpu7", 8}, {"gpu8", 4}, {"gpu9", 1}});
  CHECK(read_machines("{\"machines\": [{\"host\": \"gpu7\", \"gpus\": 8}, {\"host\": \"b\"}]}",
                      "m") == Machines{{"gpu7", 8}, {"b", 1}});
  CHECK(read_machines("", "m").empty());
  CHECK(read_machines("gpu7 8 a100-40gb\n", "m") == Machines{{"gpu7", 8, "a100-40gb"}});
  CHECK(read_machines("{\"machines\": [{\"host\": \"b\", \"device\": \"v100\"}]}", "m") ==
        Machines{{"b", 1, "v100"}});
}

TEST_CASE("what is no list is refused with its place") {
  const auto refusal = [](const std::string& text) {
    return tests::message_of([&] { (void)read_machines(text, "m"); });
  };
  CHECK(refusal("a 1\nb two\n").starts_with("m:2: expected a number of GPUs, got 'two'"));
  CHECK(refusal("a 0").starts_with("m:1: expected a number of GPUs, got '0'"));
  CHECK(refusal("a 1 1").starts_with("m:1: '1' is not a device type"));
  CHECK(refusal("a 1 b c").starts_with("m:1: there are 4 words"));
  CHECK(refusal("a\na 2").starts_with("m:2: a is named a second time"));
  CHECK(
      refusal("-oProxyCommand=x").starts_with("m:1: '-oProxyCommand=x' is not the name of a host"));
  CHECK(refusal("{\"machines\": [{\"host\": \"a;b\"}]}").find("is not the name") !=
        std::string::npos);
  CHECK(refusal("{\"machine\": []}").find("machines") != std::string::npos);
  CHECK(refusal("{\"machines\": [").starts_with("m:1"));
}

TEST_CASE("a malformed list changes nothing, and is said once") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("penstock_machines_" + std::to_string(getpid()));
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  std::filesystem::remove(path);
  MachineFile file(path);
  CHECK(file.look().wrong.find("cannot be read") != std::string::npos);
  write("a 2\n");
  CHECK(file.look().machines == Machines{{"a", 2}});
  CHECK(file.look() == MachineFile::Look{});
  write("a 2\nb x\n");
  CHECK(file.look().wrong.find(":2:") != std::string::npos);
  CHECK(file.look() == MachineFile::Look{});
  CHECK(file.machines() == Machines{{"a", 2}});
  write("a 2 # the same\n");
  CHECK(file.look() == MachineFile::Look{});
  write("b 1\n");
  CHECK(file.look().machines == Machines{{"b", 1}});
  std::filesystem::remove(path);
  CHECK(!file.look().wrong.empty());
  CHECK(file.look().wrong.empty());
  CHECK(file.machines() == Machines{{"b", 1}});
}

// A manager that begins anew knows the machines from its stored state.
TEST_CASE("machines that are as they were stored are no news") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("penstock_begins_" + std::to_string(getpid()));
  std::ofstream(path) << "a 2 new\nb 4\nc 1 old\n";
  JobState state;
  for (const auto& [name, gpus, device] :
       {std::tuple{"a", 2, "new"}, std::tuple{"b", 4, ""}, std::tuple{"c", 1, ""}}) {
    JobMachine machine;
    machine.name = name;
    machine.gpus = gpus;
    machine.device = device;
    state.machines.push_back(machine);
  }
  MachineFileSource source(
      path, [] { return UtcTime{}; }, [](const std::string&) {});
  source.begin(state);
  // The type of c is what the file has to say.
  const std::vector<Event> events = source.poll();
  REQUIRE(events.size() == 1);
  const auto* joined = std::get_if<MachineJoined>(&events[0]);
  REQUIRE(joined != nullptr);
  CHECK(joined->machine == "c");
  CHECK(joined->device == "old");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace penstock
