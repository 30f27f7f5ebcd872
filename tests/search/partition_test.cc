#include "search/partition.h"

#include <algorithm>
#include <tuple>

#include <doctest/doctest.h>

#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

std::vector<std::int64_t> prefix_of(const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> prefix{0};
  for (const std::int64_t time : times) prefix.push_back(prefix.back() + time);
  return prefix;
}

// Chains with few distinct values, zero among them, so that ties are frequent.
std::vector<std::int64_t> random_values(Random& random, int count, int most) {
  std::vector<std::int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(random.between(0, most));
  return values;
}

// A stage may hold sections up to a weight of its own: shrinks with every section it loses.
class WeightLimit : public StageLimit {
 public:
  WeightLimit(std::vector<std::int64_t> weights, std::vector<std::int64_t> most)
      : weights_(std::move(weights)), prefix_(prefix_of(weights_)), most_(std::move(most)) {}
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    return prefix_[static_cast<std::size_t>(end)] - prefix_[static_cast<std::size_t>(first)] <=
           most_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] bool is_monotone() const override { return true; }
  [[nodiscard]] bool every_section_fits(int /*stages*/) const override {
    return *std::max_element(weights_.begin(), weights_.end()) <=
           *std::min_element(most_.begin(), most_.end());
  }

 private:
  std::vector<std::int64_t> weights_, prefix_, most_;
};

// Any run may fit or not.
class AnyLimit : public StageLimit {
 public:
  explicit AnyLimit(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    Random random(seed_ + static_cast<std::uint64_t>((stage * 100 + first) * 100 + end));
    return random.between(0, 3) > 0;
  }

 private:
  std::uint64_t seed_;
};

// Every set of cuts there is, the best by (bottleneck, traffic, cuts).
class Enumerated {
 public:
  explicit Enumerated(const PartitionProblem& problem) : problem_(problem) {
    cuts_.push_back(0);
    extend();
  }
  [[nodiscard]] std::optional<Partition> best() const {
    if (!best_) return std::nullopt;
    return Partition{std::get<2>(*best_), std::get<0>(*best_)};
  }

 private:
  void extend() {
    const int sections = problem_.sections();
    const int stage = static_cast<int>(cuts_.size()) - 1;
    if (stage == problem_.stages) {
      if (cuts_.back() == sections) judge();
      return;
    }
    for (int end = cuts_.back() + 1; end <= sections; ++end) {
      if (problem_.limit != nullptr && !problem_.limit->fits(stage, cuts_.back(), end)) continue;
      cuts_.push_back(end);
      extend();
      cuts_.pop_back();
    }
  }
  void judge() {
    std::int64_t bottleneck = 0;
    std::int64_t traffic = 0;
    for (std::size_t s = 0; s + 1 < cuts_.size(); ++s) {
      const auto first = static_cast<std::size_t>(cuts_[s]);
      const auto end = static_cast<std::size_t>(cuts_[s + 1]);
      const auto& prefix = problem_.prefix(static_cast<int>(s));
      bottleneck = std::max(bottleneck, prefix[end] - prefix[first]);
      if (s + 2 < cuts_.size()) traffic += (*problem_.boundary_bytes)[end - 1];
    }
    std::tuple found{bottleneck, traffic, cuts_};
    if (!best_ || found < *best_) best_ = std::move(found);
  }

  const PartitionProblem& problem_;
  std::vector<int> cuts_;
  std::optional<std::tuple<std::int64_t, std::int64_t, std::vector<int>>> best_;
};

// All three ways on every number of stages.
void compare(const std::vector<std::int64_t>& times, const std::vector<std::int64_t>& boundary,
             const StageLimit* limit) {
  const auto prefix = prefix_of(times);
  const int sections = static_cast<int>(times.size());
  for (int stages = 1; stages <= sections; ++stages) {
    const PartitionProblem problem{stages, &prefix, &boundary, limit};
    const auto expected = Enumerated(problem).best();
    CAPTURE(stages);
    REQUIRE(partition_by_table(problem) == expected);
    REQUIRE(partition(problem) == expected);
  }
}

TEST_CASE("a long last section: a bottleneck of 10, not the 12 of equal numbers of sections") {
  const auto prefix = prefix_of({2, 2, 2, 2, 2, 8});
  const std::vector<std::int64_t> boundary(6, 1);
  // 8 | 10 and 10 | 8 are equally good: the earlier cut.
  CHECK(partition({2, &prefix, &boundary, nullptr}) == Partition{{0, 4, 6}, 10});
  const std::vector<std::int64_t> narrow_later{9, 9, 9, 9, 1, 9};
  CHECK(partition({2, &prefix, &narrow_later, nullptr}) == Partition{{0, 5, 6}, 10});
}

TEST_CASE("as many stages as sections: one each; more stages than sections: nothing") {
  const auto prefix = prefix_of({3, 1, 2});
  const std::vector<std::int64_t> boundary(3, 1);
  CHECK(partition({3, &prefix, &boundary, nullptr}) == Partition{{0, 1, 2, 3}, 3});
  CHECK(partition({4, &prefix, &boundary, nullptr}) == std::nullopt);
  CHECK(partition_by_table({4, &prefix, &boundary, nullptr}) == std::nullopt);
}

TEST_CASE("equal bottlenecks are told apart by traffic, then by the earliest cuts") {
  const auto prefix = prefix_of({4, 1, 1, 4});
  const std::vector<std::int64_t> wide_middle{2, 1, 5, 9};
  CHECK(partition({2, &prefix, &wide_middle, nullptr}) == Partition{{0, 2, 4}, 5});
  const auto three = prefix_of({4, 1, 1, 1, 4});
  const std::vector<std::int64_t> same(5, 1);  // 4 | 3 | 4 of bottleneck 4, or 5 and more
  CHECK(partition({3, &three, &same, nullptr}) == Partition{{0, 1, 4, 5}, 4});
  const auto free = prefix_of({0, 0, 6, 0, 0});
  CHECK(partition({3, &free, &same, nullptr}) == Partition{{0, 1, 2, 5}, 6});
}

TEST_CASE("random chains without a limit are cut as enumeration cuts them") {
  Random random(1);
  for (int i = 0; i < testing::draws(150); ++i) {
    const int sections = random.between(1, 9);
    const auto times = random_values(random, sections, random.between(1, 12));
    compare(times, std::vector<std::int64_t>(times.size(), 7), nullptr);
    compare(times, random_values(random, sections, 4), nullptr);
  }
}

TEST_CASE("random chains under monotone limits are cut as enumeration cuts them") {
  Random random(2);
  int impossible = 0;
  for (int i = 0; i < testing::draws(300); ++i) {
    const int sections = random.between(1, 9);
    const auto times = random_values(random, sections, random.between(1, 12));
    auto most = random_values(random, sections, 12);
    for (auto& m : most) m += random.between(0, 10);
    const WeightLimit limit(random_values(random, sections, 6), most);
    if (!limit.every_section_fits(1)) ++impossible;
    compare(times, std::vector<std::int64_t>(times.size(), 7), &limit);
    compare(times, random_values(random, sections, 4), &limit);
  }
  CHECK(impossible > testing::least(30));
  CHECK(impossible < 270);
}

TEST_CASE("random chains under any limit are cut as enumeration cuts them") {
  Random random(3);
  for (int i = 0; i < testing::draws(150); ++i) {
    const int sections = random.between(1, 8);
    const auto times = random_values(random, sections, random.between(1, 12));
    const AnyLimit limit(random.next() % 1'000'000);
    compare(times, std::vector<std::int64_t>(times.size(), 7), &limit);
    compare(times, random_values(random, sections, 4), &limit);
  }
}

// A stage that is `slower[s]` times as slow as the others.
struct Speeds {
  std::vector<std::vector<std::int64_t>> prefixes;
  PartitionProblem problem;
  Speeds(const std::vector<std::int64_t>& times, const std::vector<int>& slower,
         const std::vector<std::int64_t>& boundary, const StageLimit* limit)
      : problem{static_cast<int>(slower.size()), nullptr, &boundary, limit, {}} {
    for (const int factor : slower) {
      auto& scaled = prefixes.emplace_back(times);
      for (std::int64_t& time : scaled) time *= factor;
      scaled = prefix_of(scaled);
    }
    for (const auto& prefix : prefixes) problem.prefix_of_stage.push_back(&prefix);
    problem.time_prefix = problem.prefix_of_stage.front();
  }
};

TEST_CASE("a stage twice as fast takes twice as many sections") {
  const std::vector<std::int64_t> boundary(9, 1);
  const Speeds speeds(std::vector<std::int64_t>(9, 10), {1, 2}, boundary, nullptr);
  CHECK(partition(speeds.problem) == Partition{{0, 6, 9}, 60});
}

TEST_CASE("a section too long for a slow stage does not leave that stage empty") {
  // 1 | 1 (2 on the slow stage) | 9 1: greedily the fast stage takes both short ones, and the long
  // one, 18, is then the slow stage's.
  const std::vector<std::int64_t> boundary(4, 1);
  const Speeds speeds({1, 1, 9, 1}, {1, 2, 1}, boundary, nullptr);
  CHECK(partition(speeds.problem) == Partition{{0, 1, 2, 4}, 10});
}

TEST_CASE("random chains on stages of different speed are cut as enumeration cuts them") {
  Random random(5);
  for (int i = 0; i < testing::draws(400); ++i) {
    const int sections = random.between(1, 8);
    const int stages = random.between(1, sections);
    const auto times = random_values(random, sections, random.between(1, 12));
    std::vector<int> slower;
    for (int s = 0; s < stages; ++s) slower.push_back(random.between(1, 3));
    auto most = random_values(random, stages, 12);
    for (auto& m : most) m += random.between(0, 10);
    const WeightLimit weights(random_values(random, sections, 6), most);
    const AnyLimit any(random.next() % 1'000'000);
    const auto traffic = random.coin() ? std::vector<std::int64_t>(times.size(), 7)
                                       : random_values(random, sections, 4);
    for (const StageLimit* limit :
         {static_cast<const StageLimit*>(nullptr), static_cast<const StageLimit*>(&weights),
          static_cast<const StageLimit*>(&any)}) {
      const Speeds speeds(times, slower, traffic, limit);
      const auto expected = Enumerated(speeds.problem).best();
      REQUIRE(partition_by_table(speeds.problem) == expected);
      REQUIRE(partition(speeds.problem) == expected);
    }
  }
}

TEST_CASE("long chains: bisection and table agree") {
  Random random(4);
  for (int i = 0; i < 20; ++i) {
    const int sections = random.between(20, 90);
    const auto prefix = prefix_of(random_values(random, sections, 1000));
    const std::vector<std::int64_t> boundary(static_cast<std::size_t>(sections), 7);
    const int stages = random.between(1, sections);
    const WeightLimit limit(
        random_values(random, sections, 10),
        std::vector<std::int64_t>(static_cast<std::size_t>(stages),
                                  10 + 7 * static_cast<std::int64_t>(sections) / stages));
    for (const StageLimit* each :
         {static_cast<const StageLimit*>(nullptr), static_cast<const StageLimit*>(&limit)}) {
      const PartitionProblem problem{stages, &prefix, &boundary, each};
      CHECK(partition(problem) == partition_by_table(problem));
    }
  }
}

}  // namespace
}  // namespace penstock
