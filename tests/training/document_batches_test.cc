#include "training/document_batches.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// Document d has d + 2 tokens: d, d, d, ...; d + 1 of them are fed.
std::shared_ptr<const DocumentSet> rising(int documents) {
  DocumentSet set(false);
  for (int d = 0; d < documents; ++d) {
    set.add(std::vector<std::int32_t>(static_cast<std::size_t>(d) + 2, d), {}, 100);
  }
  return std::make_shared<const DocumentSet>(std::move(set));
}

TEST_CASE("each token of a document predicts the next; of a pair the second part is predicted") {
  DocumentSet one(false);
  one.add(std::vector<std::int32_t>{5, 6, 7}, std::vector<std::int32_t>{8, 9}, 4);
  CHECK(one.length(0) == SampleLength{4, 0});  // cut to four
  CHECK(one.cut() == 1);
  CHECK(one.fed_tokens(0) == 3);
  CHECK(one.sample(0) == TokenSample{{5, 6, 7}, {6, 7, 8}});

  DocumentSet pairs(true);
  pairs.add(std::vector<std::int32_t>{5, 6, 7}, std::vector<std::int32_t>{8, 9}, 4);
  CHECK(pairs.length(0) == SampleLength{3, 2});
  CHECK(pairs.cut() == 0);
  CHECK(pairs.fed_tokens(0) == 5);
  CHECK(pairs.loss_tokens(0) == 2);
  CHECK(pairs.sample(0) == TokenSample{{5, 6, 7}, {8, 9}});
}

TEST_CASE("a batch ends before the document that would be too much, and no epoch loses one") {
  // 1 + 2 + ... + 9 = 45 tokens are fed in an epoch of nine documents.
  const DocumentBatches batches(rising(9), {.step = 0, .taken = 0, .tokens = 12, .seed = 1});
  std::vector<std::int64_t> taken;
  for (int step = 0; step < 40; ++step) {
    std::int64_t tokens = 0;
    for (const std::int64_t document : batches.of_step(step)) tokens += document + 1;
    CHECK(tokens <= 12);
    const std::int64_t next = batches.of_step(step + 1).front();
    CHECK(tokens + next + 1 > 12);
    const auto documents = batches.of_step(step);
    taken.insert(taken.end(), documents.begin(), documents.end());
  }
  for (std::size_t epoch = 0; 9 * (epoch + 1) <= taken.size(); ++epoch) {
    const auto first = taken.begin() + static_cast<std::ptrdiff_t>(9 * epoch);
    std::vector<std::int64_t> sorted(first, first + 9);
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  }
}

TEST_CASE("a run that resumes takes what one that was never interrupted takes") {
  const auto set = rising(9);
  const DocumentBatches whole(set, {.step = 0, .taken = 0, .tokens = 12, .seed = 5});
  const DocumentBatches resumed(
      set, {.step = 7, .taken = whole.taken_before(7), .tokens = 12, .seed = 5});
  for (int step = 7; step < 20; ++step) {
    CHECK(resumed.of_step(step) == whole.of_step(step));
    CHECK(resumed.taken_before(step) == whole.taken_before(step));
  }
}

TEST_CASE("a document that is more than a batch is a batch of its own") {
  const DocumentBatches batches(rising(3), {.step = 0, .taken = 0, .tokens = 1, .seed = 1});
  for (int step = 0; step < 6; ++step) CHECK(batches.of_step(step).size() == 1);
}

TEST_CASE("the targets of a step are those of its documents") {
  const DocumentBatches batches(rising(9), {.step = 0, .taken = 0, .tokens = 12, .seed = 1});
  std::int64_t targets = 0;
  for (const std::int64_t document : batches.of_step(3)) targets += document + 1;
  CHECK(batches.targets_of_step({}, 1, 3, 100, 100) == targets);
  const auto documents = batches.of_step(3);
  for (int i = 0; i < static_cast<int>(documents.size()); ++i) {
    const TokenSample sample = batches.sample({}, {1, 3, i});
    CHECK(sample.inputs.front() == documents[static_cast<std::size_t>(i)]);
  }
}

}  // namespace
}  // namespace penstock
