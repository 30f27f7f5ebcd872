#include "training/byte_data.h"

#include <set>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

ModelDescription model_of(ModelFamily family, int vocabulary = 256) {
  ModelDescription model;
  model.family = family;
  model.vocabulary = vocabulary;
  return model;
}
std::string alphabet() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i + 32);
  return text;
}

TEST_CASE("a causal sample is a run of bytes, its targets the next ones") {
  const ByteData data(alphabet(), 8, "text");
  std::set<std::int64_t> starts;
  for (int i = 0; i < 50; ++i) {
    const TokenSample sample = data.sample(model_of(ModelFamily::kGpt), {1, 0, i});
    REQUIRE(sample.inputs.size() == 8);
    starts.insert(sample.inputs[0]);
    for (std::size_t k = 0; k < 8; ++k) {
      CHECK(sample.inputs[k] == sample.inputs[0] + static_cast<std::int64_t>(k));
      CHECK(sample.targets[k] == sample.inputs[k] + 1);
    }
  }
  CHECK(starts.size() > 30);  // of 192 places, 50 draws: about 44 different ones
}

TEST_CASE("which sample it is follows from seed, step and number, and from nothing else") {
  const ByteData data(alphabet(), 8, "text"), same(alphabet(), 8, "another name");
  const ModelDescription gpt = model_of(ModelFamily::kGpt);
  CHECK(data.sample(gpt, {1, 2, 3}) == same.sample(gpt, {1, 2, 3}));
  CHECK_FALSE(data.sample(gpt, {1, 2, 3}) == data.sample(gpt, {1, 2, 4}));
  CHECK_FALSE(data.sample(gpt, {1, 2, 3}) == data.sample(gpt, {1, 3, 3}));
  CHECK_FALSE(data.sample(gpt, {1, 2, 3}) == data.sample(gpt, {2, 2, 3}));
  // The same on every machine and in every version, or runs could not be continued.
  CHECK(data.sample(gpt, {1, 0, 0}).inputs[0] == 203);
}

TEST_CASE("masked tokens: 15 %, replaced in the inputs, and the only targets") {
  const ByteData data(alphabet(), 100, "text");
  const ModelDescription bert = model_of(ModelFamily::kBert, 300);
  int masked = 0;
  for (int i = 0; i < 100; ++i) {
    const TokenSample sample = data.sample(bert, {5, 1, i});
    for (std::size_t k = 0; k < 100; ++k) {
      const bool hidden = sample.inputs[k] == 256;
      CHECK(hidden == (sample.targets[k] != kNoTarget));
      CHECK(hidden == is_masked({5, 1, i}, static_cast<int>(k)));
      masked += hidden ? 1 : 0;
    }
  }
  // 10,000 draws: 1500 with a standard deviation of 36.
  CHECK(masked > 1350);
  CHECK(masked < 1650);
  CHECK(loss_tokens(bert, 5, 1, 100, 100) == masked);
  CHECK(loss_tokens(model_of(ModelFamily::kGpt), 5, 1, 7, 12) == 84);
}

TEST_CASE("a vocabulary of bytes masks with the byte 0") {
  const ByteData data(alphabet(), 100, "text");
  const TokenSample sample = data.sample(model_of(ModelFamily::kBert), {5, 1, 0});
  for (std::size_t k = 0; k < 100; ++k) {
    CHECK((sample.inputs[k] == 0) == (sample.targets[k] != kNoTarget));
  }
}

TEST_CASE("a file that is too short for one sample says what is needed") {
  CHECK_THROWS_WITH_AS(ByteData("12345678", 8, "tiny.txt"),
                       "tiny.txt: holds 8 bytes; a sample needs sequence length + 1 = 9; give a "
                       "longer file or shorten the sequence",
                       Error);
  const ByteData just(std::string("123456789"), 8, "tiny.txt");
  CHECK(just.sample(model_of(ModelFamily::kGpt), {1, 1, 1}).inputs[0] == '1');
}

}  // namespace
}  // namespace penstock
