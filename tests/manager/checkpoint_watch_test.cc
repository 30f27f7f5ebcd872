#include "manager/checkpoint_watch.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime_bridge/checkpoint_writer.h"
#include "tests/runtime_bridge/fake_states.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using tests::FakeRank;
using tests::Layout;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("penstock_watch_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string path(const std::string& name = "") const { return path_ / name; }

 private:
  fs::path path_;
};

void write_checkpoint(const Folder& folder, std::int64_t step) {
  CheckpointOptions options;
  options.folder = folder.path();
  options.keep = 10;
  CheckpointInfo info;
  info.step = step;
  info.model = "toy";
  info.sections = 4;
  CheckpointWriter writer(options);
  FakeRank fake(Layout{}, 0, true);
  writer.begin(info, fake.states(), copy_in_host_memory());
  writer.finish();
}

// One look after the other, on a clock of the test.
class Looks {
 public:
  explicit Looks(const Folder& folder) : watch_(folder.path(), [this] { return now; }) {
    watch_.begin(JobState{});
  }
  std::vector<Event> at(Duration when) {
    now = SteadyTime{when};
    return watch_.poll();
  }
  SteadyTime now{};

 private:
  CheckpointWatch watch_;
};

CheckpointWritten only(const std::vector<Event>& events) {
  REQUIRE(events.size() == 1);
  return std::get<CheckpointWritten>(events[0]);
}

TEST_CASE("a checkpoint took from when its folder was there until it was complete") {
  const Folder folder;
  Looks looks(folder);
  CHECK(looks.at(seconds(1)).empty());
  fs::create_directory(folder.path("step-5.17.partial"));
  CHECK(looks.at(seconds(2)).empty());
  CHECK(looks.at(seconds(9)).empty());
  fs::remove(folder.path("step-5.17.partial"));
  write_checkpoint(folder, 5);
  const CheckpointWritten written = only(looks.at(seconds(10)));
  CHECK(written.step == 5);
  CHECK(written.took == seconds(8));
  CHECK(looks.at(seconds(11)).empty());
}

TEST_CASE("of one that was complete at once only the time between two looks is known") {
  const Folder folder;
  write_checkpoint(folder, 3);
  Looks looks(folder);
  CHECK(!only(looks.at(seconds(1))).took);  // nobody looked before
  write_checkpoint(folder, 6);
  CHECK(only(looks.at(seconds(3))).took == seconds(2));
}

TEST_CASE("what a crash has left over of a step says nothing of how long it took later") {
  const Folder folder;
  Looks looks(folder);
  fs::create_directory(folder.path("step-5.before.partial"));
  CHECK(looks.at(seconds(1)).empty());
  fs::create_directory(folder.path("step-5.now.partial"));
  CHECK(looks.at(seconds(100)).empty());
  fs::remove(folder.path("step-5.now.partial"));
  write_checkpoint(folder, 5);
  CHECK(only(looks.at(seconds(102))).took == seconds(2));
}

}  // namespace
}  // namespace penstock
