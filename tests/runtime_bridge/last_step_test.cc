#include "runtime_bridge/last_step.h"

#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include "runtime_bridge/heartbeat.h"
#include "runtime_bridge/survivors.h"
#include "tests/runtime_bridge/memory_store.h"

namespace penstock {
namespace {

const NormShare kSums{3.5, 0.1, 0.0};

// A rank in step 7, whose two updates wait for the norm.
StepStanding in_step_7() {
  StepStanding standing;
  standing.step = 7;
  standing.norm_first = true;
  standing.updates = 2;
  standing.plan = "p";
  return standing;
}
StepStanding reduced() {
  StepStanding standing = in_step_7();
  standing.reduced = true;
  return standing;
}
StepStanding knows_norm(int updated) {
  StepStanding standing = reduced();
  standing.norm = kSums;
  standing.updated = updated;
  return standing;
}
StepStanding in_step_8() {
  StepStanding standing = in_step_7();
  standing.step = 8;
  return standing;
}

TEST_CASE("where nobody has the norm, all stay at the state before the step") {
  for (const StepStanding& other : {in_step_7(), reduced()}) {
    const LastStep last = last_common_step({{0, in_step_7()}, {2, other}});
    CHECK(last.why_not.empty());
    CHECK(last.next_step == 7);
    CHECK(last.ranks == std::vector<int>{0, 2});
    CHECK(!last.norm);
  }
}

TEST_CASE("where one has the norm, all finish the step with it") {
  for (const int updated : {0, 1, 2}) {
    const LastStep last = last_common_step({{1, knows_norm(updated)}, {3, reduced()}});
    CHECK(last.why_not.empty());
    CHECK(last.next_step == 8);
    CHECK(last.norm == kSums);
  }
}

TEST_CASE("a rank in the next step shows that the one before is finished") {
  const LastStep last = last_common_step({{0, knows_norm(2)}, {1, in_step_8()}});
  CHECK(last.why_not.empty());
  CHECK(last.next_step == 8);
}

TEST_CASE("updates that did not wait for the norm leave nothing in common") {
  StepStanding updated = reduced();
  updated.norm_first = false;
  updated.updated = 2;
  StepStanding lacks = in_step_7();
  lacks.norm_first = false;
  CHECK(last_common_step({{0, updated}, {1, lacks}}).why_not ==
        "the survivors have no step in common: rank 1 lacks reduced gradients of step 7");
  // With all of its gradients it still cannot know the loss of the step.
  lacks.reduced = true;
  CHECK(!last_common_step({{0, updated}, {1, lacks}}).why_not.empty());
  updated.norm = kSums;
  CHECK(last_common_step({{0, updated}, {1, lacks}}).next_step == 8);
  // In the middle of its updates a rank can go neither way.
  updated.updated = 1;
  updated.norm.reset();
  CHECK(last_common_step({{0, updated}, {1, lacks}}).why_not ==
        "the survivors have no step in common: rank 0 has updated a part of its weights in step 7");
}

TEST_CASE("divided optimizer state that was not gathered can be neither finished nor undone") {
  StepStanding divided = knows_norm(1);
  divided.can_finish = false;
  CHECK(last_common_step({{0, divided}}).why_not ==
        "the survivors have no step in common: rank 0 had begun to update the weights of step 7, "
        "and cannot end that alone");
  divided.updated = 2;
  CHECK(last_common_step({{0, divided}}).next_step == 8);
}

TEST_CASE("buffers that forwards have changed are of no finished step") {
  StepStanding changed = in_step_7();
  changed.changed_by_forward = true;
  CHECK(last_common_step({{0, changed}}).why_not ==
        "the survivors have no step in common: rank 0 has changed buffers of its sections (such as "
        "running means) in step 7");
  changed = knows_norm(2);
  changed.changed_by_forward = true;
  CHECK(last_common_step({{0, changed}}).why_not.empty());
}

TEST_CASE("ranks under different plans have nothing in common") {
  StepStanding other = in_step_7();
  other.plan = "q";
  CHECK(last_common_step({{0, in_step_7()}, {1, other}}).why_not ==
        "the plan of the run was just being changed");
}

TEST_CASE("what ranks tell each other comes back to the bit, and what is malformed is nothing") {
  StepStanding standing = knows_norm(1);
  standing.norm = NormShare{1.0 / 3.0, std::numeric_limits<double>::infinity(), -0.0};
  CHECK(read_standing(write_standing(standing)) == standing);
  CHECK(read_standing(write_standing(in_step_7())) == in_step_7());
  LastStep last{8, {0, 2}, standing.norm, ""};
  CHECK(read_last_step(write_last_step(last)) == last);
  for (const char* text : {"", "{", "[]", R"({"step":1})"}) {
    CHECK(!read_standing(text));
    CHECK(!read_last_step(text));
  }
}

SurvivorOptions options_of(int rank, int ranks) {
  SurvivorOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.silence = options.limit = std::chrono::milliseconds(30);
  options.look_again = std::chrono::milliseconds(1);
  return options;
}

TEST_CASE("the lowest rank that lives decides, and a rank that it did not count has no step") {
  tests::MemoryStore store(std::make_shared<tests::SharedMemory>());
  const JudgeLastStep fine = [](const LastStep&) { return std::string(); };
  tell_standing(store, 1, in_step_7());
  // Rank 0 never spoke; rank 2 has not yet.
  const LastStep decided = agree_on_last_step(store, options_of(1, 3), in_step_7(), fine);
  CHECK(decided.why_not.empty());
  CHECK(decided.ranks == std::vector<int>{1});
  tell_standing(store, 2, in_step_7());
  CHECK(agree_on_last_step(store, options_of(2, 3), in_step_7(), fine).why_not ==
        "rank 1 counted this rank as lost");
}

// Rank 0 has stopped on its own account, and never said where it stands.
class StoppedRank : public KeyValueStore {
 public:
  void set(const std::string& /*key*/, const std::string& /*value*/) override {}
  [[nodiscard]] std::optional<std::string> get(const std::string& key) override {
    ++asked;
    if (key.starts_with("last_step/")) return std::nullopt;
    HeartbeatMessage stopped;
    stopped.state = RankCondition::kFailed;
    return write_heartbeat(stopped);
  }
  int asked = 0;
};

TEST_CASE("a rank that stopped is asked once, and not waited for until it counts as silent") {
  StoppedRank store;
  const JudgeLastStep fine = [](const LastStep&) { return std::string(); };
  const LastStep decided = agree_on_last_step(store, options_of(1, 2), in_step_7(), fine);
  CHECK(decided.ranks == std::vector<int>{1});
  CHECK(store.asked == 2);  // for its heartbeat and its standing
}

TEST_CASE("a rank that spoke and then decides nothing is not waited for without end") {
  const auto memory = std::make_shared<tests::SharedMemory>();
  tests::MemoryStore store(memory);
  tell_standing(store, 0, in_step_7());
  HeartbeatOptions alive;
  alive.interval = std::chrono::milliseconds(2);
  const Heartbeat first(alive, std::make_unique<tests::MemoryStore>(memory));
  CHECK(agree_on_last_step(store, options_of(1, 2), in_step_7(), {}).why_not ==
        "rank 0 did not say which step is kept");
}

TEST_CASE("where a rank is lost after it spoke and before it decided, the next one decides") {
  tests::MemoryStore store(std::make_shared<tests::SharedMemory>());
  for (const int rank : {0, 1, 2}) tell_standing(store, rank, in_step_7());
  const JudgeLastStep fine = [](const LastStep&) { return std::string(); };
  const LastStep decided = agree_on_last_step(store, options_of(1, 3), in_step_7(), fine);
  CHECK(decided.why_not.empty());
  CHECK(decided.ranks == std::vector<int>{1, 2});
  CHECK(agree_on_last_step(store, options_of(2, 3), in_step_7(), fine) == decided);
}

TEST_CASE("what the judge finds wrong is the answer of all") {
  tests::MemoryStore store(std::make_shared<tests::SharedMemory>());
  const JudgeLastStep wrong = [](const LastStep&) { return std::string("a section is gone"); };
  tell_standing(store, 0, in_step_7());
  tell_standing(store, 1, in_step_7());
  CHECK(agree_on_last_step(store, options_of(0, 2), in_step_7(), wrong).why_not ==
        "a section is gone");
  CHECK(agree_on_last_step(store, options_of(1, 2), in_step_7(), {}).why_not ==
        "a section is gone");
}

}  // namespace
}  // namespace penstock
