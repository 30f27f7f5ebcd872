#include "cli/io/run_log_file.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "core/values/json_reader.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

// A file that goes with the test.
struct LogFile {
  std::string path =
      (std::filesystem::temp_directory_path() / "penstock_run_log_file_test.jsonl").string();
  LogFile() { std::filesystem::remove(path); }
  ~LogFile() { std::filesystem::remove(path); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
};

RunHeader header_from(std::int64_t first_step) {
  RunHeader header;
  header.plan = "plan.json";
  header.plan_hash = "a";
  header.first_step = first_step;
  return header;
}

MeasuredStep step(std::int64_t number, double loss) {
  MeasuredStep out;
  out.step = number;
  out.loss = loss;
  return out;
}

RunLog read(const std::string& path) { return read_run_log(read_file(path), path); }

TEST_CASE("each step is on disk when it has ended, and a new run begins anew") {
  const LogFile file;
  {
    RunLogFile log(file.path, header_from(0));
    log.add(step(0, 5.0));
    CHECK(read(file.path).steps.size() == 1);
    log.add(step(1, 4.0));
  }
  RunLogFile again(file.path, header_from(0));
  CHECK(read(file.path).steps.empty());
}

TEST_CASE("a run that resumes keeps the steps before it, and repeats those after its checkpoint") {
  const LogFile file;
  {
    RunLogFile log(file.path, header_from(0));
    for (int i = 0; i < 5; ++i) log.add(step(i, 5.0 - i));
  }
  {
    RunLogFile log(file.path, header_from(3));
    log.add(step(3, 2.5));
  }
  const RunLog log = read(file.path);
  REQUIRE(log.steps.size() == 4);
  CHECK(log.header.first_step == 0);
  CHECK(log.steps[2].loss == 3.0);
  CHECK(log.steps[3].loss == 2.5);
}

TEST_CASE("a run that resumes under another plan names it in its steps, and may have more ranks") {
  const LogFile file;
  {
    RunLogFile log(file.path, header_from(0));
    for (int i = 0; i < 4; ++i) log.add(step(i, 5.0 - i));
  }
  RunHeader other = header_from(2);
  other.plan = "other.json";
  other.plan_hash = "b";
  other.ranks = 3;
  RunLogFile again(file.path, other);
  CHECK(again.last_step() == 1);
  again.add(step(2, 2.5));
  const RunLog log = read(file.path);
  REQUIRE(log.steps.size() == 3);
  CHECK(log.header.plan_hash == "a");
  CHECK(log.header.ranks == 3);
  CHECK(log.steps[1].plan_hash.empty());
  CHECK(log.steps[2].plan == "other.json");
  CHECK(log.steps[2].plan_hash == "b");
}

TEST_CASE("a folder that is not there is named") {
  const std::string message =
      tests::message_of([] { RunLogFile("/nowhere/at/all.jsonl", header_from(0)); });
  CHECK(message.find("/nowhere/at/all.jsonl: cannot be written: No such file") == 0);
}

}  // namespace
}  // namespace penstock
