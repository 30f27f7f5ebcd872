#include "core/files/read_availability.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/morphing/recordings.h"

namespace penstock {
namespace {

using std::chrono::seconds;

std::string refused(const std::string& text) {
  try {
    read_availability(text, "t.csv");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

bool says(const std::string& message, const std::string& part) {
  CAPTURE(message);
  return message.find(part) != std::string::npos;
}

TEST_CASE("spreadsheets begin a file with a byte order mark, and end lines with two characters") {
  CHECK(read_availability("\xEF\xBB\xBFtime_s,gpus\r\n0,8\r\n60,4\r\n", "t.csv") ==
        read_availability("time_s,gpus\n0,8\n60,4\n", "t.csv"));
}

TEST_CASE("Numbers of GPUs are read, and the last row is the end") {
  const Availability read = read_availability(
      "time_s,gpus,usd_per_gpu_hour\r\n0,4,\r\n60,4,\r\n90,2,1.5\r\n120,2,\r\n", "t.csv");
  REQUIRE(read.changes.size() == 2);
  CHECK(read.changes[0] == AvailabilityChange{Duration{}, 4, {}, {}, {}, {}});
  CHECK(read.changes[1] == AvailabilityChange{seconds(90), 2, {}, {}, {}, 1.5});
  CHECK(read.end == seconds(120));
  CHECK_FALSE(read.names_machines());
  CHECK_FALSE(read.gpus_at_end);
}

TEST_CASE("A change in the last row is no event, and is kept to be told of") {
  const Availability read = read_availability("time_s,gpus\n0,64\n3600,62\n", "t.csv");
  CHECK(read.changes.size() == 1);
  CHECK(read.gpus_at_end == 62);
}

TEST_CASE("Machines of one moment are one change, and one that came and went was never there") {
  const Availability read = read_availability(
      "time_s,node,event,gpus,notice_s\n5,a,add,8,\n5,b,add,4,\n9,a,remove,8,120\n9,c,add,1,\n"
      "9,c,remove,1,30\n20,-,end,0,\n",
      "t.csv");
  CHECK(read.machines == std::vector<AvailableMachine>{{"a", 8}, {"b", 4}, {"c", 1}});
  REQUIRE(read.changes.size() == 2);
  CHECK(read.changes[0] == AvailabilityChange{seconds(5), 12, {0, 1}, {}, {}, {}});
  CHECK(read.changes[1] == AvailabilityChange{seconds(9), 4, {}, {0}, seconds(30), {}});
  CHECK(read.end == seconds(20));
}

TEST_CASE("Device types are counted, in columns of their own or by machine") {
  const Availability counts =
      read_availability("time_s,gpus:new,gpus:old\n0,4,8\n60,0,12\n90,0,12\n", "t.csv");
  CHECK(counts.types == std::vector<std::string>{"new", "old"});
  REQUIRE(counts.changes.size() == 2);  // as many GPUs, but of other types
  CHECK(counts.changes[0].of_types == std::vector<int>{4, 8});
  CHECK(counts.changes[1].of_types == std::vector<int>{0, 12});
  CHECK(counts.changes[1].gpus == 12);
  CHECK(counts.end == seconds(90));
  const Availability machines = read_availability(
      "time_s,node,event,gpus,device\n0,a,add,8,old\n5,b,add,4,new\n9,a,remove,8,\n"
      "20,-,end,0,\n",
      "t.csv");
  CHECK(machines.types == std::vector<std::string>{"old", "new"});
  CHECK(machines.machines[1] == AvailableMachine{"b", 4, 1});
  REQUIRE(machines.changes.size() == 3);
  CHECK(machines.changes[0].of_types == std::vector<int>{8, 0});  // of new ones none yet
  CHECK(machines.changes[1].of_types == std::vector<int>{8, 4});
  CHECK(machines.changes[2].of_types == std::vector<int>{0, 4});
  CHECK(says(refused("time_s,gpus,gpus:a\n0,1,1\n"), "leave out gpus"));
  CHECK(says(refused("time_s,gpus,device\n0,1,a\n"), "device goes with node and event"));
  CHECK(says(refused("time_s,node,event,gpus,device\n0,a,add,1,\n"), "needs its type"));
  const std::string of_types = "time_s,node,event,gpus,device\n0,a,add,8,old\n5,b,add,4,new\n";
  CHECK(read_availability(of_types + "9,a,remove,8,old\n20,-,end,0,\n", "t.csv") == machines);
  CHECK(says(refused(of_types + "9,a,remove,8,new\n20,-,end,0,\n"),
             "t.csv:4: device: \"a\" was added as old, and is removed as new"));
  CHECK(says(refused("time_s,gpus:a,gpus:b\n0,1000000,1\n"), "more than 1000000 GPUs"));
}

TEST_CASE("What is no recording is refused with its line and a remedy") {
  CHECK(says(refused(""), "t.csv:0: the file is empty"));
  CHECK(says(refused("time_s\n0\n"), "there is no column gpus"));
  CHECK(says(refused("time_s,gpu\n"), "\"gpu\" is not a column"));
  CHECK(says(refused("time_s,gpus\n"), "there are no rows"));
  CHECK(says(refused("time_s,gpus\n0,1\n0,2\n"), "t.csv:3: time_s: 0 is not after"));
  CHECK(says(refused("time_s,gpus\n0,-1\n"), "expected an integer from 0 to 1000000, got \"-1\""));
  CHECK(says(refused("time_s,gpus\n0,1,2\n"), "expected 2 cells, got 3"));
  CHECK(says(refused("time_s,gpus,notice_s\n0,1,2\n"), "goes with node and event only"));
  const std::string head = "time_s,node,event,gpus\n";
  CHECK(says(refused(head + "0,a,add,1\n"), "expected a last row with the event \"end\""));
  CHECK(says(refused(head + "0,a,remove,1\n"), "\"a\" is not there"));
  CHECK(says(refused(head + "0,a,add,1\n1,a,remove,1\n2,a,add,1\n"), "has another name"));
  CHECK(says(refused(head + "0,a,add,1\n1,a,lost,1\n"), "expected add, remove or end"));
  CHECK(says(refused(head + "0,a,add,1\n5,-,end,0\n6,b,add,1\n"), "the recording has ended"));
  CHECK(says(refused(head + "0,a,add,0\n"), "without GPUs"));
}

TEST_CASE("The shipped recordings have the hours, machines and changes that their table says") {
  const Availability p3 = recording_called("aws_p3_bamboo.nodes");
  CHECK(p3.machines.size() == 177);
  CHECK(p3.end == seconds(40'920));
  CHECK(most_gpus(p3) == 32);
  CHECK(recording_called("aws_p2_us-east-1e_2020-11-23.gpus").changes.size() == 6);
}

}  // namespace
}  // namespace penstock
