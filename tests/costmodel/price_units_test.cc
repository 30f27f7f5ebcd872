#include "costmodel/price_units.h"

#include <doctest/doctest.h>

#include "core/values/term_names.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

std::vector<UnitTimes> three(const UnitTimes& unit) { return {unit, unit, unit}; }

UnitTimes unit_of(Duration gather, Duration scatter) {
  UnitTimes unit;
  unit.forward = 10us;
  unit.backward = 20us;
  unit.gather = gather;
  unit.scatter = scatter;
  return unit;
}

TEST_CASE("hidden but for the first gather and the last scatter") {
  const UnitsTime time = run_units(three(unit_of(4us, 6us)));
  CHECK(time.forward == 34us);   // 4 + 10 + 10 + 10
  CHECK(time.backward == 66us);  // 20 + 20 + 20 + 6
}

// forward   AG1 15 | max(10, 15) | max(10, 15) | 10
// backward  max(20, 15) | max(20, 15 + 30) | max(20, 30) | RS1 30
TEST_CASE("what takes longer than the compute beside it shows") {
  const UnitsTime time = run_units(three(unit_of(15us, 30us)));
  CHECK(time.forward == 55us);
  CHECK(time.backward == 125us);
}

// The last section is still whole; the gathers for the two before it begin when B of the section
// behind has ended, and no earlier than its scatter.
//   20 + 4 | max(20, 6) + 4 | 20 | RS1 6
//   20 + 15 | max(20, 30) + 15 | max(20, 30) | RS1 30
TEST_CASE("gathers that are not started ahead show, each once, in the backward") {
  UnitTimes unit = unit_of(4us, 6us);
  unit.gathers_late = true;
  CHECK(run_units(three(unit)).forward == 34us);
  CHECK(run_units(three(unit)).backward == 74us);
  unit = unit_of(15us, 30us);
  unit.gathers_late = true;
  CHECK(run_units(three(unit)).backward == 140us);
  // Nothing computes beside such a gather: only the scatters' share of processors counts.
  unit = unit_of(4us, 6us);
  unit.gathers_late = true;
  unit.gather_busy = 3us;
  unit.scatter_busy = 5us;
  CHECK(run_units(three(unit)).backward == 84us);  // 24 + 29 + 25 + 6
}

TEST_CASE("ZeRO-2 gathers nothing") {
  const UnitsTime time = run_units(three(unit_of(0us, 6us)));
  CHECK(time.forward == 30us);
  CHECK(time.backward == 66us);
}

TEST_CASE("copies are compute; the last section is not gathered again") {
  UnitTimes unit = unit_of(4us, 6us);
  unit.gather_copy = 1us;
  unit.scatter_copy = 2us;
  const UnitsTime time = run_units(three(unit));
  CHECK(time.forward == 37us);   // 4 + 3 (10 + 1)
  CHECK(time.backward == 74us);  // 22 + 23 + 23 + 6
}

// forward   4 | 10 + 3 | 10 + 3 | 10
// backward  20 + 3 | 20 + 3 + 5 | 20 + 5 | 6
TEST_CASE("a processor that carries its messages computes less beside them") {
  UnitTimes unit = unit_of(4us, 6us);
  unit.gather_busy = 3us;
  unit.scatter_busy = 5us;
  const UnitsTime time = run_units(three(unit));
  CHECK(time.forward == 40us);
  CHECK(time.backward == 82us);
}

// The scatters end at 26, 46 and 66; the reductions over groups follow one another from 26 on.
TEST_CASE("the step waits for the last reduction over groups of shards") {
  UnitTimes unit = unit_of(4us, 6us);
  unit.reduce = 50us;
  CHECK(run_units(three(unit)).backward == 176us);
  unit.reduce = 8us;  // each ends before the next scatter does
  CHECK(run_units(three(unit)).backward == 74us);
}

TEST_CASE("sections that differ: a large head is gathered beside the layer before it") {
  std::vector<UnitTimes> units = three(unit_of(4us, 6us));
  units.back().gather = 25us;
  units.back().scatter = 40us;
  const UnitsTime time = run_units(units);
  CHECK(time.forward == 49us);   // 4 + 10 + 25 + 10
  CHECK(time.backward == 90us);  // 20 + max(20, 4 + 40) + 20 + 6
}

TEST_CASE("no sections take no time") {
  CHECK(run_units({}).forward == 0us);
  CHECK(run_units({}).backward == 0us);
}

// Two sections of 9 million weights in 4 bytes, with long computes, on 8 replicas under FSDP; rows
// with that term.
ComputePrice priced_fsdp(const std::string& term, Sharding sharding = Sharding::kFsdp) {
  Measurement row = measured(1, 0, 100'000'000, 200'000'000);
  if (!term.empty()) row.terms = {{term, {}, 1ms, {}}};
  ModelProfile profile = model_of(section_type("layer", 9'000'000, {row}), 2);
  profile.training.bytes_per_parameter = profile.training.bytes_per_gradient = Bytes{4};
  profile.training.bucket_parameters = 1000;
  Plan plan;
  plan.data = 8;
  plan.global_batch = 8;
  plan.device = "gpu";
  plan.cuts = {0, 2};
  plan.zero1 = true;
  plan.sharding = sharding;
  const ClusterSpec cluster = eight_per_node(1);
  const SectionTable table =
      price_sections(profile, cluster, plan.device, plan.tensor, 1, 0, plan.recompute);
  REQUIRE(table.why_not == "");
  return price_stages(profile, cluster, plan, {{&table}}).prices.compute[0];
}

// Copies of gradients move 8 bytes a weight at 0.9 TB/s, 80 us a section, unless the backward holds
// as much already: reading and writing the gradients that it adds to. Buckets say nothing of that.
TEST_CASE("copies of gradients under FSDP take the place of sums, where those are priced") {
  const ComputePrice without = priced_fsdp(""), with = priced_fsdp(kGradientSums);
  CHECK(without.backward_sharded - with.backward_sharded == 160us);
  CHECK(without.forward_sharded == with.forward_sharded);
  CHECK(priced_fsdp("matrix products").backward_sharded == without.backward_sharded);
}

// 36 MB among 8 devices at 300 GB/s take 7 steps of 10 us and 105 us: 175 us, which show for the
// first of the two sections; 5/132 of them, by which it made the compute beside it longer, do not.
// Nothing is copied out of the gathers' buffer: 72 MB a section at 0.9 TB/s, 80 us, in the forward
// of both sections and the backward of the first.
TEST_CASE("a profile says that its trainer does not gather ahead") {
  const ComputePrice ahead = priced_fsdp(""), late = priced_fsdp(kGathersWaitedFor);
  CHECK(ahead.forward_sharded - late.forward_sharded == 160us);
  CHECK(late.backward_sharded - ahead.backward_sharded == 175us - 6629ns - 80us);
  // ZeRO-3 gathers ahead in every case.
  CHECK(priced_fsdp(kGathersWaitedFor, Sharding::kParameters) ==
        priced_fsdp("", Sharding::kParameters));
}

}  // namespace
}  // namespace penstock
