#include "training/nccl/nccl_id.h"

#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <doctest/doctest.h>
#include <nccl.h>

#include "core/error.h"
#include "training/nccl/nccl_id_text.h"
#include "training/transport.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

struct SharedValues {
  std::mutex mutex;
  std::map<std::string, std::string> values;
};

// One rank's way to the shared values.
class MemoryStore : public KeyValueStore {
 public:
  explicit MemoryStore(SharedValues& shared) : shared_(shared) {}
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(shared_.mutex);
    shared_.values[key] = value;
  }
  std::optional<std::string> get(const std::string& key) override {
    const std::lock_guard lock(shared_.mutex);
    const auto found = shared_.values.find(key);
    if (found == shared_.values.end()) return std::nullopt;
    return found->second;
  }

 private:
  SharedValues& shared_;
};

void go_on() {}

TEST_CASE("the identity of a communicator is made without a GPU, each time another one") {
  const std::string first = new_nccl_id(), second = new_nccl_id();
  CHECK(first.size() == 2 * NCCL_UNIQUE_ID_BYTES);
  CHECK(first != second);
}

TEST_CASE("an identity survives the way through a store") {
  SharedValues values;
  const std::string id = new_nccl_id();
  std::string received;
  std::thread other([&] {
    MemoryStore store(values);
    received = wait_for_nccl_id(store, "job/nccl/way/0-1", 0, std::chrono::seconds(10), go_on);
  });
  MemoryStore store(values);
  std::this_thread::sleep_for(milliseconds(20));
  store.set("job/nccl/way/0-1", id);
  other.join();
  CHECK(received == id);
  CHECK(text_of(nccl_id_of(received)) == id);
}

TEST_CASE("a root that does not come is named after the time-out") {
  SharedValues values;
  MemoryStore store(values);
  try {
    (void)wait_for_nccl_id(store, "job/nccl/way/3-1", 3, milliseconds(20), go_on);
    FAIL("expected a failure");
  } catch (const TransportFailure& failure) {
    CHECK(failure.peer() == 3);
    CHECK(std::string(failure.what()) ==
          "rank 3 did not open its part of an NCCL communicator within 20 ms (key "
          "job/nccl/way/3-1)");
  }
}

TEST_CASE("who waits for an identity can be called off") {
  SharedValues values;
  MemoryStore store(values);
  int asked = 0;
  const auto call_off = [&] {
    if (++asked == 3) throw TransportFailure(std::nullopt, "called off");
  };
  CHECK_THROWS_WITH_AS((void)wait_for_nccl_id(store, "k", 0, std::chrono::minutes(1), call_off),
                       "called off", TransportFailure);
}

TEST_CASE("a text that is no identity is refused") {
  CHECK_THROWS_AS((void)nccl_id_of("abc"), Error);
  std::string id = new_nccl_id();
  id[7] = 'x';
  CHECK_THROWS_AS((void)nccl_id_of(id), Error);
}

TEST_CASE("the library says its version") { CHECK(nccl_version().substr(0, 2) == "2."); }

}  // namespace
}  // namespace penstock
