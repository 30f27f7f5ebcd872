#include "estimator/fit_efficiency.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/estimator/models.h"

using namespace penstock;

namespace {

DeviceSheet device(const std::string& name, double peak, double bandwidth) {
  DeviceSheet sheet;
  sheet.name = name;
  sheet.generation = name;
  sheet.sources = {{"sheet", Origin::kDatasheet, "made up", ""}};
  sheet.peaks = {{Arithmetic::kBFloat16, peak, 0}};
  sheet.memory = {80'000'000'000};
  sheet.memory_bandwidth = {bandwidth};
  sheet.node = {8, "link", {1e11}, 0};
  return sheet;
}

// What made the times that the fit has to find again.
EfficiencyCurve truth(double products) {
  return {"", "half", true, {products, 0.75, 0.5, 20e-6, 30e-6, 0.5}, {}};
}

void add(SectionType& type, const SectionCounts& counts, Place place, const DeviceSheet& sheet,
         int head_width, double products, int degree, int samples) {
  Measurement m;
  m.device = sheet.name;
  m.tensor_degree = degree;
  m.micro_batch_size = samples;
  m.sequence_length = 512;
  const Rates rates = rates_of(sheet, sheet.peaks[0].flops_per_s, truth(products),
                               AttentionKernel::kEager, m.sequence_length, head_width);
  m.forward.median =
      round_up_to_ns(times_of(counts.forward, Direction::kForward, place, rates).sum());
  m.fused_backward =
      Timing{round_up_to_ns(times_of(counts.backward, Direction::kBackward, place, rates).sum()),
             Duration{}};
  type.measurements.push_back(m);
}

EfficiencyCase a_case(const std::string& name, int hidden, const std::vector<DeviceSheet>& sheets) {
  EfficiencyCase one;
  one.name = name;
  one.arithmetic = Arithmetic::kBFloat16;
  one.model =
      tests::model_of(R"({"model_type": "llama", "num_hidden_layers": 2, "vocab_size": 32000,
      "num_attention_heads": 8, "hidden_size": )" +
                      std::to_string(hidden) + "}");
  one.profile.name = name;
  one.profile.section_types.resize(2);
  one.profile.section_types[0].name = "layer";
  one.profile.section_types[1].name = "head";
  one.profile.sections = {{"layer.0", 0}, {"layer.1", 0}, {"head", 1}};
  double products = 0.5;
  for (const DeviceSheet& sheet : sheets) {
    for (const int degree : {1, 2, 4}) {
      for (const int samples : {1, 2, 4, 8}) {
        const CountKey key{degree,
                           samples,
                           512,
                           2,
                           one.attention,
                           /*sequence_parallel=*/false,
                           1,
                           /*eager=*/true};
        add(one.profile.section_types[0], count_layer(one.model, LayerKind::kDense, key),
            Place::kLayer, sheet, score_width(one.model), products, degree, samples);
        add(one.profile.section_types[1], count_end(one.model, EndKind::kNormAndHead, key),
            Place::kEnd, sheet, score_width(one.model), products, degree, samples);
      }
    }
    products = 0.8;
  }
  return one;
}

}  // namespace

TEST_CASE("a fit finds the shares that made the times") {
  const std::vector<DeviceSheet> sheets{device("old", 1e14, 1e12), device("new", 4e14, 3e12)};
  const std::vector<EfficiencyCase> cases{
      a_case("small", 1024, sheets), a_case("middle", 2048, sheets), a_case("large", 4096, sheets)};
  const Efficiency efficiency = fit_efficiency(cases, sheets);
  REQUIRE(efficiency.curves.size() == 5);  // any of three widths, new, old
  for (const EfficiencyCurve& curve : efficiency.curves) {
    if (curve.generation == "any") continue;
    CHECK(curve.terms.products ==
          doctest::Approx(curve.generation == "old" ? 0.5 : 0.8).epsilon(0.02));
    CHECK(curve.terms.memory == doctest::Approx(0.75).epsilon(0.05));
  }
  // Three profiles and two devices were left out in turn.
  CHECK(efficiency.left_out.size() == 5);
  CHECK(efficiency.left_out[0].passes == 24);
  // The middle one lies between two that the fit saw.
  CHECK(efficiency.left_out[1].nine_of_ten < 0.05);
}

TEST_CASE("one profile leaves nothing to be left out") {
  const std::vector<DeviceSheet> sheets{device("old", 1e14, 1e12), device("new", 4e14, 3e12)};
  CHECK_THROWS_AS(static_cast<void>(fit_efficiency({a_case("small", 256, sheets)}, sheets)), Error);
  CHECK_THROWS_AS(static_cast<void>(fit_efficiency(
                      {a_case("a", 256, sheets), a_case("b", 512, sheets)}, {sheets[0]})),
                  Error);
}
