#include "training/model_outline.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "training/initial_values.h"

namespace penstock {
namespace {

ModelDescription small(ModelFamily family) {
  ModelDescription model;
  model.family = family;
  model.layers = 2;
  model.hidden = 8;
  model.heads = 2;
  model.feed_forward = 20;
  model.vocabulary = 256;
  model.positions = 4;
  return model;
}

TEST_CASE("a GPT's sections and parameters are those worked out on paper") {
  const ModelOutline gpt = built_in_outline(small(ModelFamily::kGpt));
  REQUIRE(gpt.sections.size() == 4);
  CHECK(gpt.sections[0].name == "embedding");
  CHECK(gpt.sections[2].name == "block.1");
  CHECK(gpt.sections[2].type == "block");
  CHECK(gpt.sections[3].name == "head");
  CHECK(gpt.sections[0].parameter_count() == 256 * 8 + 4 * 8);
  // Two norms, qkv, out, up, down, each with a bias.
  CHECK(gpt.sections[1].parameter_count() ==
        2 * (8 + 8) + (24 * 8 + 24) + (8 * 8 + 8) + (20 * 8 + 20) + (8 * 20 + 8));
  CHECK(gpt.sections[3].parameter_count() == 8 + 8 + 256 * 8);
  CHECK(gpt.ties.empty());
}

TEST_CASE("a T5 is an encoder, a decoder that knows its result, and biases that blocks share") {
  ModelDescription model = small(ModelFamily::kT5);
  model.decoder_layers = 2;
  model.tied_embedding = true;
  const ModelOutline t5 = built_in_outline(model);
  REQUIRE(t5.sections.size() == 7);
  CHECK(t5.sections[2].name == "encoder.block.1");
  CHECK(t5.sections[3].name == "decoder.embedding");
  CHECK(t5.sections[4].type == "decoder_block");
  CHECK(t5.sections[5].type == "decoder_end");  // hands on no more than the head reads
  // A norm, qkv, out, 32 buckets of 2 heads, a norm, up, down; the decoder attends once more.
  const std::int64_t encoder = 8 + 24 * 8 + 8 * 8 + 32 * 2 + 8 + 20 * 8 + 8 * 20;
  CHECK(t5.sections[1].parameter_count() == encoder);
  CHECK(t5.sections[4].parameter_count() == encoder + 8 + 8 * 8 + 16 * 8 + 8 * 8);
  CHECK(t5.ties == std::vector<TieOutline>{{"embedding", {0, 3, 6}, {0, 1, 1}},
                                           {"encoder.relative_bias", {1, 2}, {3, 3}},
                                           {"decoder.relative_bias", {4, 5}, {3, 3}}});
  CHECK(knows_decoder(t5.sections[3].type));
  CHECK_FALSE(knows_decoder(t5.sections[2].type));
}

TEST_CASE("a perceptron's blocks have no attention; a tied embedding is the head's matrix") {
  ModelDescription model = small(ModelFamily::kMlp);
  model.tied_embedding = true;
  const ModelOutline mlp = built_in_outline(model);
  CHECK(mlp.sections[1].parameter_count() == (8 + 8) + (20 * 8 + 20) + (8 * 20 + 8));
  REQUIRE(mlp.ties.size() == 1);
  CHECK(mlp.ties[0] == TieOutline{"embedding", {0, 3}, {0, 2}});
  CHECK(mlp.sections[3].parameters[2].name == "weight");
  CHECK(mlp.tied_parameter_count(mlp.ties[0]) == 256 * 8);
}

TEST_CASE("sizes that no model can have are refused by name") {
  ModelDescription model = small(ModelFamily::kGpt);
  model.heads = 3;
  CHECK_THROWS_WITH_AS(built_in_outline(model),
                       "model description: heads is 3; expected a divisor of hidden, 8", Error);
  model = small(ModelFamily::kGpt);
  model.vocabulary = 100;
  CHECK_THROWS_WITH_AS(
      built_in_outline(model),
      "model description: vocabulary is 100; expected at least 256: tokens are bytes", Error);
}

TEST_CASE("initial values: uniform around their centre, by seed, section and parameter") {
  const ParameterOutline weight{"w", {100, 100}, 1.0, 0.5}, bias{"b", {3}, 0.25, 0.0};
  std::vector<double> values(10000), again(10000), others(10000);
  fill_initial(weight, 1, 2, 3, std::span<double>(values));
  fill_initial(weight, 1, 2, 3, std::span<double>(again));
  fill_initial(weight, 1, 3, 2, std::span<double>(others));
  CHECK(values == again);
  CHECK(values != others);
  double mean = 0.0;
  for (const double value : values) mean += value / 10000;
  CHECK(*std::min_element(values.begin(), values.end()) >= 0.5);
  CHECK(*std::max_element(values.begin(), values.end()) < 1.5);
  CHECK(mean == doctest::Approx(1.0).epsilon(0.02));  // standard deviation 0.003
  std::vector<float> constant(3), rounded(10000);
  fill_initial(bias, 1, 2, 3, std::span<float>(constant));
  CHECK(constant == std::vector<float>(3, 0.25F));
  fill_initial(weight, 1, 2, 3, std::span<float>(rounded));
  CHECK(rounded[7] == static_cast<float>(values[7]));
}

}  // namespace
}  // namespace penstock
