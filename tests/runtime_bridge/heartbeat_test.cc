#include "runtime_bridge/heartbeat.h"

#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/runtime_bridge/memory_store.h"

namespace penstock {
namespace {

using tests::MemoryStore;
using tests::SharedMemory;

HeartbeatMessage sign(std::int64_t sequence, std::int64_t step,
                      RankCondition state = RankCondition::kRunning) {
  HeartbeatMessage result;
  result.sequence = sequence;
  result.state = state;
  result.step = step;
  result.position = 5;
  result.process = "pid 4711 on host a";
  return result;
}

HeartbeatOptions quick(int rank, int ranks) {
  HeartbeatOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.process = "pid " + std::to_string(100 + rank) + " on host a";
  options.interval = std::chrono::milliseconds(10);
  options.silence = std::chrono::milliseconds(300);
  return options;
}

TEST_CASE("a heartbeat is read as it was written, and nothing else is") {
  HeartbeatMessage written = sign(7, 17, RankCondition::kFailed);
  written.reason = "\"quoted\"\nlines";
  CHECK(read_heartbeat(write_heartbeat(written)) == written);
  CHECK(!read_heartbeat(""));
  CHECK(!read_heartbeat("{\"sequence\": 1}"));
}

TEST_CASE("a rank whose signs stopped is named, with its process and step") {
  HeartbeatsSeen seen;
  seen.first = {sign(3, 17), sign(8, 17, RankCondition::kSawFailure), sign(6, 17)};
  seen.last = {sign(6, 17), sign(8, 17, RankCondition::kSawFailure), sign(6, 17)};
  seen.watched = std::chrono::milliseconds(3100);
  CHECK(blame(seen, 0) == Blame{2,
                                "rank 2 (pid 4711 on host a) was lost in step 17: no heartbeat "
                                "for 3.1 s; the others stopped"});
}

TEST_CASE("a rank is lost in the step in which it was missed, its last sign may be older") {
  HeartbeatsSeen seen;
  seen.first = seen.last = {sign(3, 18), sign(6, 16)};
  CHECK(blame(seen, 0).words.starts_with("rank 1 (pid 4711 on host a) was lost in step 18:"));
}

TEST_CASE("a rank that said why it stopped is to blame before one that is silent") {
  HeartbeatsSeen seen;
  seen.first = {sign(3, 17), sign(8, 16, RankCondition::kFailed), sign(6, 17)};
  seen.first[1]->reason = "no such file: x";
  seen.last = seen.first;
  CHECK(blame(seen, 0) ==
        Blame{1, "rank 1 (pid 4711 on host a) stopped in step 16: no such file: x"});
}

TEST_CASE("a rank that never came is named too") {
  HeartbeatsSeen seen;
  seen.first = seen.last = {sign(3, 0), std::nullopt};
  CHECK(blame(seen, 0) ==
        Blame{1, "rank 1 was lost: it never sent a heartbeat; the others stopped"});
}

TEST_CASE("when all live, the one that saw nothing is named, then the one furthest behind") {
  HeartbeatsSeen seen;
  seen.first = {sign(1, 4, RankCondition::kSawFailure), sign(1, 4),
                sign(1, 3, RankCondition::kSawFailure)};
  seen.last = {sign(1, 4, RankCondition::kSawFailure), sign(9, 4),
               sign(1, 3, RankCondition::kSawFailure)};
  CHECK(blame(seen, 0).rank == 1);
  CHECK(blame(seen, 0).words ==
        "all ranks send heartbeats; rank 1 (pid 4711 on host a) is furthest behind: step 4, "
        "action 5");
  seen.last[1]->state = RankCondition::kSawFailure;
  CHECK(blame(seen, 0).rank == 2);
  seen.last[2]->step = 4;
  CHECK(blame(seen, 0) == Blame{});
}

TEST_CASE("a failure is explained by the rank that was lost, to each survivor") {
  const auto memory = std::make_shared<SharedMemory>();
  Heartbeat first(quick(0, 3), std::make_unique<MemoryStore>(memory));
  Heartbeat second(quick(1, 3), std::make_unique<MemoryStore>(memory));
  auto third = std::make_unique<Heartbeat>(quick(2, 3), std::make_unique<MemoryStore>(memory));
  third->at(17, 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  third.reset();
  // Rank 0 only saw rank 1 stop.
  const TransportFailure at_second = second.explain({2, "receiving from rank 2 failed"});
  const TransportFailure at_first = first.explain({1, "receiving from rank 1 failed"});
  for (const TransportFailure& failure : {at_first, at_second}) {
    CHECK(failure.peer() == 2);
    const std::string text = failure.what();
    CHECK(text.starts_with("rank 2 (pid 102 on host a) was lost in step 17: no heartbeat for "));
  }
}

TEST_CASE("a rank that fails on its own account tells the others why") {
  const auto memory = std::make_shared<SharedMemory>();
  Heartbeat first(quick(0, 2), std::make_unique<MemoryStore>(memory));
  Heartbeat second(quick(1, 2), std::make_unique<MemoryStore>(memory));
  second.at(3, 0);
  CHECK_THROWS_AS(run_watched(second, [] { throw std::runtime_error("out of memory"); }),
                  std::runtime_error);
  CHECK(std::string(first.explain({1, "closed"}).what()) ==
        "rank 1 (pid 101 on host a) stopped in step 3: out of memory (closed)");
}

TEST_CASE("without a store the failure is handed on, and says so") {
  const auto memory = std::make_shared<SharedMemory>();
  Heartbeat first(quick(0, 2), std::make_unique<MemoryStore>(memory));
  memory->out_of_reach = true;
  first.stopped(RankCondition::kFinished, "");
  CHECK(std::string(first.explain({1, "closed"}).what()) ==
        "closed; cannot tell which rank failed: the store does not answer");
}

TEST_CASE("a store that went with its rank says which rank that was") {
  const auto memory = std::make_shared<SharedMemory>();
  HeartbeatOptions options = quick(2, 3);
  options.store_rank = 0;
  Heartbeat third(options, std::make_unique<MemoryStore>(memory));
  third.at(17, 4);
  memory->out_of_reach = true;
  const TransportFailure failure = third.explain({1, "receiving from rank 1 failed"});
  CHECK(failure.peer() == 0);
  CHECK(std::string(failure.what()) ==
        "rank 0, which serves the job's store, cannot be reached in step 17: it was lost, or the "
        "network between it and this rank; whether another rank was lost before cannot be told "
        "(receiving from rank 1 failed; the store does not answer)");
  third.stopped(RankCondition::kFinished, "");
}

}  // namespace
}  // namespace penstock
