#include "costmodel/shape_sections.h"

#include <doctest/doctest.h>

#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

OutOfMemoryKey out_of_memory(int samples, int length, int decoder_length = 0) {
  return {"gpu", 1, samples, length, decoder_length, "none"};
}

Measurement measured_both(int samples, int length, int decoder_length, std::int64_t forward_ns) {
  Measurement m = measured(samples, length, forward_ns, 2 * forward_ns);
  m.decoder_length = decoder_length;
  return m;
}

// Length 10: 10 ns per sample up to 4; length 20: 30 ns per sample up to 2, and 4 did not fit.
ModelProfile two_lengths() {
  SectionType type =
      section_type("layer", 100,
                   {measured(1, 10, 10, 20), measured(2, 10, 20, 40), measured(4, 10, 40, 80),
                    measured(1, 20, 30, 60), measured(2, 20, 60, 120)});
  type.out_of_memory = {out_of_memory(4, 20), out_of_memory(8, 20)};
  return model_of(std::move(type), 2);
}

class Asked {
 public:
  explicit Asked(ModelProfile profile)
      : profile_(std::move(profile)),
        cluster_(eight_per_node(1)),
        sections_(profile_, cluster_, "gpu", 1, "none") {}

  [[nodiscard]] SectionTable table(int samples, int tokens, int decoder = 0) const {
    return sections_.at({samples, tokens, decoder});
  }
  [[nodiscard]] ShapeStatus status(int samples, int tokens, int decoder = 0) const {
    const SectionTable found = table(samples, tokens, decoder);
    CHECK(found.why_not.empty() == (found.status == ShapeStatus::kKnown));
    CHECK(found.sections.empty() == !found.why_not.empty());
    return found.status;
  }
  [[nodiscard]] std::int64_t forward(int samples, int tokens, int decoder = 0) const {
    const SectionTable found = table(samples, tokens, decoder);
    REQUIRE(found.why_not == "");
    return found.sections.front().price.forward.duration.count();
  }
  [[nodiscard]] const ModelProfile& profile() const { return profile_; }
  [[nodiscard]] const ClusterSpec& cluster() const { return cluster_; }

 private:
  ModelProfile profile_;
  ClusterSpec cluster_;
  ShapeSections sections_;
};

TEST_CASE("a shape between measured points has the price of price_sections") {
  const Asked asked(two_lengths());
  CHECK(asked.forward(3, 10) == 30);
  CHECK(asked.forward(2, 20) == 60);
  for (const auto& [samples, tokens] : {std::pair(1, 10), {3, 10}, {2, 13}, {1, 17}, {2, 20}}) {
    const SectionTable plain =
        price_sections(asked.profile(), asked.cluster(), "gpu", 1, samples, tokens, "none");
    const SectionTable found = asked.table(samples, tokens);
    REQUIRE(found.sections.size() == 2);
    for (std::size_t s = 0; s < 2; ++s) {
      CHECK(found.sections[s].price == plain.sections[s].price);
    }
  }
}

TEST_CASE("below the grid the nearest point holds") {
  const Asked asked(two_lengths());
  CHECK(asked.forward(1, 1) == 10);
  CHECK(asked.forward(4, 9) == 40);
}

TEST_CASE("beyond the grid a shape was not measured, and says so") {
  const Asked asked(two_lengths());
  CHECK(asked.status(5, 10) == ShapeStatus::kUntried);
  CHECK(asked.status(1, 21) == ShapeStatus::kUntried);
  // Of its corners (4, 10) and (8, 10) the second is missing.
  CHECK(asked.status(5, 15) == ShapeStatus::kUntried);
  CHECK(asked.table(5, 10).why_not ==
        "not measured: micro-batches of 5 x 10 tokens (section type 'layer')");
}

TEST_CASE("beside a point that ran out of memory there is a price, from it on there is none") {
  const Asked asked(two_lengths());
  CHECK(asked.forward(3, 20) == 90);  // the line through 1 and 2 samples goes on
  CHECK(asked.status(3, 15) == ShapeStatus::kKnown);
  CHECK(asked.status(4, 15) == ShapeStatus::kKnown);  // its least corner (4, 10) was measured
  CHECK(asked.status(4, 20) == ShapeStatus::kOutOfMemory);
  CHECK(asked.status(100, 20) == ShapeStatus::kOutOfMemory);
  CHECK(asked.table(4, 20).why_not ==
        "measuring ran out of memory with micro-batches of 4 x 20 tokens (section type 'layer')");
}

TEST_CASE("a length at which nothing fitted has no price below its first size either") {
  SectionType type = section_type("layer", 100, {measured(1, 10, 10, 20)});
  type.out_of_memory = {out_of_memory(2, 20)};
  const Asked asked(model_of(std::move(type)));
  CHECK(asked.status(1, 10) == ShapeStatus::kKnown);
  CHECK(asked.status(1, 15) == ShapeStatus::kUntried);
  CHECK(asked.status(2, 20) == ShapeStatus::kOutOfMemory);
}

// An encoder layer knows one length, a decoder layer both: 10 ns per sample at (10, 4), twice that
// at twice either length.
ModelProfile encoder_and_decoder() {
  ModelProfile profile = model_of(section_type("encoder layer", 100,
                                               {measured(1, 10, 7, 14), measured(2, 10, 14, 28),
                                                measured(1, 20, 21, 42), measured(2, 20, 42, 84)}));
  profile.section_types.push_back(section_type(
      "decoder layer", 100,
      {measured_both(1, 10, 4, 10), measured_both(2, 10, 4, 20), measured_both(1, 20, 4, 20),
       measured_both(2, 20, 4, 40), measured_both(1, 10, 8, 20), measured_both(2, 10, 8, 40),
       measured_both(1, 20, 8, 40)}));
  profile.section_types.back().out_of_memory = {out_of_memory(2, 20, 8)};
  profile.sections.push_back({"decoder", 1});
  return profile;
}

TEST_CASE("sections of an encoder follow one length, those of a decoder both") {
  const Asked asked(encoder_and_decoder());
  const auto times = [&](int samples, int tokens, int decoder) {
    const SectionTable found = asked.table(samples, tokens, decoder);
    REQUIRE(found.why_not == "");
    return std::pair(found.sections[0].price.forward.duration.count(),
                     found.sections[1].price.forward.duration.count());
  };
  CHECK(times(1, 10, 4) == std::pair<std::int64_t, std::int64_t>(7, 10));
  CHECK(times(2, 20, 4) == std::pair<std::int64_t, std::int64_t>(42, 40));
  CHECK(times(1, 20, 8) == std::pair<std::int64_t, std::int64_t>(21, 40));
  // Between 20 and 40 on a power law of exponent 1; a rounded logarithm may cost a nanosecond.
  const auto [encoder, decoder] = times(1, 20, 6);
  CHECK(encoder == 21);
  CHECK(decoder >= 30);
  CHECK(decoder <= 31);
  CHECK(times(1, 10, 1) == times(1, 10, 4));  // below the grid
}

TEST_CASE("the decoder's length is an axis like the others") {
  const Asked asked(encoder_and_decoder());
  CHECK(asked.status(1, 10, 9) == ShapeStatus::kUntried);
  CHECK(asked.status(2, 20, 8) == ShapeStatus::kOutOfMemory);
  CHECK(asked.status(2, 20, 6) == ShapeStatus::kKnown);  // beside it
  CHECK(asked.status(1, 10, 0) == ShapeStatus::kKnown);  // without targets: as with the shortest
}

TEST_CASE("a model without a decoder refuses its length") {
  const Asked asked(two_lengths());
  CHECK(asked.table(1, 10, 4).why_not.find("decoder_tokens") != std::string::npos);
  CHECK(asked.table(1, 10, 4).status == ShapeStatus::kUntried);
}

}  // namespace
}  // namespace penstock
