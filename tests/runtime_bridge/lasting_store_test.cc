#include "runtime_bridge/lasting_store.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "runtime_bridge/heartbeat.h"
#include "tests/core/messages.h"
#include "tests/runtime_bridge/memory_store.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using tests::MemoryStore;
using tests::SharedMemory;

// An empty folder that goes with the test.
class Checkpoints {
 public:
  Checkpoints()
      : path_(fs::temp_directory_path() / ("penstock_lasting_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  ~Checkpoints() { fs::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_CASE("a folder keeps values by their keys, the newest of each") {
  const Checkpoints there;
  FolderStore store(there.path() + "/survivors.1"), other(there.path() + "/survivors.1");
  CHECK(!store.get("last_step/standing/0"));
  CHECK(!fs::exists(there.path() + "/survivors.1"));  // made with the first value
  store.set("last_step/standing/0", "a");
  other.set("last_step/standing/1", "b");
  store.set("last_step/standing/0", std::string("c\0d", 3));
  CHECK(other.get("last_step/standing/0") == std::string("c\0d", 3));
  CHECK(store.get("last_step/standing/1") == "b");
  std::ofstream(there.path() + "/file") << "no folder";
  CHECK_THROWS_AS(FolderStore(there.path() + "/file").set("key", "value"), TransportFailure);
}

// Two ranks; the store goes between two calls of theirs.
TEST_CASE("what a rank told a store that is lost the others find in the folder, in its order") {
  const Checkpoints there;
  const std::string folder = survivors_folder(there.path(), "17");
  const auto memory = std::make_shared<SharedMemory>();
  LastingStore first(folder), second(folder);
  const auto heartbeat = first.client(std::make_unique<MemoryStore>(memory));
  const auto standing = first.client(std::make_unique<MemoryStore>(memory));
  const auto reader = second.client(std::make_unique<MemoryStore>(memory));
  heartbeat->set("sign_of_life/0", "runs");
  standing->set("last_step/standing/0", "step 3");
  CHECK(reader->get("last_step/standing/0") == "step 3");
  CHECK(!fs::exists(folder));
  memory->out_of_reach = true;
  CHECK(!reader->get("last_step/standing/0"));  // moved, and the other has not
  CHECK(second.has_moved());
  CHECK(!first.has_moved());
  heartbeat->set("sign_of_life/0", "saw a failure");
  CHECK(first.has_moved());
  CHECK(reader->get("sign_of_life/0") == "saw a failure");
  CHECK(reader->get("last_step/standing/0") == "step 3");
  // The other client of the rank has moved with it, even where the store came back.
  memory->out_of_reach = false;
  standing->set("last_step/standing/0", "step 4");
  CHECK(reader->get("last_step/standing/0") == "step 4");
}

TEST_CASE("without a folder a lost store stays lost") {
  const auto memory = std::make_shared<SharedMemory>();
  LastingStore lasting("");
  const auto client = lasting.client(std::make_unique<MemoryStore>(memory));
  memory->out_of_reach = true;
  CHECK_THROWS_AS(client->set("key", "value"), TransportFailure);
  CHECK_THROWS_AS((void)client->get("key"), TransportFailure);
  CHECK(!lasting.has_moved());
}

TEST_CASE("the folders of earlier attempts are removed, and the newest is found") {
  const Checkpoints there;
  CHECK(!newest_survivors_folder(there.path()));
  CHECK(!newest_survivors_folder(there.path() + "/none"));
  for (const char* attempt : {"998", "999", "1002"}) {
    FolderStore(survivors_folder(there.path(), attempt)).set("key", "value");
  }
  CHECK(newest_survivors_folder(there.path()) == there.path() + "/survivors.1002");
  remove_other_survivors_folders(there.path(), "999");
  CHECK(newest_survivors_folder(there.path()) == there.path() + "/survivors.999");
}

// Rank 0 served the store and was lost with it; ranks 1 and 2 notice by themselves.
TEST_CASE("ranks whose store went with one of them know which it was") {
  const Checkpoints there;
  const std::string folder = survivors_folder(there.path(), "1");
  const auto memory = std::make_shared<SharedMemory>();
  const auto options = [](int rank, const LastingStore& store) {
    HeartbeatOptions made;
    made.rank = rank;
    made.ranks = 3;
    made.process = "pid 471" + std::to_string(rank) + " on host a";
    made.interval = milliseconds(5);
    made.silence = milliseconds(400);
    made.store_is_lost = [&store] { return store.has_moved(); };
    return made;
  };
  LastingStore of_first(folder), of_second(folder);
  Heartbeat first(options(1, of_first), of_first.client(std::make_unique<MemoryStore>(memory)));
  Heartbeat second(options(2, of_second), of_second.client(std::make_unique<MemoryStore>(memory)));
  first.at(17, 3);
  second.at(17, 4);
  memory->out_of_reach = true;
  CHECK(first.look({0, "connection closed"}) == std::set<int>{0});
  CHECK(second.look({0, "connection closed"}) == std::set<int>{0});
  CHECK(std::string(first.explain({0, "connection closed"}).what()) ==
        "rank 0 was lost in step 17: no heartbeat since the job's store was lost; the others "
        "stopped (connection closed)");
}

}  // namespace
}  // namespace penstock
