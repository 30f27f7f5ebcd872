#include "simulator/schedules/schedules.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "tests/core/messages.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::signed_text_of;
using testing::text_of;

ScheduleShape shape_of(int ranks, int chunks, int micro_batches, int group = 0) {
  return {ranks, chunks, micro_batches, group};
}

std::string why_not(std::string_view name, const ScheduleShape& shape) {
  return why_no_schedule(*find_schedule(name), shape);
}

std::string refusal(std::string_view name, const ScheduleShape& shape) {
  return tests::refusal_of([&] { static_cast<void>(make_schedule(name, shape)); });
}

TEST_CASE("GPipe runs all forwards, then all backwards") {
  const Schedule schedule = make_schedule("gpipe", shape_of(4, 1, 4));
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(text_of(schedule, rank) == "F0 F1 F2 F3 B0 B1 B2 B3");
  }
}

TEST_CASE("1F1B warms up with P - 1 - r forwards") {
  const Schedule schedule = make_schedule("1f1b", shape_of(4, 1, 6));
  CHECK(text_of(schedule, 0) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  CHECK(text_of(schedule, 1) == "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  CHECK(text_of(schedule, 2) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  CHECK(text_of(schedule, 3) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST_CASE("1F1B with fewer micro-batches than ranks is GPipe on the first ranks") {
  const Schedule schedule = make_schedule("1f1b", shape_of(4, 1, 2));
  CHECK(text_of(schedule, 0) == "F0 F1 B0 B1");
  CHECK(text_of(schedule, 1) == "F0 F1 B0 B1");
  CHECK(text_of(schedule, 2) == "F0 F1 B0 B1");
  CHECK(text_of(schedule, 3) == "F0 B0 F1 B1");
}

// DeepSpeed states the order in slots: F(m) of stage s at 2m + s, B(m) at 2m + 2S - 1 - s.
TEST_CASE("1F1B is the order of DeepSpeed's slots") {
  for (int p = 1; p <= 6; ++p) {
    for (int m = 1; m <= 13; ++m) {
      const Schedule schedule = make_schedule("1f1b", shape_of(p, 1, m));
      for (int rank = 0; rank < p; ++rank) {
        int before = -1;
        for (const ComputeAction& action : schedule.list(rank)) {
          const int i = static_cast<int>(action.micro_batch.value);
          const bool forward = action.kind == ActionKind::kForward;
          const int slot = 2 * i + (forward ? rank : 2 * p - 1 - rank);
          CHECK(slot > before);
          CHECK(slot < 2 * (m + p - 1));
          before = slot;
        }
      }
    }
  }
}

TEST_CASE("interleaved 1F1B alternates chunks in groups of P micro-batches") {
  const Schedule schedule = make_schedule("interleaved", shape_of(4, 2, 4));
  CHECK(text_of(schedule, 2) == "2F0 2F1 2F2 2F3 6F0 6F1 6F2 6B0 6F3 6B1 6B2 6B3 2B0 2B1 2B2 2B3");
  // Rank 0 would warm up with 4 + 6 forwards: all eight come first.
  CHECK(text_of(schedule, 0) == "0F0 0F1 0F2 0F3 4F0 4F1 4F2 4F3 4B0 4B1 4B2 4B3 0B0 0B1 0B2 0B3");
}

TEST_CASE("interleaved 1F1B takes Megatron's ragged groups") {
  const Schedule small = make_schedule("interleaved", shape_of(2, 2, 5, 3));
  CHECK(signed_text_of(small, 0) == "1 1 1 2 2 2 -2 1 -2 1 -2 2 -1 2 -1 -1 -2 -2 -1 -1");
  std::string micro_batches, chunks;
  for (const ComputeAction& action : small.list(0)) {
    if (action.kind != ActionKind::kForward) continue;
    micro_batches += std::to_string(action.micro_batch.value);
    chunks += std::to_string(action.stage.value / 2);
  }
  CHECK(micro_batches == "0120123434");
  CHECK(chunks == "0001110011");

  const Schedule large = make_schedule("interleaved", shape_of(4, 2, 9, 5));
  CHECK(signed_text_of(large, 0) ==
        "1 1 1 1 1 2 2 2 2 2 1 "
        "1 -2 1 -2 1 -2 2 -2 2 -2 2 -1 2 -1 "
        "-1 -1 -1 -2 -2 -2 -2 -1 -1 -1 -1");
}

TEST_CASE("groups of P are PyTorch's rule when P divides M") {
  for (const int m : {4, 8, 12}) {
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(make_schedule("interleaved", shape_of(4, 3, m)).list(rank) ==
            make_schedule("interleaved", shape_of(4, 3, m, 4)).list(rank));
    }
  }
}

TEST_CASE("PyTorch's rounds may be longer than P") {
  // M = 10, P = 4: two rounds of five; rank 3 warms up with 5 forwards.
  const Schedule schedule = make_schedule("interleaved", shape_of(4, 2, 10));
  CHECK(text_of(schedule, 3).substr(0, 47) == "3F0 3F1 3F2 3F3 3F4 7F0 7B0 7F1 7B1 7F2 7B2 7F3");
}

TEST_CASE("LoopedBFS runs chunk by chunk and its backwards in descending order") {
  const Schedule schedule = make_schedule("looped-bfs", shape_of(4, 2, 4));
  CHECK(text_of(schedule, 2) == "2F0 2F1 2F2 2F3 6F0 6F1 6F2 6F3 6B3 6B2 6B1 6B0 2B3 2B2 2B1 2B0");
}

TEST_CASE("ZB-H1 delays the weight gradients of rank r by r micro-batches") {
  const Schedule schedule = make_schedule("zb-h1", shape_of(4, 1, 5));
  CHECK(text_of(schedule, 0) == "F0 F1 F2 F3 I0 W0 F4 I1 W1 I2 W2 I3 W3 I4 W4");
  CHECK(text_of(schedule, 1) == "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 I3 W2 I4 W3 W4");
  CHECK(text_of(schedule, 2) == "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 I4 W2 W3 W4");
  CHECK(text_of(schedule, 3) == "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 W2 W3 W4");
}

TEST_CASE("ZB-H2 warms up and delays twice as much") {
  const Schedule schedule = make_schedule("zb-h2", shape_of(4, 1, 8));
  CHECK(text_of(schedule, 0) ==
        "F0 F1 F2 F3 F4 F5 F6 I0 W0 F7 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6 I7 W7");
  CHECK(text_of(schedule, 3) ==
        "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 W0 F7 I7 W1 W2 W3 W4 W5 W6 W7");
}

TEST_CASE("without its weight gradients ZB-H1 is 1F1B") {
  for (int p = 1; p <= 5; ++p) {
    for (int m = 1; m <= 12; ++m) {
      const Schedule split = make_schedule("zb-h1", shape_of(p, 1, m));
      const Schedule fused = make_schedule("1f1b", shape_of(p, 1, m));
      for (int rank = 0; rank < p; ++rank) {
        std::vector<ComputeAction> kept;
        for (ComputeAction action : split.list(rank)) {
          if (action.kind == ActionKind::kWeightGradient) continue;
          if (action.kind == ActionKind::kInputGradient) action.kind = ActionKind::kFusedBackward;
          kept.push_back(action);
        }
        const auto expected = fused.list(rank);
        CHECK(std::equal(kept.begin(), kept.end(), expected.begin(), expected.end()));
      }
    }
  }
}

// Where every action stands in its rank's list.
using Positions = std::map<std::tuple<int, int, ActionKind>, int>;

Positions positions_of(const Schedule& schedule) {
  Positions position;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    int at = 0;
    for (const ComputeAction& action : schedule.list(rank)) {
      const int stage = action.stage.value;
      REQUIRE(stage < schedule.stages());
      REQUIRE(schedule.rank_of_stage[action.stage.value] == rank);
      const auto m = static_cast<int>(action.micro_batch.value);
      REQUIRE(position.emplace(std::tuple{stage, m, action.kind}, at++).second);
    }
  }
  return position;
}

// One F, then either one B or one I and one W; says whether it was B.
bool check_backward(const Positions& position, int stage, int m) {
  const int forward = position.at({stage, m, ActionKind::kForward});
  if (const auto fused = position.find({stage, m, ActionKind::kFusedBackward});
      fused != position.end()) {
    REQUIRE(forward < fused->second);
    REQUIRE_FALSE(position.contains({stage, m, ActionKind::kInputGradient}));
    REQUIRE_FALSE(position.contains({stage, m, ActionKind::kWeightGradient}));
    return true;
  }
  const int input = position.at({stage, m, ActionKind::kInputGradient});
  REQUIRE(forward < input);
  REQUIRE(input < position.at({stage, m, ActionKind::kWeightGradient}));
  return false;
}

// A pair is a forward and, in the same block, a fused backward that does not need it.
void check_pairs(const Schedule& schedule) {
  for (const ScheduleBlock& block : schedule.blocks) {
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      const ComputeAction& first = schedule.actions[i];
      if (!first.overlaps_next) continue;
      REQUIRE(i + 1 < block.end);
      const ComputeAction& second = schedule.actions[i + 1];
      REQUIRE(first.kind == ActionKind::kForward);
      REQUIRE(second.kind == ActionKind::kFusedBackward);
      REQUIRE((first.stage != second.stage || first.micro_batch != second.micro_batch));
    }
  }
}

// docs/schedules.md, "What makes a schedule valid".
void check_valid(const Schedule& schedule, const ScheduleKind& kind, const ScheduleShape& shape) {
  REQUIRE(schedule.name == kind.name);
  REQUIRE(schedule.ranks == shape.ranks);
  REQUIRE(schedule.chunks == shape.chunks);
  REQUIRE(schedule.micro_batches == shape.micro_batches * shape.slices);
  REQUIRE(schedule.copies == copies_of(kind.map));
  REQUIRE(schedule.stages() == shape.ranks * shape.chunks);
  REQUIRE(schedule.begin.size() == static_cast<std::size_t>(shape.ranks) + 1);
  REQUIRE(schedule.begin.back() == schedule.blocks.size());
  check_pairs(schedule);
  const Positions position = positions_of(schedule);
  const int share = schedule.micro_batches_per_copy();
  std::size_t actions = 0;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const int first = stage / schedule.stages_per_copy() * share;
    for (int m = first; m < first + share; ++m) {
      const bool fused = check_backward(position, stage, m);
      if (kind.backward != BackwardKind::kMixed) {
        REQUIRE(fused == (kind.backward == BackwardKind::kFused));
      }
      actions += fused ? 2 : 3;
    }
  }
  REQUIRE(position.size() == actions);
}

std::vector<ScheduleShape> all_shapes(const ScheduleKind& kind, int most_ranks, int most_chunks,
                                      int most_micro_batches) {
  std::vector<ScheduleShape> shapes;
  for (int p = 1; p <= most_ranks; ++p) {
    for (int v = 1; v <= most_chunks; ++v) {
      for (int m = 1; m <= most_micro_batches; ++m) {
        for (int g = 0; g <= (kind.has_groups ? m + 1 : 0); ++g) {
          for (int q = 1; q <= (kind.has_slices ? 4 : 1); ++q) {
            const ScheduleShape shape{p, v, m, g, q};
            if (why_no_schedule(kind, shape).empty()) shapes.push_back(shape);
          }
        }
      }
    }
  }
  return shapes;
}

TEST_CASE("every schedule that is not refused is valid and can be carried out") {
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    const auto shapes = all_shapes(kind, 6, 3, 13);
    CAPTURE(kind.name);
    CHECK(shapes.size() >= 6);
    for (const ScheduleShape& shape : shapes) {
      check_valid(kind.generate(shape), kind, shape);
      CHECK(lowered(kind.name, shape).actions.size() > 0);  // throws when it stalls
    }
  }
}

// A million micro-batches are as few blocks as a thousand.
TEST_CASE("a schedule is stored in as much room whatever the number of micro-batches") {
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    CAPTURE(kind.name);
    ScheduleShape shape{4, kind.most_chunks == 0 ? 3 : kind.fewest_chunks, 96};
    if (kind.has_slices) shape.slices = 3;
    const Schedule few = kind.generate(shape);
    shape.micro_batches = 960'000;
    const Schedule many = kind.generate(shape);
    CHECK(many.actions.size() == few.actions.size());
    CHECK(many.blocks.size() == few.blocks.size());
    CHECK(many.length() > 9'000 * few.length());
  }
}

TEST_CASE("the table knows its schedules by name") {
  CHECK(find_schedule("zb-h1")->splits_backward());
  CHECK_FALSE(find_schedule("1f1b")->splits_backward());
  CHECK(find_schedule("looped-bfs")->fewest_chunks == 2);
  CHECK(find_schedule("gpipe")->most_chunks == 1);
  CHECK(find_schedule("1F1B") == nullptr);
  CHECK(refusal("zb", shape_of(4, 2, 8))
            .starts_with(
                "unknown schedule 'zb'; known: gpipe, 1f1b, interleaved, interleaved-overlap, "));
}

TEST_CASE("one stage per rank is refused where chunks are the point, and several where not") {
  CHECK(why_not("interleaved", shape_of(4, 1, 8)) ==
        "V = 1: this schedule needs at least 2 chunks per rank; use -V 2 or more, or a schedule "
        "with one stage per rank, such as 1f1b or zb-h1");
  CHECK(why_not("looped-bfs", shape_of(4, 1, 8)) == why_not("interleaved", shape_of(4, 1, 8)));
  CHECK(why_not("1f1b", shape_of(4, 2, 8)) ==
        "V = 2: this schedule has one stage per rank; use -V 1, or interleaved or looped-bfs for "
        "several");
  CHECK(why_not("gpipe", shape_of(4, 2, 8)) == why_not("1f1b", shape_of(4, 2, 8)));
  CHECK(why_not("zb-h1", shape_of(4, 2, 8)) == why_not("1f1b", shape_of(4, 2, 8)));
}

TEST_CASE("PyTorch's rule refuses rounds that do not divide M") {
  CHECK(why_not("interleaved", shape_of(4, 2, 11)) ==
        "interleaved: M = 11 cannot be divided into 2 equal rounds (PyTorch's rule M % max(1, M / "
        "P) = 0 with P = 4); use M = 10 or 12, or give --group for Megatron's rule");
  // 9 = 7 - 7 % 3 + 3 would be refused as well: it has four rounds.
  CHECK(why_not("interleaved", shape_of(2, 2, 7)) ==
        "interleaved: M = 7 cannot be divided into 3 equal rounds (PyTorch's rule M % max(1, M / "
        "P) = 0 with P = 2); use M = 6 or 8, or give --group for Megatron's rule");
  CHECK(why_not("interleaved", shape_of(4, 2, 3)).empty());  // fewer than P: one round
}

TEST_CASE("the numbers of micro-batches that a refusal suggests are accepted") {
  for (int p = 1; p <= 9; ++p) {
    for (int m = 1; m <= 60; ++m) {
      const std::string reason = why_not("interleaved", shape_of(p, 2, m));
      if (reason.empty()) continue;
      const auto use = reason.find("use M = ");
      REQUIRE(use != std::string::npos);
      const int lower = std::stoi(reason.substr(use + 8));
      const int upper = std::stoi(reason.substr(reason.find(" or ", use) + 4));
      CHECK(lower < m);
      CHECK(upper > m);
      CHECK(why_not("interleaved", shape_of(p, 2, lower)).empty());
      CHECK(why_not("interleaved", shape_of(p, 2, upper)).empty());
    }
  }
}

TEST_CASE("Megatron's rule refuses groups out of range and short last groups") {
  CHECK(why_not("interleaved", shape_of(1, 2, 8, 4)) ==
        "interleaved: groups (Megatron's rule) need P >= 2; leave --group out");
  CHECK(why_not("interleaved", shape_of(4, 2, 8, 3)) ==
        "interleaved: group 3 is outside P <= group <= M, that is 4..8");
  CHECK(why_not("interleaved", shape_of(4, 2, 8, 9)) ==
        "interleaved: group 9 is outside P <= group <= M, that is 4..8");
  CHECK(why_not("interleaved", shape_of(4, 2, 8, 5)) ==
        "interleaved: the last group would hold 3 micro-batches, fewer than P = 4: M mod group "
        "must be 0 or at least P (Megatron's rule)");
  CHECK(why_not("interleaved", shape_of(4, 2, 9, 5)).empty());
  CHECK(why_not("interleaved", shape_of(4, 2, 10, 5)).empty());
}

TEST_CASE("sizes that make no pipeline are refused") {
  CHECK(refusal("1f1b", shape_of(0, 1, 8)) == "1f1b: P = 0, V = 1, M = 8 must all be at least 1");
  CHECK(refusal("gpipe", shape_of(4, 0, 8)) == "gpipe: P = 4, V = 0, M = 8 must all be at least 1");
  CHECK(refusal("zb-h1", shape_of(4, 1, -1)) ==
        "zb-h1: P = 4, V = 1, M = -1 must all be at least 1");
  CHECK(refusal("interleaved", shape_of(4, 2, 8, -2)) ==
        "interleaved: group -2 must be at least 1; leave it out for the schedule's own rule");
}

TEST_CASE("a schedule that is too large is refused, never cut short") {
  CHECK(refusal("interleaved", shape_of(1000, 61, 1000)) ==
        "interleaved: P * V = 61000 stages, at most 60000 are supported");
  CHECK(refusal("1f1b", shape_of(1000, 1, 1'000'000)) ==
        "1f1b: 1000 stages times 1000000 micro-batches is more than the 89478485 supported; "
        "nothing is cut short: choose fewer micro-batches (larger ones) or fewer stages");
  constexpr int kMost = 2'147'483'647;
  CHECK(refusal("looped-bfs", shape_of(kMost, kMost, kMost)).find("stages, at most 60000") !=
        std::string::npos);
}

}  // namespace
}  // namespace penstock
