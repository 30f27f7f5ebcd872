#include "runtime_bridge/surplus_rank.h"

#include <memory>

#include <doctest/doctest.h>

#include "runtime_bridge/heartbeat.h"
#include "tests/runtime_bridge/memory_store.h"

namespace penstock {
namespace {

struct Job {
  std::shared_ptr<tests::SharedMemory> memory = std::make_shared<tests::SharedMemory>();
  int looks = 0;

  void set(int rank, RankCondition state, std::int64_t sequence) const {
    HeartbeatMessage message;
    message.state = state;
    message.sequence = sequence;
    tests::MemoryStore(memory).set("sign_of_life/" + std::to_string(rank),
                                   write_heartbeat(message));
  }
  // `at_look` is called before each look, from 0 on, and says whether the rank was told to end.
  SurplusEnd wait(const std::function<bool(int look)>& at_look) {
    tests::MemoryStore store(memory);
    SurplusRank options;
    options.ranks = 2;
    options.look_again = std::chrono::milliseconds(1);
    options.silence = std::chrono::milliseconds(60);
    options.is_stopped = [&] { return at_look(looks++); };
    return wait_beside(store, options);
  }
};

TEST_CASE("a rank without work ends when all others have finished, and not before") {
  Job job;
  CHECK(job.wait([&](int look) {
    job.set(0, look < 50 ? RankCondition::kRunning : RankCondition::kFinished, look);
    job.set(1, look < 100 ? RankCondition::kRunning : RankCondition::kFinished, look);
    return false;
  }) == SurplusEnd::kFinished);
  CHECK(job.looks == 101);
}

TEST_CASE("it ends with a failure when one of the others does, or when all are silent") {
  for (const RankCondition state : {RankCondition::kFailed, RankCondition::kSawFailure}) {
    Job job;
    CHECK(job.wait([&](int look) {
      job.set(1, look < 5 ? RankCondition::kRunning : state, look);
      return false;
    }) == SurplusEnd::kFailed);
  }
  Job silent;
  silent.set(0, RankCondition::kRunning, 1);
  CHECK(silent.wait([](int) { return false; }) == SurplusEnd::kFailed);
  CHECK(silent.looks > 2);
}

TEST_CASE("it ends when it is told to, and when the store went with those who have finished") {
  Job job;
  CHECK(job.wait([&](int look) {
    job.set(0, RankCondition::kRunning, look);
    return look == 3;
  }) == SurplusEnd::kStopped);
  CHECK(job.looks == 4);
  Job gone;
  CHECK(gone.wait([&](int look) {
    gone.memory->out_of_reach = look == 2;
    return false;
  }) == SurplusEnd::kFinished);
}

}  // namespace
}  // namespace penstock
