#include "simulator/liveness.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/schedules/schedules.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::input_of;
using testing::lowered;
using testing::Random;
using testing::random_program;

LiveCounts counts(std::vector<std::int32_t> stash, std::vector<std::int32_t> weight_stash) {
  return {std::move(stash), std::move(weight_stash)};
}

// Rank 0: F0 F1 B0 F2 B1 B2: two are held when F1 and F2 run.
TEST_CASE("1F1B on two ranks holds two and one") {
  const auto ranks = liveness(lowered("1f1b", {2, 1, 3, 0}));
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].stages == std::vector<int>{0});
  CHECK(ranks[0].peaks == std::vector<LiveCounts>{counts({2}, {0})});
  CHECK(ranks[0].peak_chunks == 2);
  CHECK(ranks[1].peaks == std::vector<LiveCounts>{counts({1}, {0})});
  CHECK(ranks[1].peak_chunks == 1);
}

// Rank 3 of P = 4, M = 5: F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 ..: stash and weight stash after
// F3 are 1 and 3, after I3 0 and 4; rank 0 is F0 F1 F2 F3 I0 W0 ..: 4 and 0, then 3 and 1.
TEST_CASE("ZB-H1 has a peak before and one after the input gradient") {
  const auto ranks = liveness(lowered("zb-h1", {4, 1, 5, 0}));
  CHECK(ranks[0].peaks == std::vector<LiveCounts>{counts({4}, {0}), counts({3}, {1})});
  CHECK(ranks[3].peaks == std::vector<LiveCounts>{counts({1}, {3}), counts({0}, {4})});
  CHECK(ranks[0].peak_chunks == 4);
  CHECK(ranks[3].peak_chunks == 4);
}

// Rank 1 of P = 2, V = 2, M = 2: 1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1: after 3F0 the chunks hold 2 and
// 1, and so they do after 3F1.
TEST_CASE("chunks are counted apart") {
  const auto ranks = liveness(lowered("interleaved", {2, 2, 2, 0}));
  CHECK(ranks[1].stages == std::vector<int>{1, 3});
  CHECK(ranks[1].peaks == std::vector<LiveCounts>{counts({2, 1}, {0, 0})});
  CHECK(ranks[1].peak_chunks == 3);
}

// Rank 0 of P = 2, V = 2, M = 4 (groups of 2, warm-up 4):
//   0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3
// 2 2 after 2F1, 3 2 after 0F2, then 2B0, 4 1 after 0F3, 2B1, 4 1 after 2F2, 0B0, 3 2 after 2F3.
TEST_CASE("whatever the bytes per chunk, the peak is among the peaks") {
  const auto ranks = liveness(lowered("interleaved", {2, 2, 4, 0}));
  CHECK(ranks[0].peaks == std::vector<LiveCounts>{counts({4, 1}, {0, 0}), counts({3, 2}, {0, 0})});
  CHECK(ranks[0].peak_chunks == 5);
}

// Rank 1 of 1F1B on two ranks: RECV_F0 F0 RECV_F1 B0 SEND_B0 F1 RECV_F2 B1 ..: one receive at a
// time. Rank 1 of GPipe on two ranks runs in step with rank 0, which is one ahead.
TEST_CASE("receives are counted from their post to their consumer") {
  const auto one = liveness(lowered("1f1b", {2, 1, 3, 0}));
  CHECK(one[0].activation_receives == std::vector<std::int32_t>{0});
  CHECK(one[0].gradient_receives == std::vector<std::int32_t>{1});
  CHECK(one[1].activation_receives == std::vector<std::int32_t>{1});
  CHECK(one[1].gradient_receives == std::vector<std::int32_t>{0});
  CHECK(one[0].sends_activation == std::vector<bool>{true});
  CHECK(one[0].sends_gradient == std::vector<bool>{false});
  CHECK(one[1].sends_activation == std::vector<bool>{false});
  CHECK(one[1].sends_gradient == std::vector<bool>{true});
  // A rank alone passes everything on to itself.
  const auto alone = liveness(lowered("looped-bfs", {1, 2, 3, 0}));
  CHECK(alone[0].activation_receives == std::vector<std::int32_t>{0, 0});
  CHECK(alone[0].sends_activation == std::vector<bool>{false, false});
}

// LoopedBFS, P = 2, V = 2, M = 3: rank 1 follows one slot behind and returns every activation while
// rank 0 still runs its first chunk: 0F0 2RECV_F0 0F1 2RECV_F1 0F2 2RECV_F2 2F0 ..
TEST_CASE("early arrivals wait in buffers of their own") {
  const auto ranks = liveness(lowered("looped-bfs", {2, 2, 3, 0}));
  CHECK(ranks[0].activation_receives == std::vector<std::int32_t>{0, 3});
}

// Rank 1 by hand: RECV_F0 RECV_F1 F0 RECV_F2 RECV_F3 F1: one of two is used up, then two more come.
TEST_CASE("a consumed receive frees one buffer") {
  Program program = lowered("gpipe", {2, 1, 4, 0});
  program.actions.clear();
  const auto add = [&](ActionKind kind, std::uint32_t m) {
    program.actions.push_back({MicroBatchId{m}, kWaitsForNothing, kNoGroup, StageId{1}, kind});
  };
  add(ActionKind::kReceiveActivation, 0);
  add(ActionKind::kReceiveActivation, 1);
  add(ActionKind::kForward, 0);
  add(ActionKind::kReceiveActivation, 2);
  add(ActionKind::kReceiveActivation, 3);
  add(ActionKind::kForward, 1);
  CHECK(liveness(program)[1].activation_receives == std::vector<std::int32_t>{3});
}

// One rank with two stages: 0F0 1F0 (0F1;1B0) 0B0 1F1 1B1 0B1. In the pair 0F1 is there already,
// 1F0 still.
TEST_CASE("both members of a pair are held, and known to run together") {
  const auto action = [](ActionKind kind, int stage, std::uint32_t m, bool overlaps_next = false) {
    return ComputeAction{kind, overlaps_next, StageId{static_cast<std::uint16_t>(stage)},
                         MicroBatchId{m}};
  };
  constexpr auto kF = ActionKind::kForward, kB = ActionKind::kFusedBackward;
  const Schedule schedule = schedule_of_lists(
      "by hand", 2, {0, 0},
      {{action(kF, 0, 0), action(kF, 1, 0), action(kF, 0, 1, true), action(kB, 1, 0),
        action(kB, 0, 0), action(kF, 1, 1), action(kB, 1, 1), action(kB, 0, 1)}});
  const auto ranks = liveness(schedule);
  CHECK(ranks[0].peaks == std::vector<LiveCounts>{counts({2, 1}, {0, 0})});
  CHECK(ranks[0].overlaps == std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}});
  CHECK(ranks == liveness(lower({input_of(schedule)}, {})));
}

TEST_CASE("a Program of two pipelines tells of the first") {
  const auto both = liveness(lower({input_of(make_schedule("1f1b", {2, 1, 3, 0})),
                                    input_of(make_schedule("1f1b", {2, 1, 1, 0}))},
                                   {}));
  CHECK(both == liveness(lowered("1f1b", {2, 1, 3, 0})));
}

// Bytes held by one rank at its worst, action by action.
std::int64_t peak_by_walking(const Program& program, int rank,
                             const std::vector<std::int64_t>& stash,
                             const std::vector<std::int64_t>& weight_stash) {
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const Action& action : program.actions) {
    if (program.rank_of(action).value != rank) continue;
    const auto stage = action.stage.value;
    switch (action.kind) {
      case ActionKind::kForward:
        now += stash[stage];
        break;
      case ActionKind::kFusedBackward:
        now -= stash[stage];
        break;
      case ActionKind::kInputGradient:
        now += weight_stash[stage] - stash[stage];
        break;
      case ActionKind::kWeightGradient:
        now -= weight_stash[stage];
        break;
      default:
        break;
    }
    peak = std::max(peak, now);
  }
  CHECK(now == 0);
  return peak;
}

TEST_CASE("the peaks give the bytes of a walk over the list, for random sizes") {
  Random random(8);
  for (int i = 0; i < testing::draws(1500); ++i) {
    const Program program = random_program(random).program;
    std::vector<std::int64_t> stash, weight_stash;
    for (int s = 0; s < program.pipelines[0].stages; ++s) {
      stash.push_back(random.between(0, 100));
      weight_stash.push_back(random.between(0, 100));
    }
    const auto ranks = liveness(program);
    REQUIRE(ranks.size() == static_cast<std::size_t>(program.pipelines[0].ranks));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::int64_t peak = 0;
      for (const LiveCounts& live : ranks[r].peaks) {
        std::int64_t bytes = 0;
        for (std::size_t c = 0; c < ranks[r].stages.size(); ++c) {
          const auto stage = static_cast<std::size_t>(ranks[r].stages[c]);
          bytes += live.stash[c] * stash[stage] + live.weight_stash[c] * weight_stash[stage];
        }
        peak = std::max(peak, bytes);
      }
      CHECK(peak == peak_by_walking(program, static_cast<int>(r), stash, weight_stash));
      for (const LiveCounts& a : ranks[r].peaks) {
        for (const LiveCounts& b : ranks[r].peaks) {
          if (&a == &b) continue;
          const bool covered =
              std::equal(a.stash.begin(), a.stash.end(), b.stash.begin(), std::less_equal<>()) &&
              std::equal(a.weight_stash.begin(), a.weight_stash.end(), b.weight_stash.begin(),
                         std::less_equal<>());
          CHECK_FALSE(covered);
        }
      }
    }
  }
}

// Receives of one stage that wait for their consumer, counted by micro-batch.
TEST_CASE("receive buffers are those of a walk over the list") {
  Random random(11);
  for (int i = 0; i < testing::draws(1000); ++i) {
    const IssueOrder issue = random.coin() ? IssueOrder::kEager : IssueOrder::kDeepSpeed;
    const Program program = random_program(random, {true, issue}).program;
    const auto stages = static_cast<std::size_t>(program.pipelines[0].stages);
    std::vector<std::set<std::uint32_t>> activations(stages), gradients(stages);
    std::vector<std::size_t> most_activations(stages), most_gradients(stages);
    for (const Action& action : program.actions) {
      const std::size_t s = action.stage.value;
      const std::uint32_t m = action.micro_batch.value;
      if (action.kind == ActionKind::kReceiveActivation) activations[s].insert(m);
      if (action.kind == ActionKind::kReceiveGradient) gradients[s].insert(m);
      most_activations[s] = std::max(most_activations[s], activations[s].size());
      most_gradients[s] = std::max(most_gradients[s], gradients[s].size());
      if (action.kind == ActionKind::kForward) activations[s].erase(m);
      if (is_backward(action.kind)) gradients[s].erase(m);
    }
    for (const RankLiveness& rank : liveness(program)) {
      for (std::size_t c = 0; c < rank.stages.size(); ++c) {
        const auto s = static_cast<std::size_t>(rank.stages[c]);
        CHECK(static_cast<std::size_t>(rank.activation_receives[c]) == most_activations[s]);
        CHECK(static_cast<std::size_t>(rank.gradient_receives[c]) == most_gradients[s]);
      }
    }
  }
}

}  // namespace
}  // namespace penstock
