#include "profiler/build_profile.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/error.h"
#include "profiler/merge_profiles.h"

namespace penstock {
namespace {

SampleSummary taking(int nanoseconds, double error = 0.001) {
  return {.minimum = Duration{nanoseconds - 2},
          .quarter = Duration{nanoseconds - 1},
          .median = Duration{nanoseconds},
          .ninetieth = Duration{nanoseconds + 5},
          .spread = Duration{3},
          .error = error,
          .count = 11};
}

SectionSamples samples_of(const std::string& type, int b, int nanoseconds) {
  SectionSamples row;
  row.type = type;
  row.micro_batch_size = b;
  row.sequence_length = 32;
  row.forward = taking(nanoseconds);
  row.input_gradient = taking(nanoseconds + 1);
  row.weight_gradient = taking(nanoseconds + 2);
  row.fused_backward = taking(2 * nanoseconds);
  row.memory = {.stash = {100L * b}, .weight_stash = {50}, .working_peak = {70}, .boundary = {32}};
  return row;
}

ModelDescription tiny_gpt() {
  ModelDescription model;
  model.layers = 2;
  model.hidden = 8;
  model.heads = 2;
  model.feed_forward = 16;
  model.vocabulary = 256;
  model.positions = 32;
  model.tied_embedding = true;
  return model;
}

// The optimizer takes 900 ns and the norm 100 for 3,000 parameters: 300 and 33.3 ps, rounded up.
MeasuredModel measured(const std::vector<int>& sizes, int nanoseconds = 1000) {
  MeasuredModel model;
  model.name = "tiny";
  model.description = tiny_gpt();
  model.outline = built_in_outline(model.description);
  model.device = "cpu";
  model.provenance = "a test";
  model.chain_parameters = 3000;
  for (const int b : sizes) {
    ChainSamples chain;
    for (const std::string type : {"embedding", "block", "head"}) {
      chain.sections.push_back(samples_of(type, b, nanoseconds * b));
    }
    chain.optimizer = taking(900);
    chain.norm = taking(100);
    model.chains.push_back(chain);
  }
  return model;
}

TEST_CASE("samples become measurements, one type for all sections that cost the same") {
  const ModelProfile profile = build_profile(measured({1, 2}));
  CHECK(profile.description == tiny_gpt());
  REQUIRE(profile.sections.size() == 4);
  REQUIRE(profile.section_types.size() == 3);
  CHECK(profile.sections[1].type == 1);
  CHECK(profile.sections[2].type == 1);
  CHECK(profile.sections[2].name == "block.1");
  CHECK(profile.training.optimizer_ps_per_parameter == 300);
  CHECK(profile.training.norm_ps_per_parameter == 34);
  // Embedding: (256 + 32) * 8 parameters, of which the head shares 256 * 8.
  CHECK(profile.section_types[0].parameters[0].count == 2304);
  REQUIRE(profile.tied_weights.size() == 1);
  CHECK(profile.tied_weights[0].parameters[0].count == 2048);
  const std::vector<Measurement>& rows = profile.section_types[1].measurements;
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].micro_batch_size == 2);
  CHECK(rows[1].forward == Timing{.median = Duration{2000}, .spread = Duration{3}});
  CHECK(rows[1].input_gradient->median == Duration{2001});
  CHECK(rows[1].weight_gradient->median == Duration{2002});
  CHECK(rows[1].fused_backward->median == Duration{4000});
  CHECK(rows[1].recompute_time == Timing{});
  CHECK(rows[1].count == 11);
  CHECK(rows[1].stash == Bytes{200});
  CHECK(rows[1].weight_stash == Bytes{50});
}

TEST_CASE("a profile that was measured can be written and read again") {
  const ModelProfile profile = build_profile(measured({1, 2, 4}));
  CHECK(read_profile(write_profile(profile), "p.json") == profile);
}

TEST_CASE("what was not run has no time of its own") {
  MeasuredModel model = measured({1});
  model.chains[0].optimizer = model.chains[0].norm = SampleSummary{};
  const TrainingState training = build_profile(model).training;
  CHECK_FALSE(training.optimizer_ps_per_parameter);
  CHECK(training.norm_ps_per_parameter == 0);
}

TEST_CASE("without a split the gradients are not told apart") {
  MeasuredModel model = measured({1});
  for (SectionSamples& row : model.chains[0].sections) {
    row.input_gradient = row.weight_gradient = SampleSummary{};
  }
  const Measurement row = build_profile(model).section_types[1].measurements[0];
  CHECK_FALSE(row.input_gradient);
  CHECK_FALSE(row.weight_gradient);
  CHECK(row.fused_backward->median == Duration{2000});
}

// Single precision: 4 + 4, two moments of 4. Half: 2, gradients of 4, a copy of 4 and two moments
// of
// 4. SGD has no moments.
TEST_CASE("bytes per parameter follow from precision and optimizer") {
  const TrainingState single = training_state_of(Precision::kFloat32, OptimizerKind::kAdamW);
  CHECK(single.bytes_per_parameter == Bytes{4});
  CHECK(single.bytes_per_gradient == Bytes{4});
  CHECK(single.optimizer_bytes_per_parameter == Bytes{8});
  const TrainingState half = training_state_of(Precision::kBFloat16, OptimizerKind::kAdamW);
  CHECK(half.bytes_per_parameter == Bytes{2});
  CHECK(half.bytes_per_gradient == Bytes{4});
  CHECK(half.optimizer_bytes_per_parameter == Bytes{12});
  CHECK(
      training_state_of(Precision::kBFloat16, OptimizerKind::kSgd).optimizer_bytes_per_parameter ==
      Bytes{4});
  CHECK(training_state_of(Precision::kFloat32, OptimizerKind::kSgd).optimizer_bytes_per_parameter ==
        Bytes{0});
}

TEST_CASE("times that fall with more samples are stored as measured, and said") {
  MeasuredModel model = measured({1, 2});
  model.chains[0].sections[1].forward = taking(2500);
  const std::vector<std::string> notes = odd_times(model.chains, 0.01);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "block, recompute none: F takes 2.5 us at b = 1 but 2 us at b = 2; prices take the smaller "
        "one for both");
  CHECK(build_profile(model).section_types[1].measurements[0].forward.median == Duration{2500});
}

TEST_CASE("the median of a size that is known least well is said") {
  MeasuredModel model = measured({1});
  model.chains[0].sections[0].forward = taking(1000, 0.02);
  model.chains[0].sections[2].fused_backward = taking(2000, 0.0314);
  const std::vector<std::string> notes = odd_times(model.chains, 0.01);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] ==
        "b = 1, recompute none: not all medians are known well, B of head to 3.1 % only, after 11 "
        "samples");
}

TEST_CASE("resuming adds sizes, replaces what was measured again, and keeps sources apart") {
  const ModelProfile first = build_profile(measured({1, 2}));
  const ModelProfile second = build_profile(measured({2, 4}, 900));
  const ModelProfile merged = merge_profiles(first, second, "old.json");
  REQUIRE(merged.sources.size() == 2);
  CHECK(merged.sources[1].id == "run-2");
  const std::vector<Measurement>& rows = merged.section_types[1].measurements;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].micro_batch_size == 1);
  CHECK(rows[0].forward.median == Duration{1000});
  CHECK(rows[0].time_source == 0);
  CHECK(rows[1].micro_batch_size == 2);
  CHECK(rows[1].forward.median == Duration{1800});
  CHECK(rows[1].time_source == 1);
  CHECK(rows[2].micro_batch_size == 4);
  CHECK(read_profile(write_profile(merged), "p.json") == merged);
}

TEST_CASE("a source that nothing refers to any more is dropped") {
  const ModelProfile first = build_profile(measured({1}));
  ModelProfile second = build_profile(measured({1}, 900));
  // What is left of the first one is who counted its parameters.
  ModelProfile merged = merge_profiles(first, second, "old.json");
  CHECK(merged.sources.size() == 2);
  for (SectionType& type : merged.section_types) type.parameter_source = 1;
  merged = merge_profiles(merged, build_profile(measured({1}, 800)), "old.json");
  REQUIRE(merged.sources.size() == 2);
  CHECK(merged.section_types[0].measurements[0].forward.median == Duration{800});
}

TEST_CASE("measurements of another model are refused") {
  const ModelProfile first = build_profile(measured({1}));
  MeasuredModel other = measured({1});
  other.description.precision = Precision::kBFloat16;
  CHECK_THROWS_WITH_AS(merge_profiles(first, build_profile(other), "old.json"),
                       doctest::Contains("old.json: it describes another model"), Error);
  ModelProfile foreign = first;
  foreign.description.reset();
  CHECK_THROWS_WITH_AS(merge_profiles(foreign, first, "old.json"),
                       doctest::Contains("does not say how to build its model"), Error);
}

}  // namespace
}  // namespace penstock
