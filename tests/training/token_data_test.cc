#include "training/token_data.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <doctest/doctest.h>

#include "tests/core/messages.h"
#include "training/ordered_samples.h"

namespace penstock {
namespace {

using tests::message_of;

template <typename T>
TokenFile file_of(const std::string& name, TokenType type, const std::vector<T>& ids,
                  std::int64_t row = 0) {
  auto kept = std::make_shared<std::vector<T>>(ids);
  TokenFile file;
  file.name = name;
  file.type = type;
  file.bytes = std::as_bytes(std::span(kept->data(), kept->size()));
  file.row = row;
  file.owner = kept;
  return file;
}

// 0, 1, 2 ...
std::vector<std::uint16_t> counting(int n) {
  std::vector<std::uint16_t> ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::uint16_t>(i);
  return ids;
}

using Ids = std::vector<std::int64_t>;

// 10 tokens, length 3: samples begin at 0, 3 and 6 and need one token more; 9 is the last target.
TEST_CASE("samples follow each other, and the last target of one is the first input of the next") {
  const TokenData data({file_of("a", TokenType::kUint16, counting(10))}, 3, 0);
  CHECK(data.samples() == 3);
  CHECK(data.tokens(0) == Ids{0, 1, 2, 3});
  CHECK(data.tokens(1) == Ids{3, 4, 5, 6});
  CHECK(data.tokens(2) == Ids{6, 7, 8, 9});
  CHECK(TokenData({file_of("a", TokenType::kUint16, counting(9))}, 3, 0).samples() == 2);
}

TEST_CASE("samples do not cross files, and files without a whole sample are passed over") {
  const TokenData data(
      {file_of("a", TokenType::kUint16, counting(8)), file_of("b", TokenType::kUint16, counting(2)),
       file_of<std::int32_t>("c", TokenType::kInt32, {70, 71, 72, 73, 74})},
      3, 0);
  CHECK(data.samples() == 3);
  CHECK(data.tokens(1) == Ids{3, 4, 5, 6});
  CHECK(data.tokens(2) == Ids{70, 71, 72, 73});
}

TEST_CASE("every type of integer is read as it was written") {
  const auto first = [](const TokenFile& file) { return TokenData({file}, 1, 0).tokens(0); };
  CHECK(first(file_of<std::uint8_t>("a", TokenType::kUint8, {255, 1})) == Ids{255, 1});
  CHECK(first(file_of<std::uint16_t>("a", TokenType::kUint16, {65535, 1})) == Ids{65535, 1});
  CHECK(first(file_of<std::uint32_t>("a", TokenType::kUint32, {4294967295U, 1})) ==
        Ids{4294967295, 1});
  CHECK(first(file_of<std::int32_t>("a", TokenType::kInt32, {2147483647, 1})) ==
        Ids{2147483647, 1});
  CHECK(first(file_of<std::int64_t>("a", TokenType::kInt64, {1LL << 40, 1})) == Ids{1LL << 40, 1});
  for (const char* const name : {"uint8", "uint16", "uint32", "int32", "int64"}) {
    CHECK(name_of(token_type_named(name).value_or(TokenType::kUint8)) == name);
  }
  CHECK_FALSE(token_type_named("float32"));
}

TEST_CASE("a table has a sample per row, of sequence length + 1 tokens") {
  const TokenData data({file_of("a", TokenType::kUint16, counting(12), 4)}, 3, 0);
  CHECK(data.samples() == 3);
  CHECK(data.tokens(2) == Ids{8, 9, 10, 11});
  CHECK(message_of(
            [] { TokenData({file_of("t.npy", TokenType::kUint16, counting(12), 4)}, 4, 0); }) ==
        "t.npy: has rows of 4 tokens; a sample needs sequence length + 1 = 5\nhelp: plan for a "
        "sequence length of 3, or write the tokens as one row (numpy: tokens.reshape(-1)) to have "
        "them cut");
}

TEST_CASE("an id outside the vocabulary is refused with file, place and value") {
  TokenFile file = file_of<std::int32_t>("b.bin", TokenType::kInt32, {1, 2, 3, 4, 500, 6, 7});
  file.offset = 128;
  const TokenData data({file_of<std::uint16_t>("a.bin", TokenType::kUint16, {1, 2, 3}), file}, 2,
                       256);
  CHECK(data.tokens(1) == Ids{1, 2, 3});
  const std::string words =
      "b.bin: token 4, at byte 144, is 500; the model's vocabulary is 0 to 255\nhelp: is the file "
      "one of int32 (--dtype), and made for this model's vocabulary?";
  CHECK(message_of([&] { (void)data.tokens(2); }) == words);
  CHECK(message_of([&] { data.check(1 << 20); }) == words);
  // Not known: what is negative is wrong all the same.
  const TokenData any({file_of<std::int64_t>("c", TokenType::kInt64, {1, -1})}, 1, 0);
  CHECK(message_of([&] {
          (void)any.tokens(0);
        }).starts_with("c: token 1, at byte 8, is -1; token ids are not negative"));
}

TEST_CASE("files that hold no sample, or half a token, are refused") {
  CHECK(message_of([] { TokenData({file_of("a", TokenType::kUint16, counting(3))}, 3, 0); }) ==
        "a: holds 3 tokens; a sample needs sequence length + 1 = 4; give more data or shorten the "
        "sequence");
  TokenFile odd = file_of("a", TokenType::kUint16, counting(9));
  odd.bytes = odd.bytes.first(17);
  CHECK(
      message_of([&] { TokenData({odd}, 3, 0); }) ==
      "a: holds 17 bytes of tokens, which is not a whole number of uint16 tokens\nhelp: is --dtype "
      "right?");
}

// How often each of 23 samples is taken in the steps [first, end) by batches of `batch`.
void take(const EpochData& data, std::int64_t first, std::int64_t end, int batch,
          std::map<std::int64_t, int>& times) {
  for (std::int64_t step = first; step < end; ++step) {
    for (int sample = 0; sample < batch; ++sample) ++times[data.index({5, step, sample})];
  }
}

std::shared_ptr<const TokenData> twenty_three() {
  return std::make_shared<const TokenData>(
      std::vector{file_of("a", TokenType::kUint16, counting(24))}, 1, 0);
}

TEST_CASE("two epochs take every sample exactly twice, over a resume and another global batch") {
  const auto data = twenty_three();
  std::map<std::int64_t, int> times;
  // 46 samples: 7 steps of 2, resumed at step 7 with batches of 4, 8 steps.
  take(EpochData(data, 0, 23, {0, 0, 2}), 0, 7, 2, times);
  take(EpochData(data, 0, 23, {7, 14, 4}), 7, 15, 4, times);
  CHECK(times.size() == 23);
  for (const auto& [index, count] : times) CHECK(count == 2);
  CHECK(times.rbegin()->first == 22);
}

TEST_CASE("an epoch is complete before the next begins, and has another order") {
  const EpochData data(twenty_three(), 0, 23, {0, 0, 23});
  std::vector<std::int64_t> first, second;
  std::map<std::int64_t, int> times;
  take(data, 0, 1, 23, times);
  CHECK(times.size() == 23);
  for (int i = 0; i < 23; ++i) first.push_back(data.index({5, 0, i}));
  for (int i = 0; i < 23; ++i) second.push_back(data.index({5, 1, i}));
  CHECK(first != second);
  CHECK_FALSE(std::ranges::is_sorted(first));
}

TEST_CASE("a part of the data leaves the rest alone, and seeds give other orders") {
  const EpochData data(twenty_three(), 4, 11, {0, 0, 7});
  std::map<std::int64_t, int> times;
  take(data, 0, 3, 7, times);
  CHECK(times.size() == 7);
  CHECK(times.begin()->first == 4);
  CHECK(times.rbegin()->first == 10);
  const EpochData all(twenty_three(), 0, 23, {0, 0, 23});
  int same = 0;
  for (int i = 0; i < 23; ++i) same += all.index({5, 0, i}) == all.index({6, 0, i}) ? 1 : 0;
  CHECK(same < 8);  // one on average
}

TEST_CASE("the samples of a causal model are the tokens of the file") {
  ModelDescription gpt;
  gpt.vocabulary = 256;
  const EpochData data(twenty_three(), 0, 23, {0, 0, 4});
  const SampleId id{5, 3, 1};
  const TokenSample sample = data.sample(gpt, id);
  CHECK(sample.inputs == Ids{data.index(id)});
  CHECK(sample.targets == Ids{data.index(id) + 1});
}

}  // namespace
}  // namespace penstock
