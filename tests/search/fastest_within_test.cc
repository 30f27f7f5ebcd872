// One search for several numbers of GPUs (SearchRequest::sizes).
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "search/best_plans.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::model_of_sections;
using testing::search;

SearchRequest request_of(int gpus, int global_batch) {
  SearchRequest request;
  request.gpus = gpus;
  request.global_batch = global_batch;
  return request;
}

// Four equal sections of F = 1 and B = 2 us, a batch of 4: 48 us on one GPU, 24 on two replicas, 12
// on four. Three replicas leave one of them two samples, and three stages one of them two sections:
// not faster than two GPUs. The norm of several replicas takes a nanosecond.
TEST_CASE("the fastest plan on at most so many GPUs, for several numbers at once") {
  const ModelProfile model = model_of_sections({{1, 2}, {1, 2}, {1, 2}, {1, 2}}, 1);
  const ClusterSpec cluster = cluster_of({1, 4});
  SearchRequest request = request_of(4, 4);
  request.sizes = {1, 2, 3, 4};
  const SearchResult result = search(model, cluster, request);
  REQUIRE(result.fastest_within.size() == 4);
  const std::vector<std::pair<int, int>> expected{
      {48'000, 1}, {24'001, 2}, {24'001, 2}, {12'001, 4}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(result.fastest_within[i]);
    const RankedPlan& plan = *result.fastest_within[i];
    CHECK(plan.evaluation.step_time == Duration{expected[i].first});
    CHECK(plan.plan.devices() == expected[i].second);
  }
}

// Of the same: two replicas take 24,001 ns, which is not below the first limit.
TEST_CASE("of several numbers of GPUs those have a plan on which one is below the limit") {
  const ModelProfile model = model_of_sections({{1, 2}, {1, 2}, {1, 2}, {1, 2}}, 1);
  const ClusterSpec cluster = cluster_of({1, 4});
  SearchRequest request = request_of(4, 4);
  request.sizes = {1, 2, 3, 4};
  for (const int limit : {24'001, 24'002}) {
    request.faster_than = Duration{limit};
    const SearchResult result = search(model, cluster, request);
    REQUIRE(result.fastest_within.size() == 4);
    CHECK_FALSE(result.fastest_within[0]);
    CHECK(result.fastest_within[1].has_value() == (limit > 24'001));
    CHECK(result.fastest_within[2].has_value() == (limit > 24'001));
    REQUIRE(result.fastest_within[3]);
    CHECK(result.fastest_within[3]->evaluation.step_time == Duration{12'001});
  }
}

// Of the weights of both sections only half fit on a GPU: 4 * 20 bytes of state each.
TEST_CASE("numbers of GPUs on which nothing fits have no fastest plan") {
  const ModelProfile model = model_of_sections({{1, 2, 20}, {1, 2, 20}}, 1);
  const ClusterSpec cluster = cluster_of({1, 2, 100});
  SearchRequest request = request_of(2, 2);
  request.sizes = {1, 2};
  const SearchResult result = search(model, cluster, request);
  REQUIRE(result.fastest_within.size() == 2);
  CHECK(!result.fastest_within[0]);
  CHECK(result.fastest_within[1]);
}

// Of two sections with 40 bytes of state and 100 of activations one fits on a GPU of 150 bytes,
// with one micro-batch. What is fixed in advance has the first rank hold two; arranged lists take
// one after the other: F of both ranks, B of the second, I and W of the first, 1 + 1 + 2 + 2 us
// each.
TEST_CASE("a page on which only automatic schedules fit has the fastest of them") {
  const ModelProfile model = model_of_sections({{1, 2, 10, 100}, {1, 2, 10, 100}}, 1);
  const ClusterSpec cluster = cluster_of({1, 2, 150});
  SearchRequest request = request_of(2, 3);
  request.sizes = {1, 2};
  const SearchResult result = search(model, cluster, request);
  REQUIRE(result.fastest_within.size() == 2);
  CHECK(!result.fastest_within[0]);
  REQUIRE(result.fastest_within[1]);
  CHECK(result.fastest_within[1]->plan.schedule == "zb-auto");
  CHECK(result.fastest_within[1]->evaluation.step_time == Duration{3 * 5'000 + 1});
  CHECK(result.fastest_within[1]->evaluation.peak_memory() == Bytes{140});
  request.pins.schedules = {"gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1"};
  CHECK(!search(model, cluster, request).fastest_within[1]);
}

// The numbers of replicas that one search for all sizes tries hold those of a search for each, and
// so few sections have all their cuts tried: the pages are the answers of searches for each, though
// the groups are taken up in another order and some GPUs may stay idle (5 and 6 of 4 sections).
TEST_CASE("a search for several numbers of GPUs finds what a search for each finds") {
  testing::Random random(20261122);
  for (int i = 0; i < testing::draws(20); ++i) {
    const ModelProfile model = testing::random_model(random, 4);
    const ClusterSpec cluster = testing::random_cluster(random, 2, 3);
    SearchRequest request = request_of(6, 8);
    request.pins.schedules = {"gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1"};
    SearchRequest all = request;
    all.sizes = {1, 2, 3, 5, 6};
    const SearchResult together = search(model, cluster, all);
    for (std::size_t k = 0; k < all.sizes.size(); ++k) {
      request.gpus = all.sizes[k];
      const SearchResult alone = search(model, cluster, request);
      REQUIRE(alone.best.empty() != together.fastest_within[k].has_value());
      if (alone.best.empty()) continue;
      CHECK(together.fastest_within[k]->evaluation.step_time ==
            alone.best.front().evaluation.step_time);
      CHECK(together.fastest_within[k]->plan == alone.best.front().plan);
      CHECK(together.fastest_within[k]->plan.devices() <= all.sizes[k]);
    }
  }
}

}  // namespace
}  // namespace penstock
