// More than four stages per rank: enumerated last, against what is best until then.
#include <vector>

#include <doctest/doctest.h>

#include "search/best_plans.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Costs;
using testing::Random;
using testing::search;

TEST_CASE("no pinned number of stages per rank is faster than the free search") {
  Random random(91);
  int many = 0;
  for (int i = 0; i < (testing::kWatched ? 6 : 20); ++i) {
    CAPTURE(i);
    const int layers = random.between(12, 20);
    const Costs layer{random.between(5, 20), random.between(5, 40), 0, random.between(1, 8)};
    const ModelProfile model =
        testing::model_of_sections(std::vector<Costs>(static_cast<std::size_t>(layers), layer), 1);
    const ClusterSpec cluster = testing::cluster_of({1, 2, random.between(60, 400)});
    SearchRequest request;
    request.gpus = 2;
    request.global_batch = random.between(1, 4) * 2;
    request.pins.pipeline = 2;
    request.pins.schedules = {"1f1b", "interleaved", "looped-bfs"};
    const SearchResult free = search(model, cluster, request);
    testing::check_result(model, cluster, free);
    CHECK(free.candidates > 0);
    for (int v = 2; v <= layers / 2; ++v) {
      CAPTURE(v);
      SearchRequest pinned = request;
      pinned.pins.chunks = v;
      const SearchResult one = search(model, cluster, pinned);
      if (one.best.empty()) continue;
      REQUIRE_FALSE(free.best.empty());
      const RankedPlan& best = free.best[0];
      CHECK(best.evaluation.step_time <= one.best[0].evaluation.step_time);
      CHECK(free.least_possible <= one.best[0].evaluation.step_time);
    }
    if (!free.best.empty() && free.best[0].plan.chunks > 4) ++many;
  }
  CHECK(many > (testing::kWatched ? 0 : 5));
}

}  // namespace
}  // namespace penstock
