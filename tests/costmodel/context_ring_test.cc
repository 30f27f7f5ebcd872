#include "costmodel/context_ring.h"

#include <doctest/doctest.h>

#include "core/values/term_names.h"
#include "costmodel/price_stages.h"
#include "costmodel/torch_ring.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

// F 100 us, I and W 200 us each, of 2 samples of 1024 tokens on 2 ranks; a step of the ring sends
// 30 MB beside 60 us of attention forward, 150 us backward.
ModelProfile ring_of_two() {
  Measurement m = measured(2, 1024, 100'000, 400'000);
  m.context_degree = 2;
  m.ring = RingTraffic{{30'000'000}, 60us, 150us, std::nullopt};
  SectionType type = section_type("layer", 10, {m});
  type.parameters = {{1, 10}};
  return model_of(type);
}

SectionTable priced(const ModelProfile& profile, const ClusterSpec& cluster, int samples = 2,
                    int context = 2, int length = 1024) {
  return price_sections(profile, cluster, "gpu", 1, samples, length, "none", 0, context);
}

// 49 MB a step on so many ranks, beside no attention; PyTorch passes gradients on.
ModelProfile ring_of(int context, bool torch) {
  ModelProfile profile = ring_of_two();
  Measurement& row = profile.section_types[0].measurements[0];
  row.context_degree = context;
  row.ring = RingTraffic{{49'000'000}, 0us, 0us, std::nullopt};
  if (torch) row.terms.push_back({kGradientsPassedOn, {}, {}, {}});
  return profile;
}

Duration touched_by_rate(const SectionTable& table) {
  for (const SectionNote& note : table.notes) {
    if (note.text == kTorchRateAssumed) return note.touched;
  }
  return {};
}

ComputePrice priced_as(const ModelProfile& profile, ContextKind kind) {
  const ClusterSpec cluster = eight_per_node(1);
  OtherDegrees others;
  others.context = 2;
  others.context_kind = kind;
  return price_sections(profile, cluster, "gpu", 1, 2, 1024, "none", 0, others).sections[0].price;
}

}  // namespace

// 30 MB at 300 GB/s: 100 us, and 10 us of latency.
TEST_CASE("inside a node every hop has its own link") {
  const ClusterSpec cluster = eight_per_node(1);
  const ContextRings rings(cluster, "gpu", 2, 4);
  CHECK(rings.level() == 0);
  CHECK(rings.step_time({30'000'000}) == 110us);
  CHECK(rings.shown({30'000'000}, 60us) == 150us);  // three steps, 50 us each
  CHECK(rings.shown({30'000'000}, 200us) == 0us);
}

// Four tensor ranks, whole nodes of two ranks of the ring: of 8 devices 4 send out of a node, and
// share 50 GB/s. 12.5 MB take 1,000 us and 30.
TEST_CASE("between nodes the ranks that leave a node share its way out") {
  const ClusterSpec cluster = eight_per_node(2);
  const ContextRings rings(cluster, "gpu", 4, 4);
  CHECK(rings.level() == 1);
  CHECK(rings.step_time({12'500'000}) == 1030us);
}

TEST_CASE("one rank has no ring") {
  const ClusterSpec cluster = eight_per_node(1);
  const ContextRings rings(cluster, "gpu", 2, 1);
  CHECK(rings.level() == -1);
  CHECK(rings.shown({30'000'000}, 0us) == 0us);
}

// F: 110 - 60 us show; B sends gradients as well, 60 MB in 210 us beside 150.
TEST_CASE("what a step takes longer than the attention beside it is added to F and to I") {
  const SectionTable table = priced(ring_of_two(), eight_per_node(1));
  REQUIRE(table.why_not == "");
  const ComputePrice& price = table.sections[0].price;
  CHECK(price.forward.duration == 150us);
  CHECK(price.fused_backward.duration == 460us);
  CHECK(price.input_gradient.duration == 260us);
  CHECK(price.weight_gradient.duration == 200us);
  CHECK(price.recompute.duration == 0us);
  CHECK(table.traffic_level == 0);
}

// Half the samples: 15 MB in 60 us beside 30, and 30 MB in 110 us beside 75.
TEST_CASE("bytes and attention grow with the samples") {
  const ComputePrice price = priced(ring_of_two(), eight_per_node(1), 1).sections[0].price;
  CHECK(price.forward.duration == 50us + 30us);
  CHECK(price.fused_backward.duration == 200us + 35us);
}

TEST_CASE("a forward that is computed again sends its keys and values again") {
  ModelProfile profile = ring_of_two();
  profile.section_types[0].measurements[0].ring->beside_recompute = 80us;
  CHECK(priced(profile, eight_per_node(1)).sections[0].price.recompute.duration == 30us);
}

// 30 MB of keys and values, 60 MB of gradients; C = 2, so that each rank gathers 30 MB of the
// other: 100 us and 10. Forward 110 - 60 us show. Backward: the gather beside 150 us shows nothing,
// and gradients go twice, 210 us: once beside 150, once beside nothing. Where keys and values go
// round they are sent with the gradients: 90 MB, 310 us. Without attention beside it everything
// shows.
TEST_CASE("gradients that are passed on end where they belong") {
  ModelProfile profile = ring_of_two();
  Measurement& row = profile.section_types[0].measurements[0];
  row.terms.push_back({kGradientsPassedOn, {}, {}, {}});
  const auto times = [&](ContextKind kind) {
    const ComputePrice price = priced_as(profile, kind);
    return std::pair{price.forward.duration, price.input_gradient.duration};
  };
  CHECK(times(ContextKind::kRing) == std::pair<Duration, Duration>{150us, 200us + 160us + 210us});
  CHECK(times(ContextKind::kAllGather) ==
        std::pair<Duration, Duration>{150us, 200us + 60us + 210us});
  row.ring->beside_forward = row.ring->beside_backward = Duration{};
  CHECK(times(ContextKind::kAllGather) ==
        std::pair<Duration, Duration>{210us, 200us + 110us + 210us + 210us});
}

// F 100 us, B 400; C = 4, 49 MB a step, nothing beside it: at 300 GB/s 173.3 us, of 98 MB 336.7,
// of 147 MB 500; at 49 GB/s 1,000, 2,000 and 3,000. Forward and backward go three steps, the latter
// with gradients, and one step of gradients: 3,000 + 9,000 + 2,000 us, of Megatron's ring 3 x 173.3
// and 3 x 336.7.
TEST_CASE("more than two of PyTorch's ranks are priced at its rate, Megatron's at their link's") {
  const ModelProfile megatron = ring_of(4, false), torch = ring_of(4, true);
  const SectionTable fast = priced(torch, eight_per_node(1), 2, 4);
  CHECK(fast.sections[0].price.forward.duration == 3100us);
  CHECK(fast.sections[0].price.fused_backward.duration == 11'400us);
  CHECK(fast.sections[0].at_torch_rate == 14'000us);
  CHECK(touched_by_rate(fast) == 14'000us);
  const SectionTable other = priced(megatron, eight_per_node(1), 2, 4);
  CHECK(other.sections[0].price.forward.duration < 621us);
  CHECK(touched_by_rate(other) == 0us);
  const SectionTable two = priced(ring_of(2, true), eight_per_node(1));
  CHECK(two.sections[0].price.forward.duration < 274us);
  CHECK(touched_by_rate(two) == 0us);
}

// 10 GB/s are less than 49: a step of 49 MB takes 4,900 us and 10. No faster link makes it longer.
TEST_CASE("of PyTorch's ranks a slower link counts, and a faster one never costs") {
  const ModelProfile torch = ring_of(4, true);
  ClusterSpec cluster = eight_per_node(1);
  Duration before = Duration::max();
  for (const double rate : {10e9, 30e9, 49e9, 60e9, 300e9}) {
    cluster.levels[0].bandwidth = {rate};
    const SectionTable table = priced(torch, cluster, 2, 4);
    const Duration forward = table.sections[0].price.forward.duration;
    CHECK(forward <= before);
    CHECK((touched_by_rate(table) > Duration{}) == (rate > 49.5e9));
    if (before == Duration::max()) CHECK(forward == 100us + 3 * 4910us);
    before = forward;
  }
  CHECK(before == 3100us);
}

TEST_CASE("rows of whole sequences say nothing of divided ones") {
  const SectionTable table = priced(ring_of_two(), eight_per_node(1), 2, 4);
  CHECK(table.why_not.find("context degree 4") != std::string::npos);
  CHECK(table.why_not.find("measured context degrees: 2") != std::string::npos);
}

TEST_CASE("a sequence has two parts for every rank") {
  CHECK(priced(ring_of_two(), eight_per_node(1), 2, 2, 1026).why_not ==
        "a sequence of 1026 tokens is not divided into the 2 x 2 parts of context parallelism");
}

}  // namespace penstock
