#include "search/section_sums.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/search/models.h"

namespace penstock {
namespace {

TEST_CASE("differences of sums are the prices of runs; maxima are those of runs") {
  testing::Random random(91);
  const ModelProfile model = testing::random_model(random, 13);
  const SectionSums sums = testing::sums_of(model, 2);
  REQUIRE(sums.why_not.empty());
  REQUIRE(sums.sections() == 13);
  for (int first = 0; first < 13; ++first) {
    std::int64_t forward = 0;
    std::int64_t split = 0;
    std::int64_t working = 0;
    for (int end = first + 1; end <= 13; ++end) {
      const ComputePrice& price = sums.table.sections[static_cast<std::size_t>(end - 1)].price;
      forward += price.forward.duration.count();
      split += (price.forward.duration + price.recompute.duration + price.input_gradient.duration +
                price.weight_gradient.duration)
                   .count();
      working = std::max(working, price.working_peak.count);
      const auto f = static_cast<std::size_t>(first);
      const auto e = static_cast<std::size_t>(end);
      CHECK(sums.forward[e] - sums.forward[f] == forward);
      CHECK(sums.work_of(BackwardKind::kSplit)[e] - sums.work_of(BackwardKind::kSplit)[f] == split);
      CHECK(sums.working_peak_of(first, end) == working);
    }
  }
}

TEST_CASE("what was not measured has no sums but a reason") {
  const ModelProfile model = testing::model_of_sections({{}});
  const SectionSums sums = sum_sections(model, ClusterSpec{}, "gpu", 4, 1, 0, "none");
  CHECK(sums.why_not ==
        "no measurement of section type 'type0' (device 'gpu', tensor degree 4, recompute "
        "'none'); measured tensor degrees: 1");
}

TEST_CASE("tied parameters repeat once per further section of the group in the run") {
  ModelProfile model = testing::model_of_sections(std::vector<testing::Costs>(6));
  model.tied_weights = {{"a", {SectionId{0}, SectionId{3}, SectionId{5}}, {{1, 7}}},
                        {"b", {SectionId{1}, SectionId{2}}, {{1, 100}}}};
  const TiedParameters ties(model, 1);
  CHECK(ties.repeated(0, 6) == 2 * 7 + 100);
  CHECK(ties.repeated(0, 3) == 100);
  CHECK(ties.repeated(3, 6) == 7);
  CHECK(ties.repeated(2, 5) == 0);
  CHECK(ties.never_repeated_within(1));
  CHECK_FALSE(ties.never_repeated_within(2));
}

}  // namespace
}  // namespace penstock
