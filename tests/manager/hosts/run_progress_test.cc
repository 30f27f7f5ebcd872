#include "manager/hosts/run_progress.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/values/error.h"
#include "core/values/run_log.h"
#include "manager/event.h"

namespace penstock {
namespace {

class LogFile {
 public:
  LogFile()
      : path_(std::filesystem::temp_directory_path() /
              ("penstock_progress_" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { std::filesystem::remove(path_); }
  void add(const std::string& text) const {
    std::ofstream(path_, std::ios::app | std::ios::binary) << text;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string line_of(std::int64_t step, double loss) {
  MeasuredStep measured;
  measured.step = step;
  measured.loss = loss;
  measured.step_time = std::chrono::milliseconds(20);
  measured.tokens = 512;
  return write_measured_step(measured) + "\n";
}

TEST_CASE("steps are told once, and one that is cut in the middle when it is whole") {
  const LogFile log;
  RunProgress progress(log.path());
  CHECK(progress.read_more().empty());  // no rank has opened it yet
  log.add(write_run_header({}) + "\n");
  CHECK(progress.read_more().empty());
  const std::string second = line_of(8, 2.5);
  log.add(line_of(7, 3.0) + second.substr(0, 20));
  CHECK(progress.read_more() ==
        std::vector<FinishedStep>{{7, 3.0, std::chrono::milliseconds(20), 512}});
  CHECK(progress.read_more().empty());
  log.add(second.substr(20));
  CHECK(progress.read_more() ==
        std::vector<FinishedStep>{{8, 2.5, std::chrono::milliseconds(20), 512}});
}

TEST_CASE("a header that is cut in the middle is no step") {
  const LogFile log;
  RunProgress progress(log.path());
  const std::string header = write_run_header({}) + "\n";
  log.add(header.substr(0, 10));
  CHECK(progress.read_more().empty());
  log.add(header.substr(10) + line_of(0, 1.0));
  CHECK(progress.read_more().size() == 1);
}

TEST_CASE("a step that the run before has done is none of this one") {
  const LogFile log;
  RunProgress progress(log.path());
  MeasuredStep before;
  before.step = 3;
  before.tokens = 512;
  log.add(write_run_header({}) + "\n" + write_measured_step(before) + "\n" + line_of(4, 1.0));
  const auto steps = progress.read_more();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].step == 4);
}

TEST_CASE("a loss that is no number is a finished step all the same") {
  const LogFile log;
  RunProgress progress(log.path());
  log.add(write_run_header({}) + "\n" + line_of(3, std::numeric_limits<double>::infinity()));
  const auto steps = progress.read_more();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].loss == kNotFinite);
}

TEST_CASE("a line that is no step is refused with its place") {
  const LogFile log;
  RunProgress progress(log.path());
  log.add(write_run_header({}) + "\n{}\n");
  CHECK_THROWS_WITH_AS((void)progress.read_more(), doctest::Contains(":2:"), Error);
}

}  // namespace
}  // namespace penstock
