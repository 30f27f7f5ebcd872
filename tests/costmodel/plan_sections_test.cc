// Prices of plans of which some sections recompute and others do not.
#include "costmodel/plan_sections.h"

#include <doctest/doctest.h>

#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

// F = 10, B = 20 without recompute; with it R = 5 and the given F and B.
ModelProfile with_recompute(std::int64_t forward, std::int64_t backward) {
  Measurement none = measured(1, 0, 10, 20);
  Measurement full = measured(1, 0, forward, backward);
  none.weight_gradient_share = full.weight_gradient_share = 0.5;
  full.recompute = "full";
  full.recompute_time.median = Duration{5};
  return model_of(section_type("layer", 100, {none, full}), 2);
}

SectionTable priced(const ModelProfile& model, const char* mode, std::vector<int> sections) {
  Plan plan;
  plan.recompute = mode;
  plan.recompute_sections = std::move(sections);
  plan.cuts = {0, 2};
  return price_plan_sections(model, eight_per_node(1), "gpu", plan, {1, 0});
}

std::int64_t work(const SectionTable& table, std::size_t section) {
  const ComputePrice& price = table.sections[section].price;
  return (price.forward.duration + price.fused_backward.duration + price.recompute.duration)
      .count();
}

TEST_CASE("a section that recomputes beside others that do not is as fast as they are, at most") {
  const ModelProfile slower = with_recompute(11, 22), faster = with_recompute(8, 12);
  // In all sections: as measured.
  CHECK(work(priced(slower, "full", {}), 0) == 38);
  CHECK(work(priced(faster, "full", {}), 0) == 25);
  // In the first of two.
  CHECK(work(priced(slower, "full", {1}), 0) == 38);
  CHECK(work(priced(slower, "full", {1}), 1) == 30);
  CHECK(work(priced(faster, "full", {1}), 0) == 35);
  CHECK(work(priced(faster, "full", {1}), 1) == 30);
  const ComputePrice price = priced(faster, "full", {1}).sections[0].price;
  CHECK(price.input_gradient.duration + price.weight_gradient.duration == Duration{20});
  CHECK(is_somewhere_faster(priced(faster, "full", {}), priced(faster, "none", {})));
  CHECK_FALSE(is_somewhere_faster(priced(slower, "full", {}), priced(slower, "none", {})));
}

}  // namespace
}  // namespace penstock
