#include "runtime_bridge/meeting_folder.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/values/error.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

// An empty folder that goes with the test.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("penstock_meeting_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool never() { return false; }

TEST_CASE("where the ranks meet is told to its owner only") {
  const Folder there;
  const MeetingFolder folder(there.path());
  folder.say_where({nullptr, 4001, "gpu7", "secret"});
  struct stat about {};
  REQUIRE(stat((there.path() + "/store.json").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  const auto store = folder.wait_for_store(milliseconds(0), never);
  REQUIRE(store);
  CHECK(store->host == "gpu7");
  CHECK(store->port == 4001);
  CHECK(store->token == "secret");
}

TEST_CASE("nobody waits for ever, nor after a signal, nor for a start that was given up") {
  const Folder there;
  const MeetingFolder folder(there.path());
  CHECK(!folder.wait_for_store(milliseconds(60000), [] { return true; }));
  CHECK(tests::message_of([&] {
          (void)folder.wait_for_store(milliseconds(1), never);
        }).find("has not said where the ranks meet") != std::string::npos);
  CHECK(!folder.is_given_up());
  folder.give_up();
  CHECK(folder.is_given_up());
  CHECK(tests::message_of([&] {
          (void)folder.wait_for_store(milliseconds(60000), never);
        }).find("was given up") != std::string::npos);
}

TEST_CASE("what a launcher says of its ranks is read as it was said") {
  const Folder there;
  const MeetingFolder folder(there.path());
  const RanksHere which{2, 2};
  CHECK(to_text(which) == "2-3");
  CHECK(to_text(RanksHere{5, 1}) == "5");
  CHECK(!folder.read_ranks(which));
  const LaunchedRanks ranks{{{3, 4712}}, {{2, 4711, 0, 9, true}}};
  folder.say_ranks(which, ranks);
  CHECK(folder.read_ranks(which) == ranks);
  CHECK(folder.ended_ranks() == 1);
  folder.say_ranks({0, 2}, {{}, {{1, 4711, 3, 0, false}, {0, 4712, 3, 0, false}}});
  CHECK(folder.ended_ranks() == 3);
  CHECK(!folder.read_ranks({4, 1}));  // of another machine
  std::ofstream(there.path() + "/ranks-2-3.json") << "{\"running\": [";
  CHECK_THROWS_AS((void)folder.read_ranks(which), Error);
}

}  // namespace
}  // namespace penstock
