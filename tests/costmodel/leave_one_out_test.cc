#include "costmodel/leave_one_out.h"

#include <doctest/doctest.h>

#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

Measurement stashed(Measurement m, std::int64_t bytes) {
  m.stash = {bytes};
  return m;
}

TEST_CASE("a size in the middle is read off the line between its neighbours") {
  // F 10, 40, 50 at 1, 2, 3 samples: 30 is foretold for 40, an error of a quarter. B 20, 40, 60
  // lies on the line; bytes 100, 200, 400: 250 for 200.
  const ModelProfile profile = model_of(
      section_type("layer", 100,
                   {stashed(measured(1, 8, 10, 20), 100), stashed(measured(2, 8, 40, 40), 200),
                    stashed(measured(3, 8, 50, 60), 400)}));
  const LeftOutErrors errors = leave_one_out(profile, "gpu").samples;
  CHECK(errors.points == 1);
  CHECK(errors.worst_time == doctest::Approx(0.25));
  CHECK(errors.mean_time == doctest::Approx(0.125));
  CHECK(errors.worst_stash == doctest::Approx(0.25));
  CHECK(errors.mean_stash == doctest::Approx(0.25));
}

TEST_CASE("a length in the middle is read off the power law of its neighbours") {
  // F 10, 50, 160 at 10, 20, 40: the law through 10 and 160 has exponent 2, so 40 is foretold.
  const ModelProfile profile = model_of(
      section_type("layer", 100,
                   {measured(1, 10, 10, 10), measured(1, 20, 50, 40), measured(1, 40, 160, 160),
                    // Not measured on both sides, so not counted.
                    measured(2, 20, 100, 80)}));
  const GridErrors errors = leave_one_out(profile, "gpu");
  CHECK(errors.samples.points == 0);
  CHECK(errors.length.points == 1);
  CHECK(errors.length.worst_time == doctest::Approx(0.2));
  CHECK(errors.length.mean_time == doctest::Approx(0.1));
  CHECK(errors.decoder_length.points == 0);
}

TEST_CASE("sections whose times are assumed say nothing, nor do other devices") {
  std::vector<Measurement> rows = {measured(1, 8, 10, 20), measured(2, 8, 40, 40),
                                   measured(3, 8, 50, 60)};
  for (Measurement& row : rows) row.time_source = 1;  // assumed
  CHECK(leave_one_out(model_of(section_type("layer", 100, rows)), "gpu").samples.points == 0);
  for (Measurement& row : rows) row.time_source = 0;
  CHECK(leave_one_out(model_of(section_type("layer", 100, rows)), "tpu").samples.points == 0);
}

}  // namespace
}  // namespace penstock
