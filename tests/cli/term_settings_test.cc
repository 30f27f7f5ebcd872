#include "cli/options/term_settings.h"

#include <doctest/doctest.h>

#include "core/values/term_names.h"
#include "tests/core/messages.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

// F 100 = 60 + 40, B 200 = 120 + 80 of which W takes 0.3, R 50 = 30 + 20 us.
ModelProfile two_terms() {
  ModelProfile profile;
  Measurement m;
  m.forward.median = 100us;
  m.fused_backward = Timing{200us, {}};
  m.weight_gradient_share = 0.3;
  m.recompute_time.median = 50us;
  m.terms = {{"matrix products", 60us, 120us, 30us}, {"attention", 40us, 80us, 20us}};
  profile.section_types.push_back({"layer", {{1, 10}}, 0, {m}});
  return profile;
}

Measurement with(const std::string& key, const std::string& value) {
  ModelProfile profile = two_terms();
  REQUIRE(set_term(profile, "--vary " + key, key, value));
  return profile.section_types[0].measurements[0];
}

std::string refusal(ModelProfile profile, const std::string& key, const std::string& value) {
  return tests::message_of([&] { set_term(profile, "--vary " + key, key, value); });
}

}  // namespace

TEST_CASE("a term is scaled wherever it is part of a time") {
  const Measurement m = with("term.matrix-products", "0.5");
  CHECK(m.forward.median == 70us);           // 30 + 40
  CHECK(m.fused_backward->median == 140us);  // 60 + 80
  CHECK(m.recompute_time.median == 35us);    // 15 + 20
  CHECK(m.weight_gradient_share == doctest::Approx(0.3));
  CHECK(m.terms[0] == TimeTerm{"matrix products", 30us, 60us, 15us});
}

TEST_CASE("attention has no weights: their gradients take what they took") {
  const Measurement m = with("term.attention", "2");
  CHECK(m.forward.median == 140us);
  CHECK(m.fused_backward->median == 280us);
  CHECK(*m.weight_gradient_share * 280 == doctest::Approx(0.3 * 200));
}

TEST_CASE("times that calibration scaled keep the shares of their terms") {
  ModelProfile profile = two_terms();
  profile.section_types[0].measurements[0].forward.median = 200us;
  REQUIRE(set_term(profile, "--vary", "term.attention", "1.5"));
  CHECK(profile.section_types[0].measurements[0].forward.median == 240us);  // 120 + 80 * 1.5
}

TEST_CASE("a profile without the term, or without any, is refused with what there is") {
  ModelProfile measured = two_terms();
  measured.section_types[0].measurements[0].terms.clear();
  CHECK(refusal(two_terms(), "term.atention", "2").find("term.attention") != std::string::npos);
  CHECK(refusal(measured, "term.attention", "2").find("not divided into terms") !=
        std::string::npos);
  CHECK(refusal(two_terms(), "term.attention", "0").find("term.attention") != std::string::npos);
  ModelProfile profile = two_terms();
  CHECK_FALSE(set_term(profile, "--vary b", "b", "2"));
  // What only says how the trainer gathers takes no time that could be scaled.
  profile.section_types[0].measurements[0].terms.push_back({kGathersWaitedFor, {}, {}, {}});
  CHECK(term_keys(profile) == std::vector<std::string>{"term.matrix-products", "term.attention"});
}
