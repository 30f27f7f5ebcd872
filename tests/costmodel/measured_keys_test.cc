#include <doctest/doctest.h>

#include "costmodel/price_stages.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

Measurement at(int t, int samples, int length, const std::string& mode) {
  Measurement m = measured(samples, length, 1, 1);
  m.tensor_degree = t;
  m.recompute = mode;
  return m;
}

// Two used types and one that no section uses.
ModelProfile two_types() {
  ModelProfile profile;
  profile.sections = {{"in", 0}, {"layer", 1}};
  profile.section_types = {
      section_type("embedding", 1,
                   {at(1, 1, 512, "none"), at(1, 2, 512, "none"), at(1, 4, 512, "none"),
                    at(1, 1, 2048, "none"), at(1, 2, 2048, "none"), at(2, 1, 512, "full"),
                    at(4, 1, 512, "none")}),
      section_type("layer", 1,
                   {at(2, 1, 1024, "none"), at(1, 4, 1024, "none"), at(1, 2, 1024, "none"),
                    at(1, 1, 1024, "full")}),
      section_type("unused", 1, {at(8, 1, 512, "none")})};
  return profile;
}

TEST_CASE("a tensor degree counts when every section has it") {
  CHECK(measured_tensor_degrees(two_types(), "gpu") == std::vector<int>{1, 2});
  CHECK(measured_tensor_degrees(two_types(), "other").empty());
}

TEST_CASE("recompute modes list none first") {
  CHECK(measured_recompute_modes(two_types(), "gpu") == std::vector<std::string>{"none", "full"});
}

TEST_CASE("micro-batch sizes are those of all sections at the lengths around") {
  const ModelProfile profile = two_types();
  // embedding at 512: 1 2 4; layer nearest is 1024: 2 4.
  CHECK(measured_micro_batch_sizes(profile, "gpu", 1, 512, "none") == std::vector<int>{2, 4});
  // embedding between 512 and 2048: 1 2.
  CHECK(measured_micro_batch_sizes(profile, "gpu", 1, 1024, "none") == std::vector<int>{2});
  CHECK(measured_micro_batch_sizes(profile, "gpu", 1, 4096, "none") == std::vector<int>{2});
  CHECK(measured_micro_batch_sizes(profile, "gpu", 4, 1024, "none").empty());
}

TEST_CASE("the default sequence length is the longest that every section was measured at") {
  ModelProfile profile = two_types();
  CHECK(default_sequence_length(profile, "gpu") == 1024);
  CHECK(default_sequence_length(profile, "other") == 0);
  profile.section_types[1] = section_type("layer", 1, {measured(1, 0, 1, 1)});
  CHECK(default_sequence_length(profile, "gpu") == 2048);  // a layer without lengths has no say
}

}  // namespace
}  // namespace penstock
