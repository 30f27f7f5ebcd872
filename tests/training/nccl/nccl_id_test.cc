#include "training/nccl/nccl_id.h"

#include <memory>
#include <thread>

#include <doctest/doctest.h>
#include <nccl.h>

#include "core/values/error.h"
#include "tests/runtime_bridge/memory_store.h"
#include "training/nccl/nccl_id_text.h"
#include "training/transport.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using tests::MemoryStore;
using tests::SharedMemory;

void go_on() {}

TEST_CASE("the identity of a communicator is made without a GPU, each time another one") {
  const std::string first = new_nccl_id(), second = new_nccl_id();
  CHECK(first.size() == 2 * NCCL_UNIQUE_ID_BYTES);
  CHECK(first != second);
}

TEST_CASE("an identity survives the way through a store") {
  const auto values = std::make_shared<SharedMemory>();
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
  const auto values = std::make_shared<SharedMemory>();
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
  const auto values = std::make_shared<SharedMemory>();
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

}  // namespace
}  // namespace penstock
