#include "manager/port/command_message.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

std::string message_with(const std::string& command) {
  return R"({"format": "penstock.command/1", "job": "j", "sender": "a", "id": "1",
             "challenge": "c", "command": )" +
         command + "}";
}

TEST_CASE("every command is written and read again as it was") {
  const auto at = parse_utc_time("2026-11-24T01:25:43.25Z");
  for (const CommandGiven& command :
       {CommandGiven{"8c1f", CommandKind::kJoin, "console", "node3", 8, {}},
        CommandGiven{"8c1f", CommandKind::kLeave, "console", "10.0.0.7", 1, {}},
        CommandGiven{"fnv1a64:8c1f", CommandKind::kPreempt, "node3", "node3", 1, at},
        CommandGiven{"8c1f", CommandKind::kCheckpoint, "console", "", 1, {}},
        CommandGiven{"8c1f", CommandKind::kMorph, "console", "", 1, {}},
        CommandGiven{"8c1f", CommandKind::kStop, "console", "", 1, {}}}) {
    const CommandMessage message{"gpt 6.7b", "00ff", command};
    CHECK(read_command_message(write_command_message(message)) == message);
  }
}

TEST_CASE("a command says what it is in words") {
  CHECK(command_words({"1", CommandKind::kPreempt, "a", "node3", 1,
                       parse_utc_time("2026-11-24T01:25:43Z")}) ==
        "preempt node3 at 2026-11-24T01:25:43.000Z");
  CHECK(command_words({"1", CommandKind::kJoin, "a", "node4", 8, {}}) == "join node4 with 8 GPUs");
}

TEST_CASE("what is no command is refused, and the message says where") {
  const std::vector<std::string> bad = {
      R"({"do": "format", "machine": "node3"})",                                  // no such command
      R"({"do": "leave"})",                                                       // which machine?
      R"({"do": "leave", "machine": "a;reboot"})",                                // no name
      R"({"do": "leave", "machine": "../a"})",                                    // a path
      R"({"do": "leave", "machine": "-oProxyCommand=x"})",                        // an option
      R"({"do": "leave", "machine": "a", "gpus": 8})",                            // a key too many
      R"({"do": "join", "machine": "a", "gpus": 0})",                             // none
      R"({"do": "join", "machine": "a", "gpus": 1e9})",                           // too many
      R"({"do": "preempt", "machine": "a", "at": "18:30"})",                      // no time
      R"({"do": "preempt", "machine": "a", "at": "2026-11-24T01:25:43+01:00"})",  // not UTC
      R"({"do": "stop", "do": "morph"})",
      "[]",
      "null",
      "{}"};
  for (const std::string& command : bad) {
    CAPTURE(command);
    CHECK_THROWS_AS((void)read_command_message(message_with(command)), Error);
  }
  CHECK_THROWS_WITH((void)read_command_message(message_with(R"({"do": "leave"})")),
                    doctest::Contains("/command"));
}

TEST_CASE("names of machines are words, and never options or paths") {
  for (const char* name : {"node3", "10.0.0.7", "fe80::1", "a_b-c.example.org"})
    CHECK(is_machine_name(name));
  for (const char* name : {"", "-a", ".", "a b", "a/b", "a\n", "$(x)", "\xc3\xa4"}) {
    CHECK_FALSE(is_machine_name(name));
  }
  CHECK_FALSE(is_machine_name(std::string(254, 'a')));
}

}  // namespace
}  // namespace penstock
