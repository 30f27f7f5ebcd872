// Lengths, orders, rows and the balance of replicas, each by an example on paper.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "search/dynamic/balance_replicas.h"
#include "search/dynamic/form_micro_batches.h"
#include "search/dynamic/range_rows.h"
#include "search/dynamic/sample_orders.h"
#include "tests/core/messages.h"
#include "tests/search/dynamic/toy_costs.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;
using testing::ToyCosts;

std::string refusal(const LengthBatch& batch, const LengthRounding& rounding = {}) {
  return tests::message_of([&] { require_lengths(batch, rounding); });
}

std::int64_t path_length(const LengthBatch& batch, const std::vector<int>& order) {
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const SampleLength& a = batch[static_cast<std::size_t>(order[i - 1])];
    const SampleLength& b = batch[static_cast<std::size_t>(order[i])];
    sum += std::abs(a.tokens - b.tokens) + std::abs(a.decoder_tokens - b.decoder_tokens);
  }
  return sum;
}

bool is_permutation_of_all(std::vector<int> order, std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  std::sort(order.begin(), order.end());
  return order == all;
}

// What the forming functions need, of a toy with one stage.
struct Forming {
  explicit Forming(LengthBatch of, testing::ToyNumbers numbers = {})
      : batch(std::move(of)),
        costs(layout, std::move(numbers)),
        shapes(costs, layout, executor, capacity, Bytes{}) {}
  [[nodiscard]] FormingInput input() { return {batch, rounding, shapes}; }

  Plan layout = testing::toy_layout(1);
  ExecutorModel executor;
  PerRank<Bytes> capacity = Bytes{1'000'000};
  LengthRounding rounding{8, 0, 2, 1};
  LengthBatch batch;
  ToyCosts costs;
  ShapeTable shapes;
};

std::vector<int> in_order(std::size_t count) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TEST_CASE("one rounding: the token that is left out goes first, targets get two more") {
  const LengthRounding decoder_only;
  CHECK(padded_shape(3, fed_of({17, 0}, decoder_only), decoder_only) == MicroBatchShape{3, 16, 0});
  CHECK(padded_shape(3, fed_of({18, 0}, decoder_only), decoder_only) == MicroBatchShape{3, 24, 0});
  const LengthRounding pairs{8, 0, 2, 1};
  CHECK(padded_shape(1, fed_of({16, 6}, pairs), pairs) == MicroBatchShape{1, 16, 8});
  CHECK(padded_shape(1, fed_of({16, 7}, pairs), pairs) == MicroBatchShape{1, 16, 16});
  CHECK(fed_of({16, 0}, pairs).decoder_tokens == 0);  // no target stays none
  CHECK(loss_tokens_of({17, 0}, decoder_only) == 16);
  CHECK(loss_tokens_of({17, 5}, pairs) == 5);
  CHECK(real_tokens_of({17, 5}, pairs) == 24);
}

TEST_CASE("lengths that cannot be are refused with their place") {
  CHECK(refusal({{2, 0}, {5, 0}}).empty());
  CHECK(refusal({}) == "a batch needs at least one sample");
  CHECK(refusal({{5, 0}, {1, 0}}).starts_with("sample 1 has 1 tokens, expected at least 2"));
  CHECK(
      refusal({{5, 0}, {5, 3}}).starts_with("sample 1 has 3 tokens for a decoder, sample 0 has 0"));
  CHECK(refusal({{5, 3}, {5, -1}}).starts_with("sample 1 has -1 tokens for a decoder"));
  CHECK(refusal({{5, 0}}, {0, 1, 2, 1}).starts_with("rounding of lengths"));
}

TEST_CASE("samples without targets have one order: descending by (length, index)") {
  CHECK(sample_orders({{5, 0}, {9, 0}, {5, 0}, {7, 0}}) ==
        std::vector<std::vector<int>>{{1, 3, 2, 0}});
}

// Points on two columns, 10 and 20 from 0 to 90 by tens: descending order runs down one column and
// then, from (20, 0), jumps up to (10, 90) again: 90 + 100 + 90. A path that comes up the second
// column is 90 + 10 + 90 long.
TEST_CASE("a path through pairs turns where the sort jumps") {
  LengthBatch batch;
  for (int x = 10; x <= 20; x += 10) {
    for (int y = 0; y < 10; ++y) batch.push_back({x, 10 * y + 1});
  }
  const auto orders = sample_orders(batch);
  REQUIRE(orders.size() == 3);
  CHECK(path_length(batch, orders[0]) == 90 + 100 + 90);
  CHECK(path_length(batch, orders[2]) == 90 + 10 + 90);
}

TEST_CASE("orders of random pairs hold every sample once, and moves only shorten the path") {
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    LengthBatch batch;
    const int samples = random.between(1, 120);
    for (int s = 0; s < samples; ++s) {
      batch.push_back({random.between(1, 500), random.between(1, 300)});
    }
    const auto orders = sample_orders(batch);
    for (const auto& order : orders) REQUIRE(is_permutation_of_all(order, batch.size()));
    CHECK(path_length(batch, orders[2]) <=
          std::min(path_length(batch, orders[0]), path_length(batch, orders[1])));
  }
}

TEST_CASE("a token budget counts rounded lengths") {
  // Rounded 8 16 8 8 16: 24 | 8 8 | 16 within 24; unrounded (5 9 5 5 9) would close later.
  Forming forming({{5, 0}, {9, 0}, {5, 0}, {5, 0}, {9, 0}});
  CHECK(ends_by_tokens(forming.input(), in_order(5), 24) == std::vector<std::size_t>{2, 4, 5});
  // A sample above the budget is alone.
  CHECK(ends_by_tokens(forming.input(), in_order(5), 1) == std::vector<std::size_t>{1, 2, 3, 4, 5});
  CHECK(ends_by_size(5, 2) == std::vector<std::size_t>{2, 4, 5});
  CHECK(ends_by_size(4, 2) == std::vector<std::size_t>{2, 4});
}

// Rows of 16 with a separator of 1: 9 + 1 + 6 = 16 fits; 9 + 1 + 7 does not; 7 + 1 + 8 does.
TEST_CASE("first-fit fills rows in order, with a separator between samples") {
  Forming forming({{9, 0}, {7, 0}, {6, 0}, {8, 0}});
  CHECK(first_fit(forming.input(), in_order(4), {16, 0}) ==
        std::vector<std::vector<int>>{{0, 2}, {1, 3}});
  // The target has a row as well: 4 + 1 + 4 = 9 is more than 8.
  Forming pairs({{4, 4}, {4, 4}, {4, 3}});
  CHECK(first_fit(pairs.input(), in_order(3), {16, 8}) ==
        std::vector<std::vector<int>>{{0, 2}, {1}});
}

TEST_CASE("packed micro-batches have rows as long as the longest sample") {
  Forming forming({{9, 0}, {7, 0}, {6, 0}, {8, 0}, {16, 0}});
  const auto micro_batches = packed(forming.input(), in_order(5), 2);
  REQUIRE(micro_batches.size() == 2);
  CHECK(micro_batches[0].rows == std::vector<std::vector<int>>{{0, 2}, {1, 3}});
  CHECK(forming.shapes.at(micro_batches[0].shape).shape == MicroBatchShape{2, 16, 0});
  CHECK(micro_batches[1].rows == std::vector<std::vector<int>>{{4}});
  CHECK(forming.shapes.at(micro_batches[1].shape).shape == MicroBatchShape{1, 16, 0});
}

TEST_CASE("samples share rows inside a micro-batch only where that takes less time") {
  Forming forming({{16, 0}, {7, 0}, {8, 0}});
  auto micro_batches = cut_at(forming.input(), in_order(3), {3});
  CHECK(forming.shapes.at(micro_batches[0].shape).shape == MicroBatchShape{3, 16, 0});
  pack_within(forming.input(), micro_batches);
  CHECK(micro_batches[0].rows == std::vector<std::vector<int>>{{0}, {1, 2}});
  CHECK(forming.shapes.at(micro_batches[0].shape).shape == MicroBatchShape{2, 16, 0});
  testing::ToyNumbers free;
  free.per_token_ns = 0;
  Forming same_time({{16, 0}, {7, 0}, {8, 0}}, free);
  auto kept = cut_at(same_time.input(), in_order(3), {3});
  pack_within(same_time.input(), kept);
  CHECK(kept[0].rows.size() == 3);
}

TEST_CASE("too few micro-batches for the replicas: the longest is halved") {
  Forming forming({{16, 0}, {16, 0}, {16, 0}, {8, 0}, {8, 0}});
  auto micro_batches = cut_at(forming.input(), in_order(5), {3, 5});
  CHECK(divide_until(forming.input(), 3, micro_batches));
  REQUIRE(micro_batches.size() == 3);
  CHECK(micro_batches[0].rows == std::vector<std::vector<int>>{{0}});
  CHECK(micro_batches[1].rows == std::vector<std::vector<int>>{{1}, {2}});
  CHECK(divide_until(forming.input(), 5, micro_batches));
  CHECK_FALSE(divide_until(forming.input(), 6, micro_batches));
}

// b E bytes times 8: of 16 tokens a sample takes 128 bytes. 1,000 bytes hold 7 of them.
TEST_CASE("ranges end where memory does, and rows of equal rounded length are one") {
  Forming forming({{16, 0}, {15, 0}, {12, 0}, {8, 0}, {3, 0}});
  const RangeRows rows = range_rows(forming.batch, in_order(5), forming.rounding, forming.shapes);
  CHECK(rows.row_of == std::vector<std::uint32_t>{0, 0, 0, 1, 1});
  const RangeTimes all = times_within(rows, forming.shapes, HeldAtOnce::kOne, 1'000'000);
  CHECK(all.from(0).size() == 5);
  CHECK(all.from(2).size() == 3);
  CHECK(all.from(3).size() == 2);
  // F + B = 3 (1,000 + b E 100) ns.
  CHECK(all.of(0, 2) == 3.0 * (1000 + 32 * 100));
  CHECK(all.of(3, 5) == 3.0 * (1000 + 16 * 100));
  const RangeTimes tight = times_within(rows, forming.shapes, HeldAtOnce::kOne, 300);
  CHECK(tight.from(0).size() == 2);  // 256 bytes
  CHECK(tight.of(0, 3) == kInfeasible);
  CHECK(tight.of(3, 5) == all.of(3, 5));
}

TEST_CASE("Karmarkar-Karp divides 8, 7, 6, 5, 4 into 16 and 14; a swap makes it 15 and 15") {
  const std::vector<double> times{8, 7, 6, 5, 4};
  const auto sums = [&](const std::vector<std::vector<int>>& replicas) {
    std::vector<double> result;
    for (const auto& replica : replicas) {
      double sum = 0;
      for (const int m : replica) sum += times[static_cast<std::size_t>(m)];
      result.push_back(sum);
    }
    std::sort(result.begin(), result.end());
    return result;
  };
  CHECK(sums(differencing(times, 2)) == std::vector<double>{14, 16});
  CHECK(sums(balance_replicas(times, 2)) == std::vector<double>{15, 15});
}

// By sums alone the last two would go together: bins of nothing and of no time are alike.
TEST_CASE("micro-batches that take no time are shared out as well") {
  using Lists = std::vector<std::vector<int>>;
  CHECK(balance_replicas({0, 0, 0}, 3) == Lists{{0}, {1}, {2}});
  CHECK(balance_replicas({7, 0, 0, 0}, 4) == Lists{{0}, {1}, {2}, {3}});
}

TEST_CASE("no replica is left without, and none gets more than the largest can explain") {
  Random random(9);
  for (int i = 0; i < testing::draws(300); ++i) {
    const int replicas = random.between(1, 8), count = random.between(replicas, 60);
    std::vector<double> times;
    double sum = 0.0, longest = 0.0;
    for (int m = 0; m < count; ++m) {
      times.push_back(random.between(0, 50));
      sum += times.back();
      longest = std::max(longest, times.back());
    }
    const auto lists = balance_replicas(times, replicas);
    std::vector<int> all;
    for (const auto& list : lists) {
      REQUIRE(!list.empty());
      CHECK(std::is_sorted(list.begin(), list.end()));
      double own = 0.0;
      for (const int m : list) own += times[static_cast<std::size_t>(m)];
      CHECK(own <= sum / replicas + longest);
      all.insert(all.end(), list.begin(), list.end());
    }
    CHECK(is_permutation_of_all(all, times.size()));
  }
}

}  // namespace penstock
