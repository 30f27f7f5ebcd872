#include "runtime_bridge/ranks_alive.h"

#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include "runtime_bridge/heartbeat.h"
#include "tests/runtime_bridge/memory_store.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using tests::MemoryStore;
using tests::SharedMemory;

// Ranks 0 and 1 of two.
HeartbeatOptions quick(int rank) {
  HeartbeatOptions options;
  options.rank = rank;
  options.ranks = 2;
  options.interval = milliseconds(5);
  return options;
}

TEST_CASE("the store is needed while the heart of a rank beats that has not ended") {
  const auto shared = std::make_shared<SharedMemory>();
  const auto store = [&] { return std::make_unique<MemoryStore>(shared); };
  MemoryStore looked_at(shared);
  RanksAlive alive(looked_at, 2, milliseconds(400));
  CHECK(alive.any());  // they may be about to begin
  auto first = std::make_unique<Heartbeat>(quick(0), store());
  auto second = std::make_unique<Heartbeat>(quick(1), store());
  first.reset();  // killed
  std::this_thread::sleep_for(milliseconds(500));
  CHECK(alive.any());
  second->stopped(RankCondition::kSawFailure, "rank 0 is lost");  // and writes what it has
  std::this_thread::sleep_for(milliseconds(500));
  CHECK(alive.any());
  CHECK(!alive.is_alive(0));
  CHECK(alive.is_alive(1));
  second->stopped(RankCondition::kFailed, "its disk is full");
  CHECK(!alive.any());
  shared->out_of_reach = true;
  CHECK(!alive.any());
  shared->out_of_reach = false;  // before the heartbeat goes
}

TEST_CASE("ranks that were killed without a word need nothing once they are silent") {
  const auto shared = std::make_shared<SharedMemory>();
  { const Heartbeat killed(quick(1), std::make_unique<MemoryStore>(shared)); }
  MemoryStore store(shared);
  RanksAlive alive(store, 2, milliseconds(100));
  CHECK(alive.any());
  std::this_thread::sleep_for(milliseconds(150));
  CHECK(!alive.any());
}

}  // namespace
}  // namespace penstock
