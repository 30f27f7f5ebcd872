#include "costmodel/torch_ring.h"

#include <doctest/doctest.h>

#include "tests/costmodel/clusters.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

ContextRings ranks_of(const ClusterSpec& cluster, int tensor, int context,
                      ContextKind kind = ContextKind::kAllGather) {
  OtherDegrees others;
  others.context = context;
  others.context_kind = kind;
  return {cluster, "gpu", tensor, others};
}

}  // namespace

// 49 MB at 300 GB/s would take 163.3 us and 10; at 49 GB/s 1,000 us, three of them 3,000 us.
TEST_CASE("more than two ranks send no faster than runs showed, whatever the link") {
  const ClusterSpec cluster = eight_per_node(1);
  const ContextRings ranks = ranks_of(cluster, 1, 4);
  const TorchRing ring(ranks);
  CHECK(ring.is_limited({49'000'000}));
  CHECK(ring.step_time({49'000'000}) == 1000us);
  CHECK(ring.gather_time({49'000'000}) == 3000us);
  CHECK(ring.shown_steps({49'000'000}, 400us) == 1800us);
  CHECK(ring.shown_gather({49'000'000}, 400us) == 2600us);
}

// 30 MB at 300 GB/s, and 10 us of latency.
TEST_CASE("two ranks send as fast as their link") {
  const ClusterSpec cluster = eight_per_node(1);
  const ContextRings ranks = ranks_of(cluster, 1, 2);
  CHECK_FALSE(TorchRing(ranks).is_limited({30'000'000}));
  CHECK(TorchRing(ranks).step_time({30'000'000}) == 110us);
  CHECK(TorchRing(ranks).gather_time({30'000'000}) == 110us);
}

// 12.5 MB at 12.5 GB/s between nodes, and 30 us; by the limit 255.1 us.
TEST_CASE("a slower link counts") {
  const ClusterSpec cluster = eight_per_node(2);
  const ContextRings ranks = ranks_of(cluster, 4, 4);
  CHECK_FALSE(TorchRing(ranks).is_limited({12'500'000}));
  CHECK(TorchRing(ranks).step_time({12'500'000}) == 1030us);
}

}  // namespace penstock
