#include "runtime_bridge/rendezvous_lists.h"

#include <doctest/doctest.h>

#include "tests/runtime_bridge/ring_plans.h"

namespace penstock {
namespace {

using testing::plan_of;
using testing::ring_model;
using testing::ring_plan;

RendezvousLists lists_of(const std::string& schedule, const testing::RingShape& shape,
                         bool tied = false) {
  const int sections = shape.pipeline * shape.chunks;
  const PlanFile file = ring_plan(ring_model(sections, tied), plan_of(schedule, shape));
  return rendezvous_lists(rank_programs(file, ModelDescription{}, {}));
}

std::string words_of(const std::vector<RendezvousBatch>& batches) {
  std::string words;
  for (const RendezvousBatch& batch : batches) {
    words += words.empty() ? "" : " | ";
    for (std::size_t i = 0; i < batch.size(); ++i) words += (i == 0 ? "" : " ") + batch[i].name;
  }
  return words;
}

TEST_CASE("transfers between two computations are one batch") {
  // F0 SEND_F0 F1 SEND_F1 RECV_B0 B0 RECV_B1 B1, and the other side.
  const RendezvousLists lists = lists_of("1f1b", {2, 1, 1, 2});
  REQUIRE(lists.size() == 2);
  CHECK(words_of(lists[0]).find("0SEND_F0 | 0SEND_F1 0RECV_B0 | 0RECV_B1") == 0);
  CHECK(words_of(lists[1]).find("1RECV_F0 | 1RECV_F1 | 1SEND_B0 | 1SEND_B1") == 0);
  CHECK(lists[0][0][0].peer == 1);
  CHECK(lists[0][0][0].tag == lists[1][0][0].tag);
  CHECK(check_rendezvous(lists) == "");
}

TEST_CASE("a rank's directions are those of its messages, ascending") {
  const PlanFile file = ring_plan(ring_model(3, false), plan_of("1f1b", {3, 1, 1, 4}));
  const auto programs = rank_programs(file, ModelDescription{}, {});
  CHECK(ways_of(programs[1]) == std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {1, 2}, {2, 1}});
}

TEST_CASE("what our schedules issue can end without buffers, reductions included") {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
    for (const int data : {1, 2}) {
      CAPTURE(schedule);
      CAPTURE(data);
      CHECK(check_rendezvous(lists_of(schedule, {4, 1, data, 9})) == "");
      CHECK(check_rendezvous(lists_of(schedule, {3, 1, data, 5}, true)) == "");
    }
  }
}

TEST_CASE("so can those of two chunks per rank") {
  CHECK(check_rendezvous(lists_of("interleaved", {2, 2, 1, 4})) == "");
  CHECK(check_rendezvous(lists_of("interleaved", {4, 2, 2, 8})) == "");
}

}  // namespace
}  // namespace penstock
