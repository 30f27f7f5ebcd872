#include "runtime_bridge/wait_for_ranks.h"

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

WaitForRanks of_rank(int rank, milliseconds silence) {
  WaitForRanks options;
  options.rank = rank;
  options.ranks = 2;
  options.attempt = "first";
  options.silence = silence;
  options.look_again = milliseconds(2);
  return options;
}

HeartbeatOptions quick(int rank) {
  HeartbeatOptions options;
  options.rank = rank;
  options.ranks = 2;
  options.process = "pid 4711 on host a";
  options.interval = milliseconds(10);
  return options;
}

std::string why_not_ready(const std::shared_ptr<SharedMemory>& shared, milliseconds silence) {
  MemoryStore store(shared);
  try {
    wait_for_ranks(store, of_rank(0, silence));
    return "";
  } catch (const TransportFailure& failure) {
    CHECK(failure.peer() == 1);
    return failure.what();
  }
}

TEST_CASE("a rank that loads for long is waited for while its heart beats") {
  const auto shared = std::make_shared<SharedMemory>();
  Heartbeat alive(quick(1), std::make_unique<MemoryStore>(shared));
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(700));  // longer than the silence that is allowed
    MemoryStore store(shared);
    wait_for_ranks(store, of_rank(1, milliseconds(500)));
  });
  CHECK(why_not_ready(shared, milliseconds(500)) == "");
  late.join();
}

// Rank 1 lives for 150 ms, and rank 0 waits for something that never comes or was there before.
TEST_CASE("what is waited for while the others live ends with the first that does not") {
  const auto shared = std::make_shared<SharedMemory>();
  MemoryStore store(shared);
  auto alive = std::make_unique<Heartbeat>(quick(1), std::make_unique<MemoryStore>(shared));
  int asked = 0;
  wait_while_ranks_live(store, of_rank(0, milliseconds(500)), "it was done",
                        [&] { return ++asked > 3; });
  CHECK(asked == 4);
  std::thread ends([&] {
    std::this_thread::sleep_for(milliseconds(150));
    alive.reset();
  });
  const auto wait = [&](milliseconds silence) -> std::string {
    try {
      wait_while_ranks_live(store, of_rank(0, silence), "it was done", [] { return false; });
      return "";
    } catch (const TransportFailure& failure) {
      CHECK(failure.peer() == 1);
      return failure.what();
    }
  };
  CHECK(wait(milliseconds(100)) == "no heartbeat came from rank 1 for 0 s before it was done");
  ends.join();
  Heartbeat failed(quick(1), std::make_unique<MemoryStore>(shared));
  failed.stopped(RankCondition::kSawFailure, "rank 2 is lost");
  CHECK(wait(milliseconds(60'000)) == "rank 1 stopped before it was done: rank 2 is lost");
  // It has finished because all is done.
  failed.stopped(RankCondition::kFinished, "");
  asked = 0;
  wait_while_ranks_live(store, of_rank(0, milliseconds(60'000)), "it was done",
                        [&] { return ++asked > 1; });
  CHECK(asked == 2);
}

TEST_CASE("a rank without a heartbeat, or one that has stopped, is named") {
  const auto shared = std::make_shared<SharedMemory>();
  CHECK(why_not_ready(shared, milliseconds(100)) ==
        "no heartbeat came from rank 1 for 0 s before the first step");
  Heartbeat other(quick(1), std::make_unique<MemoryStore>(shared));
  other.stopped(RankCondition::kFailed, "the archive is empty");
  CHECK(why_not_ready(shared, milliseconds(60'000)) ==
        "rank 1 stopped before the first step: the archive is empty");
}

}  // namespace
}  // namespace penstock
