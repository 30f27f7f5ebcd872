#include "costmodel/calibrated_profile.h"

#include <doctest/doctest.h>

#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

Calibration factors(double compute, double small_kernels) {
  Calibration calibration;
  calibration.device = "gpu";
  calibration.factors.compute = compute;
  calibration.factors.small_kernels = small_kernels;
  return calibration;
}

std::vector<std::int64_t> forwards(const ModelProfile& profile) {
  std::vector<std::int64_t> times;
  for (const Measurement& m : profile.section_types[0].measurements) {
    times.push_back(m.forward.median.count());
  }
  return times;
}

TEST_CASE("what grows with the micro-batch and what does not have factors of their own") {
  // b = 1 to 2: 1,000 + 200 (b - 1): 200 grow, 800 do not. b = 2 to 4: 600 a sample, so all of
  // 1,200 grows. b = 4: on the line from b = 2.
  const ModelProfile profile = model_of(section_type(
      "layer", 1,
      {measured(2, 0, 1200, 600), measured(1, 0, 1000, 300), measured(4, 0, 2400, 1200)}));
  CHECK(forwards(calibrated_profile(profile, factors(2.0, 0.5))) ==
        std::vector<std::int64_t>{2400, 2 * 200 + 400, 4800});
  const ModelProfile calibrated = calibrated_profile(profile, factors(2.0, 0.5));
  CHECK(calibrated.section_types[0].measurements[1].fused_backward->median == Duration{600});
  CHECK(calibrated_profile(profile, factors(1.0, 1.0)) == profile);
}

TEST_CASE("a time that falls with the micro-batch does not grow at all") {
  const ModelProfile profile =
      model_of(section_type("layer", 1, {measured(1, 0, 900, 0), measured(2, 0, 800, 0)}));
  CHECK(forwards(calibrated_profile(profile, factors(2.0, 0.5))) ==
        std::vector<std::int64_t>{450, 400});
}

TEST_CASE("one micro-batch size says nothing: all of it grows") {
  const ModelProfile profile = model_of(section_type("layer", 1, {measured(4, 0, 900, 300)}));
  CHECK(forwards(calibrated_profile(profile, factors(2.0, 0.5))) ==
        std::vector<std::int64_t>{1800});
}

TEST_CASE("rows of other devices, lengths and degrees are apart") {
  std::vector<Measurement> rows{measured(1, 10, 100, 0), measured(2, 10, 200, 0),
                                measured(1, 20, 150, 0), measured(1, 10, 100, 0)};
  rows[3].device = "other";
  const ModelProfile profile = model_of(section_type("layer", 1, rows));
  CHECK(forwards(calibrated_profile(profile, factors(2.0, 0.5))) ==
        std::vector<std::int64_t>{200, 400, 300, 100});
}

// Each by itself grows in proportion to its samples, so that nothing of it has the other factor.
TEST_CASE("so are rows of ranks that have the experts between them") {
  std::vector<Measurement> rows{measured(1, 0, 100, 0), measured(2, 0, 200, 0),
                                measured(1, 0, 60, 0), measured(2, 0, 120, 0)};
  rows[2].expert_degree = rows[3].expert_degree = 4;
  rows[2].expert_tensor_degree = rows[3].expert_tensor_degree = 1;
  const ModelProfile profile = model_of(section_type("layer", 1, rows));
  CHECK(forwards(calibrated_profile(profile, factors(2.0, 0.5))) ==
        std::vector<std::int64_t>{200, 400, 120, 240});
}

// A decoder's length of 114 tokens: 50 us a sample, so half of the first time and two thirds of the
// second grow. Of 512: 100 us a sample, the same parts.
TEST_CASE("so are rows of other lengths of the decoder") {
  std::vector<Measurement> rows{measured(1, 512, 100'000, 0), measured(1, 512, 200'000, 0),
                                measured(2, 512, 150'000, 0), measured(2, 512, 300'000, 0)};
  rows[0].decoder_length = rows[2].decoder_length = 114;
  rows[1].decoder_length = rows[3].decoder_length = 512;
  const ModelProfile profile = model_of(section_type("layer", 1, rows));
  CHECK(forwards(calibrated_profile(profile, factors(2.0, 0.5))) ==
        std::vector<std::int64_t>{125'000, 250'000, 225'000, 450'000});
}

TEST_CASE("spreads go along, bytes stay") {
  Measurement m = measured(1, 0, 100, 0);
  m.forward.spread = Duration{10};
  m.stash = {77};
  const ModelProfile profile =
      calibrated_profile(model_of(section_type("layer", 1, {m})), factors(1.5, 1.0));
  CHECK(profile.section_types[0].measurements[0].forward.spread == Duration{15});
  CHECK(profile.section_types[0].measurements[0].stash == Bytes{77});
}

}  // namespace
}  // namespace penstock
