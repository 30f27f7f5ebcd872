#include "manager/log_line.h"

#include <doctest/doctest.h>

#include "manager/event.h"
#include "tests/manager/jobs.h"

namespace penstock::test {
namespace {

LogEntry entry_of(const std::string& event, const std::string& decision,
                  const std::string& reason) {
  LogEntry entry;
  entry.at = *parse_utc_time("2026-11-28T13:58:30Z");
  entry.event = event;
  entry.decision = decision;
  entry.reason = reason;
  return entry;
}

TEST_CASE("a line says what happened, unless its reason does") {
  CHECK(log_line(entry_of("machine a joined with 1 GPU", "note", "The job has 2 machines now.")) ==
        "13:58:30 note: machine a joined with 1 GPU. The job has 2 machines now.");
  CHECK(log_line(entry_of("rank 1 ended", "follow", "The others end: rank 1 ended.")) ==
        "13:58:30 follow: The others end: rank 1 ended.");
  CHECK(log_line(entry_of("machine a will be gone by noon (announced)", "stop",
                          "The ranks exit: machine a will be gone by noon.")) ==
        "13:58:30 stop: The ranks exit: machine a will be gone by noon.");
  CHECK(log_line(entry_of(words_of(TimePassed{}), "kill", "The remaining ranks are killed.")) ==
        "13:58:30 kill: The remaining ranks are killed.");
}

TEST_CASE("a command of a signal is not named twice") {
  CommandGiven command;
  command.who = "SIGTERM";
  command.id = "SIGTERM at 2026-11-28T13:58:30Z";
  command.kind = CommandKind::kStop;
  CHECK(words_of(command) == "command of SIGTERM: stop");
  command.id = "8c1f";
  command.who = "console";
  CHECK(words_of(command) == "command of console: stop (id 8c1f)");
}

TEST_CASE("a line does not show the id of a command, which the log keeps") {
  CHECK(log_line(entry_of("command of console: stop (id 8c1f)", "stop", "The ranks exit.")) ==
        "13:58:30 stop: command of console: stop. The ranks exit.");
}

}  // namespace
}  // namespace penstock::test
