// interleaved-zb, interleaved-overlap and grouped-interleaved: their lists, forms, peaks, limits.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::makespan_of;
using testing::RankCosts;
using testing::signed_text_of;
using testing::text_of;

constexpr std::initializer_list<int> kRanks = {2, 3, 4, 8};
constexpr std::initializer_list<int> kChunks = {2, 3, 4};

std::string why_not(std::string_view name, const ScheduleShape& shape) {
  return why_no_schedule(*find_schedule(name), shape);
}
std::int64_t peak(std::string_view name, const ScheduleShape& shape, int rank) {
  return liveness(lowered(name, shape))[static_cast<std::size_t>(rank)].peak_chunks;
}

TEST_CASE("interleaved zero bubble delays the weight gradients of rank r by r") {
  const Schedule schedule = make_schedule("interleaved-zb", {4, 2, 4, 0});
  CHECK(text_of(schedule, 2) ==
        "2F0 2F1 2F2 2F3 6F0 6F1 6I0 6F2 6I1 6F3 6I2 6W0 6I3 6W1 2I0 6W2 2I1 6W3 2I2 2W0 2I3 2W1 "
        "2W2 2W3");
  CHECK(text_of(schedule, 3) ==
        "3F0 3F1 3F2 3F3 7F0 7I0 7F1 7I1 7F2 7I2 7F3 7I3 7W0 3I0 7W1 3I1 7W2 3I2 7W3 3I3 3W0 3W1 "
        "3W2 3W3");
}

// Groups, in each the chunks, in each of these its micro-batches; of the chunks backwards take the
// last one first.
std::vector<ComputeAction> table_of(ActionKind kind, const ScheduleShape& shape, int group,
                                    int rank) {
  std::vector<ComputeAction> table;
  for (int begin = 0; begin < shape.micro_batches; begin += group) {
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const int end = std::min(begin + group, shape.micro_batches);
      const int taken = kind == ActionKind::kForward ? chunk : shape.chunks - 1 - chunk;
      for (int m = begin; m < end; ++m) {
        table.push_back({kind, false,
                         StageId{static_cast<std::uint16_t>(taken * shape.ranks + rank)},
                         MicroBatchId{static_cast<std::uint32_t>(m)}});
      }
    }
  }
  return table;
}

TEST_CASE("every kind of action follows the table of groups, chunks and micro-batches") {
  int seen = 0;
  for (const char* name : {"interleaved", "interleaved-zb", "grouped-interleaved"}) {
    const bool is_grouped = name[0] == 'g';
    for (const int p : {2, 3, 5}) {
      for (const int v : {2, 3}) {
        for (int m = 1; m <= 4 * p; ++m) {
          const ScheduleShape shape{p, v, m, is_grouped ? p : 0};
          if (!why_not(name, shape).empty()) continue;
          const int group = is_grouped ? p : m / std::max(1, m / p);
          const Schedule schedule = make_schedule(name, shape);
          for (int rank = 0; rank < p; ++rank) {
            for (const ActionKind kind :
                 {ActionKind::kForward, ActionKind::kInputGradient, ActionKind::kWeightGradient,
                  ActionKind::kFusedBackward}) {
              std::vector<ComputeAction> actions = schedule.list(rank);
              std::erase_if(actions, [&](const ComputeAction& one) { return one.kind != kind; });
              if (actions.empty()) continue;
              CHECK(actions == table_of(kind, shape, group, rank));
              ++seen;
            }
          }
        }
      }
    }
  }
  CHECK(seen > 1000);
}

// W <= F and W <= I; all can be divided by 2, 3 and 4.
constexpr std::initializer_list<RankCosts> kSplitCosts = {
    {12, 12, 12, 0}, {120, 144, 96, 0}, {1200, 1800, 720, 0}};

std::int64_t interleaved_zb_form(std::int64_t p, std::int64_t v, std::int64_t m,
                                 const RankCosts& costs) {
  const auto [f, i, w, c] = costs;
  return m * (f + i + w) + (p - 1) * (f + i - w) / v;
}

TEST_CASE("interleaved zero bubble has the bubble (P - 1)(F + I - W) / V and holds P V chunks") {
  for (const int p : kRanks) {
    for (const int v : kChunks) {
      for (int m = p; m <= 4 * p; m += p) {
        for (const RankCosts& costs : kSplitCosts) {
          CHECK(makespan_of("interleaved-zb", {p, v, m, 0}, costs) ==
                Duration{interleaved_zb_form(p, v, m, costs)});
        }
        for (int r = 0; r < p; ++r) CHECK(peak("interleaved-zb", {p, v, m, 0}, r) == p * v);
      }
    }
  }
}

TEST_CASE("interleaved zero bubble leaves its form when W is long or P does not divide M") {
  const RankCosts long_weights{12, 12, 24, 0};
  CHECK(makespan_of("interleaved-zb", {4, 2, 8, 0}, long_weights) >
        Duration{interleaved_zb_form(4, 2, 8, long_weights)});
  CHECK(makespan_of("interleaved-zb", {4, 2, 3, 0}, {12, 12, 12, 0}) >
        Duration{interleaved_zb_form(4, 2, 3, {12, 12, 12, 0})});
}

TEST_CASE("interleaved zero bubble wants PyTorch's equal rounds") {
  CHECK(why_not("interleaved-zb", {4, 2, 9, 0}) ==
        "interleaved-zb: M = 9 cannot be divided into 2 equal rounds (PyTorch's rule M % max(1, M "
        "/ P) = 0 with P = 4); use M = 8 or 10");
  CHECK(why_not("interleaved-zb", {4, 2, 8, 4}) ==
        "interleaved-zb: group 4 means nothing here, only interleaved schedules have groups; leave "
        "it out");
}

// P = 2, V = 2, G = 2, M = 4: rank 0 warms up with 2 + 1, rank 1 with 2 forwards.
TEST_CASE("grouped interleaving warms up with (V - 1) G + P - 1 - r forwards") {
  const Schedule schedule = make_schedule("grouped-interleaved", {2, 2, 4, 0});
  CHECK(text_of(schedule, 0) == "0F0 0F1 2F0 2F1 2B0 0F2 2B1 0F3 0B0 2F2 0B1 2F3 2B2 2B3 0B2 0B3");
  CHECK(text_of(schedule, 1) == "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
}

// P = 2, G = 2, M = 3 is the list of M = 4 above without micro-batch 3.
TEST_CASE("grouped interleaving fills the last group up and leaves out what does not exist") {
  const Schedule schedule = make_schedule("grouped-interleaved", {2, 2, 3, 0});
  CHECK(text_of(schedule, 0) == "0F0 0F1 2F0 2F1 2B0 0F2 2B1 0B0 2F2 0B1 2B2 0B2");
  CHECK(text_of(schedule, 1) == "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1B1 3F2 3B2 1B2");
}

TEST_CASE("rank r of grouped interleaving holds (V - 1) G + P - r chunks") {
  for (const int p : kRanks) {
    for (const int v : kChunks) {
      for (int g = (p + 1) / 2; g <= p; ++g) {
        for (int m = 2 * g; m <= 4 * p; m += g) {
          for (int r = 0; r < p; ++r) {
            CHECK(peak("grouped-interleaved", {p, v, m, g}, r) ==
                  std::min((v - 1) * g + p - r, m * v));
          }
        }
      }
    }
  }
}

TEST_CASE("groups of P have the bubble of interleaved 1F1B when transfers are free, others not") {
  for (const int p : kRanks) {
    for (const int v : kChunks) {
      for (int m = p; m <= 4 * p; m += p) {
        for (const RankCosts& costs : kSplitCosts) {
          CHECK(makespan_of("grouped-interleaved", {p, v, m, 0}, costs) ==
                makespan_of("interleaved", {p, v, m, 0}, costs));
        }
      }
    }
  }
  const RankCosts linked{120, 144, 96, 10};
  CHECK(makespan_of("grouped-interleaved", {4, 2, 8, 0}, linked) >
        makespan_of("interleaved", {4, 2, 8, 0}, linked));
  const RankCosts plain{120, 144, 96, 0};
  CHECK(makespan_of("grouped-interleaved", {4, 2, 8, 2}, plain) >
        makespan_of("grouped-interleaved", {4, 2, 8, 4}, plain));
}

TEST_CASE("grouped interleaving refuses groups below P / 2 and above P") {
  CHECK(why_not("grouped-interleaved", {5, 2, 8, 2}) ==
        "grouped-interleaved: group 2 is outside ceil(P / 2) <= group <= P, that is 3..5; larger "
        "groups are what interleaved has");
  CHECK(why_not("grouped-interleaved", {5, 2, 8, 3}).empty());
  CHECK(why_not("grouped-interleaved", {5, 2, 8, 5}).empty());
  CHECK_FALSE(why_not("grouped-interleaved", {5, 2, 8, 6}).empty());
}

// P = 2, V = 2, M = 4, G = 2: rank 1 would warm up with 2 forwards, and takes one more.
TEST_CASE("overlapping interleaved 1F1B takes one more forward first and then runs pairs") {
  const Schedule schedule = make_schedule("interleaved-overlap", {2, 2, 4, 0});
  CHECK(text_of(schedule, 1) ==
        "1F0 1F1 3F0 (3F1;3B0) (1F2;3B1) (1F3;1B0) (3F2;1B1) (3F3;3B2) 3B3 1B2 1B3");
  CHECK(signed_text_of(schedule, 0) == "1 1 2 2 1 1 -2 2 -2 2 -1 -1 -2 -2 -1 -1");
}

TEST_CASE("without their pairs and the forward more the lists are those of interleaved 1F1B") {
  for (const int p : {2, 3, 4}) {
    for (int m = p; m <= 3 * p; m += p) {
      const Schedule pairs = make_schedule("interleaved-overlap", {p, 2, m, 0});
      const Schedule plain = make_schedule("interleaved", {p, 2, m, 0});
      for (int r = 0; r < p; ++r) {
        for (const bool forward : {true, false}) {
          std::vector<ComputeAction> ours, theirs;
          for (ComputeAction action : pairs.list(r)) {
            action.overlaps_next = false;
            if ((action.kind == ActionKind::kForward) == forward) ours.push_back(action);
          }
          for (const ComputeAction& action : plain.list(r)) {
            if ((action.kind == ActionKind::kForward) == forward) theirs.push_back(action);
          }
          CHECK(ours == theirs);
        }
        CHECK(peak("interleaved-overlap", {p, 2, m, 0}, r) ==
              std::min(peak("interleaved", {p, 2, m, 0}, r) + 1, std::int64_t{2} * m));
      }
    }
  }
}

TEST_CASE("overlapping interleaved 1F1B follows Megatron's groups") {
  CHECK(why_not("interleaved-overlap", {1, 2, 4, 0}) ==
        "interleaved-overlap: P = 1, M = 4, but Megatron's rule wants 2 <= P <= M");
  CHECK(why_not("interleaved-overlap", {4, 2, 3, 0}) ==
        "interleaved-overlap: P = 4, M = 3, but Megatron's rule wants 2 <= P <= M");
  CHECK(why_not("interleaved-overlap", {4, 2, 9, 0}) ==
        "interleaved-overlap: the last group would hold 1 micro-batches, fewer than P = 4: M mod "
        "group must be 0 or at least P (Megatron's rule)");
  CHECK(why_not("interleaved-overlap", {4, 2, 9, 5}).empty());
}

}  // namespace
}  // namespace penstock
