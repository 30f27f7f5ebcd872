// Varuna's lists against those printed in its description, and that nothing is cut short.
#include "simulator/schedules/varuna.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/rule_facts.h"
#include "simulator/schedules/schedules.h"
#include "tests/simulator/varuna.h"

namespace penstock {
namespace {

using testing::varuna_lists;

std::string text_of(const std::vector<ComputeAction>& list) {
  std::string text;
  for (const ComputeAction& action : list) {
    text += (text.empty() ? "" : " ") + std::string(name_of(action.kind)) +
            std::to_string(action.micro_batch.value);
  }
  return text;
}

// Three ranks, three micro-batches, one row per rank, w the second half of a backward:
//   0: F0 F1 F2 .. .. R0 B0 w R1 B1 w ..
//   1: .. F0 F1 F2 R0 B0 w R1 B1 w ..         the gradient of 0 reaches rank 1 after quantum 3
//   2: .. .. F0 B0 w  F1 B1 w F2 B2 w
TEST_CASE("three ranks and three micro-batches") {
  const auto lists = varuna_lists(3, 3);
  CHECK(text_of(lists[0]) == "F0 F1 F2 R0 B0 R1 B1 R2 B2");
  CHECK(text_of(lists[1]) == "F0 F1 F2 R0 B0 R1 B1 R2 B2");
  CHECK(text_of(lists[2]) == "F0 B0 F1 B1 F2 B2");
}

TEST_CASE("four ranks: the third goes on with forwards once its recomputes are done") {
  const auto lists = varuna_lists(4, 6);
  const std::string all = "F0 F1 F2 F3 F4 F5 R0 B0 R1 B1 R2 B2 R3 B3 R4 B4 R5 B5";
  CHECK(text_of(lists[0]) == all);
  CHECK(text_of(lists[1]) == all);
  CHECK(text_of(lists[2]) == "F0 F1 F2 R0 B0 R1 B1 R2 B2 F3 F4 F5 R3 B3 R4 B4 R5 B5");
  CHECK(text_of(lists[3]) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST_CASE("a single rank keeps its activations") {
  CHECK(text_of(varuna_lists(1, 2)[0]) == "F0 B0 F1 B1");
}

TEST_CASE("the lists are those of list scheduling in quanta, whatever the sizes") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int micro_batches = 1; micro_batches <= 40; ++micro_batches) {
      const Schedule schedule = make_schedule("varuna", {ranks, 1, micro_batches});
      CHECK(has_varuna_order(schedule));
      const auto lists = varuna_lists(ranks, micro_batches);
      for (int r = 0; r < ranks; ++r) {
        REQUIRE(schedule.list(r) == lists[static_cast<std::size_t>(r)]);
      }
    }
  }
  CHECK_FALSE(has_varuna_order(make_schedule("1f1b", {4, 1, 6})));
}

// 20,000 quanta, where another tool stops, are about 5,000 micro-batches.
TEST_CASE("no micro-batch is left out, however many there are") {
  for (const auto& [ranks, micro_batches] : {std::pair{2, 30'000}, {7, 9'001}, {16, 1}}) {
    const Schedule schedule = make_schedule("varuna", {ranks, 1, micro_batches});
    std::vector<std::vector<ComputeAction>> lists;
    lists.reserve(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) lists.push_back(schedule.list(r));
    for (std::size_t r = 0; r < lists.size(); ++r) {
      const bool is_last = r + 1 == lists.size();
      CHECK(lists[r].size() == static_cast<std::size_t>(micro_batches) * (is_last ? 2 : 3));
      for (const ActionKind kind :
           {ActionKind::kForward, ActionKind::kRecompute, ActionKind::kFusedBackward}) {
        const auto count = std::count_if(lists[r].begin(), lists[r].end(),
                                         [&](const auto& action) { return action.kind == kind; });
        CHECK(count == (is_last && kind == ActionKind::kRecompute ? 0 : micro_batches));
      }
    }
  }
}

TEST_CASE("the table of rules says of every schedule what its row and its lists say") {
  for (const ScheduleKind& kind : schedule_kinds()) {
    const RuleFacts& facts = facts_of(rule_of_schedule(kind.name));
    CHECK(facts.rule == kind.rule);
    CHECK(facts.last_rank_keeps == kind.recomputes);
    if (!facts.last_rank_keeps) continue;
    CHECK(facts.word == kind.name);
    const Schedule schedule = make_schedule(kind.name, {4, 1, 6});
    for (int rank = 0; rank < 4; ++rank) {
      const auto list = schedule.list(rank);
      const bool recomputes = std::any_of(
          list.begin(), list.end(),
          [](const ComputeAction& action) { return action.kind == ActionKind::kRecompute; });
      CHECK(recomputes == (rank < 3));
    }
  }
  CHECK(rule_of_schedule("varuna-like") == RunTimeRule::kNone);
}

TEST_CASE("each rule has a row, with the same lists") {
  const std::pair<const char*, RunTimeRule> rows[] = {
      {"varuna", RunTimeRule::kVaruna},
      {"varuna-runtime", RunTimeRule::kVarunaRuntime},
      {"varuna-strict", RunTimeRule::kVarunaStrict}};
  const auto lists = varuna_lists(4, 6);
  for (const auto& [name, rule] : rows) {
    const ScheduleKind& kind = *find_schedule(name);
    CHECK(kind.recomputes);
    CHECK(kind.rule == rule);
    const Schedule schedule = make_schedule(name, {4, 1, 6});
    CHECK(schedule.name == name);
    CHECK(schedule.rule == rule);
    CHECK(schedule.rank_of_stage == std::vector<int>{0, 1, 2, 3});
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(schedule.list(rank) == lists[static_cast<std::size_t>(rank)]);
    }
  }
}

}  // namespace
}  // namespace penstock
