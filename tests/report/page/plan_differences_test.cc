#include "report/page/plan_differences.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

Plan plan_of_16() {
  Plan plan;
  plan.schedule = "zb-v";
  plan.pipeline = 2;
  plan.chunks = 2;
  plan.data = 8;
  plan.recompute = "selective";
  plan.recompute_sections = {6, 4, 3, 0};
  plan.cuts = {0, 8, 16, 24, 34};
  plan.zero1 = true;
  plan.device = "a100";
  return plan;
}

TEST_CASE("what differs is named in the order of a plan's words") {
  const Plan first = plan_of_16();
  Plan other = first;
  CHECK(differences_text(first, other).empty());
  other.cuts[1] = 9;
  CHECK(differences_text(first, other) == "other cuts");
  other.pipeline = other.data = 4;
  other.schedule = "v-half";
  other.recompute_sections = {2, 0, 0, 0};
  CHECK(differences_text(first, other) == "PP 4, DP 4, v-half, recompute selective 2/34");
  other.recompute = "none";
  other.recompute_sections.clear();
  other.zero1 = false;
  other.tensor = 2;
  CHECK(differences_text(first, other) ==
        "TP 2, PP 4, DP 4, v-half, no recompute, no ZeRO-1, 32 GPUs");
}

TEST_CASE("where only one rank is in a row, placement is no difference") {
  Plan first = plan_of_16();
  Plan other = first;
  other.placement = Placement::kDataInner;
  CHECK(differences_text(first, other) == "DP ranks next to each other");
  first.data = other.data = 1;
  CHECK(differences_text(first, other) == "other cuts");
}

}  // namespace
}  // namespace penstock
