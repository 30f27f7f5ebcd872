// The exact split against enumeration, and what its proof rests on.
#include "search/dynamic/split_exactly.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

// Every sample has a row of its own.
RangeTimes table_of(const std::vector<std::vector<double>>& rows) {
  RangeTimes times;
  times.begin.push_back(0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    times.row_of.push_back(static_cast<std::uint32_t>(i));
    times.time.insert(times.time.end(), rows[i].begin(), rows[i].end());
    times.begin.push_back(times.time.size());
  }
  return times;
}

struct Cut {
  double objective = kInfeasible, longest = 0.0, sum = 0.0;
};

// Of one partition; infeasible where a range is.
Cut cost_of(const RangeTimes& times, const SplitWeights& weights,
            const std::vector<std::size_t>& ends) {
  Cut cut;
  std::size_t first = 0;
  for (const std::size_t end : ends) {
    const double time = times.of(first, end);
    if (time == kInfeasible) return {};
    cut.longest = std::max(cut.longest, time);
    cut.sum += time;
    first = end;
  }
  cut.objective = weights.objective(cut.longest, cut.sum);
  return cut;
}

// The best of all 2^(N - 1) partitions.
Cut best_of_all(const RangeTimes& times, const SplitWeights& weights) {
  const std::size_t samples = times.samples();
  Cut best;
  for (std::size_t cuts = 0; cuts < (std::size_t{1} << (samples - 1)); ++cuts) {
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i + 1 < samples; ++i) {
      if ((cuts >> i & 1U) != 0) ends.push_back(i + 1);
    }
    ends.push_back(samples);
    const Cut cut = cost_of(times, weights, ends);
    if (cut.objective < best.objective) best = cut;
  }
  return best;
}

// Whole numbers, so that sums are exact in any order.
RangeTimes random_times(Random& random, std::size_t samples) {
  const bool grows = random.coin();
  const int infeasible_of_ten = random.between(0, 4);
  std::vector<std::vector<double>> rows(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    double time = 0.0;
    for (std::size_t end = i + 1; end <= samples; ++end) {
      time = grows ? time + random.between(0, 9) : random.between(1, 60);
      const bool infeasible = random.between(1, 10) <= infeasible_of_ten;
      rows[i].push_back(infeasible ? kInfeasible : time);
    }
  }
  return table_of(rows);
}

SplitWeights random_weights(Random& random) {
  return {random.between(1, 9), random.between(1, 3), random.between(1, 4)};
}

}  // namespace

// Lengths (32, 24, 16, 16, 8) padded to the first, t = 2 + b E / 8 while b E <= 64, c = 4:
//   row 32: b = 1: 6, 2: 10; row 24: 5, 8; row 16: 4, 6, 8, (4: 10); row 16 the same; row 8: 3
// f(10) = 18 with {32, 24} {16, 16, 8}: 3 * 10 + 18 = 48. Within 5 the sample of 32 fits nowhere.
// f(6) = 20 with {32} {24} {16, 16} {8}: 3 * 6 + 20 = 38. Within 8: f(8) = 18, no less than
// 3 * 8 + 18 = 42.
TEST_CASE("the example with lengths 32, 24, 16, 16, 8 costs 38") {
  const double no = kInfeasible;
  const RangeTimes times = table_of({{6, 10, no, no, no}, {5, 8, no, no}, {4, 6, 8}, {4, 6}, {3}});
  const Split split = split_exactly(times, {4, 1, 1});
  CHECK(split.objective == 38.0);
  CHECK(split.longest == 6.0);
  CHECK(split.sum == 20.0);
  CHECK(split.ends == std::vector<std::size_t>{1, 2, 4, 5});
  // Three bounds are looked at: 10, 5 (no partition), 6; 8 is dropped by its bound of 42.
  CHECK(split.evaluations == 3);
}

// With 2 stages all samples apart cost 10 + 44, the first two together 15 + 39: both 54. The sum of
// 39 is also that of {0}, {1, 2, 3, 4}, which hides the second from the first bound; a guess of 10
// finds the first of them first.
TEST_CASE("of equal costs the longer longest range counts, whatever the guess") {
  const double no = kInfeasible;
  const RangeTimes times = table_of({{10, 15}, {10, no, no, 29}, {10}, {10}, {4}});
  for (const double guess : {0.0, 4.0, 10.0, 15.0, 29.0}) {
    const Split split = split_exactly(times, {2, 1, 1}, guess);
    CHECK(split.objective == 54.0);
    CHECK(split.longest == 15.0);
    CHECK(split.ends == std::vector<std::size_t>{2, 3, 4, 5});
  }
}

TEST_CASE("one stage and one replica: the least sum, whatever the longest") {
  // {0, 1} takes 5, less than 3 + 4.
  CHECK(split_exactly(table_of({{3, 5}, {4}}), {1, 1, 1}).ends == std::vector<std::size_t>{2});
  // With 4 stages 3 * 5 + 5 = 20 against 3 * 4 + 7 = 19.
  CHECK(split_exactly(table_of({{3, 5}, {4}}), {4, 1, 1}).ends == std::vector<std::size_t>{1, 2});
}

TEST_CASE("times below a millisecond and above an hour are split alike") {
  for (const double unit : {1.0, 1e3, 3.6e12}) {
    const RangeTimes times = table_of({{6 * unit, 10 * unit}, {5 * unit}});
    CHECK(split_exactly(times, {4, 1, 1}).ends == std::vector<std::size_t>{1, 2});
  }
}

TEST_CASE("the first sample that fits nowhere is named") {
  const double no = kInfeasible;
  const Split split = split_exactly(table_of({{1, 2, no}, {1, no}, {no}}), {2, 1, 1});
  CHECK(split.ends.empty());
  CHECK(split.fits_nowhere == 2);
  // Sample 1 runs only together with sample 0: it does fit.
  const Split together = split_exactly(table_of({{1, 2, no}, {no, no}, {no}}), {2, 1, 1});
  CHECK(together.ends.empty());
  CHECK(together.fits_nowhere == 2);
  CHECK(split_exactly(table_of({}), {2, 1, 1}).ends.empty());
}

TEST_CASE("no partition of up to twelve samples is better, whether or not times grow") {
  Random random(20231118);
  int infeasible = 0;
  for (int i = 0; i < testing::draws(10'000); ++i) {
    CAPTURE(i);
    // Most cases small, so that all kinds come up; some as large as can be enumerated in time.
    const int samples = i % 10 == 0 ? random.between(9, 12) : random.between(1, 8);
    const RangeTimes times = random_times(random, static_cast<std::size_t>(samples));
    const SplitWeights weights = random_weights(random);
    const Cut best = best_of_all(times, weights);
    const Split split = split_exactly(times, weights);
    REQUIRE(split.objective == best.objective);
    infeasible += split.ends.empty() ? 1 : 0;
    if (split.ends.empty()) continue;
    const Cut own = cost_of(times, weights, split.ends);
    REQUIRE(own.longest == split.longest);
    REQUIRE(own.sum == split.sum);
  }
  CHECK(infeasible > testing::least(100));  // both answers come up
  CHECK(infeasible < 9'000);
}

// f(T): with a replica weight of all and one stage, within times of at most T.
TEST_CASE("the least sum never rises with the bound on the longest, and is constant down to it") {
  Random random(7);
  for (int i = 0; i < testing::draws(300); ++i) {
    CAPTURE(i);
    const RangeTimes times = random_times(random, static_cast<std::size_t>(random.between(2, 10)));
    double before = kInfeasible;
    for (int bound = 0; bound <= 90; ++bound) {
      RangeTimes within = times;
      for (double& time : within.time) time = time <= bound ? time : kInfeasible;
      const Split split = split_exactly(within, {1, 1, 1});
      REQUIRE(split.objective <= before);
      before = split.objective;
      if (split.ends.empty()) continue;
      RangeTimes down = times;
      for (double& time : down.time) time = time <= split.longest ? time : kInfeasible;
      REQUIRE(split_exactly(down, {1, 1, 1}).objective == split.objective);
    }
  }
}

TEST_CASE("rows that samples share give the split of rows written out") {
  Random random(11);
  for (int i = 0; i < testing::draws(200); ++i) {
    const int samples = random.between(1, 20);
    RangeTimes shared;
    shared.begin.push_back(0);
    std::vector<std::vector<double>> rows;
    for (int first = 0; first < samples; ++first) {
      if (first == 0 || random.between(1, 3) == 1) {
        for (int k = 0; k < samples - first; ++k) shared.time.push_back(random.between(1, 40));
        shared.begin.push_back(shared.time.size());
      }
      shared.row_of.push_back(static_cast<std::uint32_t>(shared.begin.size() - 2));
      const auto row =
          shared.time.begin() + static_cast<std::ptrdiff_t>(shared.begin[shared.row_of.back()]);
      rows.emplace_back(row, row + samples - first);
    }
    const SplitWeights weights = random_weights(random);
    CHECK(split_exactly(shared, weights).ends == split_exactly(table_of(rows), weights).ends);
  }
}

// Times are whole numbers, so that many partitions cost the same.
TEST_CASE("what is best among more ranges and needs none that are left out is best without them") {
  Random random(31);
  int kept = 0;
  for (int i = 0; i < testing::draws(2'000); ++i) {
    CAPTURE(i);
    const RangeTimes more = random_times(random, static_cast<std::size_t>(random.between(2, 9)));
    const SplitWeights weights = random_weights(random);
    const Split best = split_exactly(more, weights);
    CHECK(split_exactly(more, weights, random.between(1, 90)).ends == best.ends);
    RangeTimes fewer = more;
    for (double& time : fewer.time) {
      if (random.between(1, 4) == 1) time = kInfeasible;
    }
    std::size_t first = 0;
    const bool is_within = std::all_of(best.ends.begin(), best.ends.end(), [&](std::size_t end) {
      return fewer.of(std::exchange(first, end), end) < kInfeasible;
    });
    if (!is_within || best.ends.empty()) continue;
    ++kept;
    CHECK(split_exactly(fewer, weights).ends == best.ends);
  }
  CHECK(kept > testing::least(200));
}

}  // namespace penstock
