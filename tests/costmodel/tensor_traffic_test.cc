#include "costmodel/tensor_traffic.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "costmodel/price_stages.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

constexpr Bytes kWhole{240'000'000};

// F 100 us, I and W 200 us each, of 2 samples of 1024 tokens, with these collectives at T = 4.
ModelProfile layer_with(std::vector<TensorTraffic> traffic) {
  Measurement m = measured(2, 1024, 100'000, 400'000);
  m.tensor_degree = 4;
  m.tensor_traffic = std::move(traffic);
  SectionType type = section_type("layer", 10, {m});
  type.parameters = {{4, 10}};
  return model_of(type);
}

SectionTable priced(const ModelProfile& profile, const ClusterSpec& cluster, int samples = 2,
                    int length = 1024) {
  return price_sections(profile, cluster, "gpu", 4, samples, length, "none");
}

// A gather of 240 MB among four of a node: three messages of 60 MB at 300 GB/s, 10 us each.
constexpr Duration kGather{630'000};

TensorTraffic gathers(int TensorTraffic::*count, int times) {
  TensorTraffic traffic{.kind = CollectiveKind::kAllGather, .bytes = kWhole};
  traffic.*count = times;
  return traffic;
}

}  // namespace

TEST_CASE("F, I, W and R stand still for as many collectives as the profile says, B for two") {
  TensorTraffic traffic{.kind = CollectiveKind::kAllGather, .bytes = kWhole};
  traffic.forward = 2;
  traffic.input_gradient = 3;
  traffic.weight_gradient = 1;
  traffic.recompute = 4;
  const SectionTable table = priced(layer_with({traffic}), eight_per_node(1));
  REQUIRE(table.why_not == "");
  const ComputePrice& price = table.sections[0].price;
  CHECK(price.forward.duration == Duration{100'000} + 2 * kGather);
  CHECK(price.input_gradient.duration == Duration{200'000} + 3 * kGather);
  CHECK(price.weight_gradient.duration == Duration{200'000} + kGather);
  CHECK(price.fused_backward.duration == Duration{400'000} + 4 * kGather);
  CHECK(price.recompute.duration == 4 * kGather);
  CHECK(table.sections[0].traffic_time == 10 * kGather);
  CHECK(table.traffic_level == 0);
}

TEST_CASE("a collective beside the products adds what is longer than they") {
  const ModelProfile beside_w = layer_with({gathers(&TensorTraffic::beside_weight_gradient, 1)});
  ClusterSpec cluster = eight_per_node(1);
  const ComputePrice slow = priced(beside_w, cluster).sections[0].price;
  CHECK(slow.weight_gradient.duration == kGather);  // 430 us more than its 200 us
  CHECK(slow.fused_backward.duration == Duration{200'000} + kGather);
  cluster.levels[0].bandwidth = {1.2e12};  // 3 * (50 + 10) us: hidden
  CHECK(priced(beside_w, cluster).sections[0].price.weight_gradient.duration == Duration{200'000});
  const ModelProfile beside_i = layer_with({gathers(&TensorTraffic::beside_input_gradient, 1)});
  CHECK(priced(beside_i, eight_per_node(1)).sections[0].price.input_gradient.duration == kGather);
}

TEST_CASE("bytes grow in proportion to the tokens") {
  const ModelProfile profile = layer_with({gathers(&TensorTraffic::forward, 1)});
  // Four times the tokens: 240 us a message and three times 10 us; compute in proportion.
  const SectionTable table = priced(profile, eight_per_node(1), 4, 2048);
  CHECK(table.sections[0].traffic_time == Duration{3 * 810'000});
}

TEST_CASE("a tensor-parallel group across nodes pays for the way between them") {
  const ModelProfile profile = layer_with({gathers(&TensorTraffic::forward, 1)});
  ClusterSpec cluster = eight_per_node(4);
  cluster.node_types[0].devices = 2;  // two nodes a group
  cluster.levels[0].devices = 2;
  const SectionTable table = priced(profile, cluster);
  CHECK(table.traffic_level == 1);
  // Two steps of 10 us inside, one of 30 us between; two cards, each 3/4 * 120 MB at 12.5 GB/s.
  CHECK(table.sections[0].traffic_time == us(50 + 7'200));
}

// Two nodes of one device make a group across nodes; the two devices of the third node are one
// inside.
TEST_CASE("the level of tensor-parallel groups is that of the widest, wherever it stands") {
  ClusterSpec cluster = eight_per_node(1);
  cluster.node_types = {{"single", 0, 1}, {"pair", 0, 2}};
  cluster.nodes = {{0, 2}, {1, 1}};
  cluster.levels[0].devices = 2;
  CHECK(TensorGroups(cluster, "gpu", 2).level() == 1);
  cluster.nodes = {{1, 1}, {0, 2}};
  CHECK(TensorGroups(cluster, "gpu", 2).level() == 1);
  cluster.nodes = {{1, 1}};
  CHECK(TensorGroups(cluster, "gpu", 2).level() == 0);
}

// Pairs over nodes of three: of every second pair one device is on each side, and each device of a
// node may be such a one, so that three share what a node has, 12.5 GB/s. 60 MB each way: 30 us +
// 14,400 us.
TEST_CASE("tensor-parallel groups side by side share the link between their nodes") {
  ClusterSpec cluster = eight_per_node(2);
  cluster.node_types[0].devices = 3;
  cluster.levels[0].devices = 3;
  cluster.levels[1].shared_bandwidth = {12.5e9};
  CHECK(TensorGroups(cluster, "gpu", 2).time(CollectiveKind::kAllGather, {120'000'000}) ==
        us(30 + 14'400));
}

TEST_CASE("times that hold their collectives are not scaled, and say so") {
  const SectionTable table = priced(layer_with({}), eight_per_node(1));
  CHECK(table.sections[0].traffic_time == Duration{});
  CHECK(table.traffic_level == -1);
  const auto said = [](const SectionTable& of) {
    return std::any_of(of.notes.begin(), of.notes.end(), [](const SectionNote& note) {
      return note.text == "TP traffic as measured, not scaled";
    });
  };
  CHECK(said(table));
  CHECK_FALSE(said(priced(layer_with({gathers(&TensorTraffic::forward, 1)}), eight_per_node(1))));
}

}  // namespace penstock
