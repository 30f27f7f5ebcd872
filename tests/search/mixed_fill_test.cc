#include "search/mixed_fill.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "search/whole_sections.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

// F and B of every section.
using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;

SectionSums sums_of_times(const Times& sections) {
  SectionSums sums;
  sums.forward = sums.work = {0};
  sums.working_peak.assign(sections.size(), 0);
  for (const auto& [forward, backward] : sections) {
    sums.forward.push_back(sums.forward.back() + forward);
    sums.work.push_back(sums.work.back() + forward + backward);
  }
  return sums;
}

// Four sections of F = 1,000 and B = 2,000, and twice that on the second type. Ten micro-batches on
// one rank of each: the first type needs 120,000 for all, and the second rank does half as much and
// waits for a section of the first, 1,000 before and 2,000 after its work. (120,000 + 0.5 * 3,000)
// / 1.5 = 81,000, and with the wait before alone 80,333; less the margin of rounding.
TEST_CASE("ranks on two types do the mean of the work besides what they wait") {
  const SectionSums fast = sums_of_times(Times(4, {1000, 2000})),
                    slow = sums_of_times(Times(4, {2000, 4000}));
  const MixedFill fill({&fast, &slow}, BackwardKind::kFused);
  CHECK(fill.least({{0, 1}, {1, 1}}, 10, true) == 80'999);
  CHECK(fill.least({{0, 1}, {1, 1}}, 10, false) == 80'333);
}

TEST_CASE("a type that takes no time at all bounds nothing") {
  const SectionSums one = sums_of_times(Times(2, {10, 20})), none = sums_of_times(Times(2, {0, 0}));
  CHECK(MixedFill({&one, &none}, BackwardKind::kFused).least({{0, 1}, {1, 1}}, 4, true) == 0);
}

// Sections of 3,000 and ten micro-batches. Of four on three ranks some rank has two, at best the
// first, which waits for nothing: 60,000. On four ranks each has one, the last behind three
// forwards: 33,000. One section of a hundredth beside the four changes nothing.
TEST_CASE("no section is divided") {
  const SectionSums four = sums_of_times(Times(4, {1000, 2000}));
  const WholeSections alike({&four}, BackwardKind::kFused);
  CHECK(alike.least({{0, 3}}, 10, {0, 1000, 2000}, 40'000) == 60'000);
  CHECK(alike.least({{0, 3}}, 10, {0, 1000, 2000}, 70'000) == 70'000);
  CHECK(alike.least({{0, 4}}, 10, {0, 1000, 2000, 3000}, 30'000) == 33'000);
  const SectionSums five =
      sums_of_times({{10, 20}, {1000, 2000}, {1000, 2000}, {1000, 2000}, {1000, 2000}});
  CHECK(WholeSections({&five}, BackwardKind::kFused).least({{0, 3}}, 10, {0, 10, 1010}, 40'000) ==
        60'000);
}

struct Question {
  std::vector<SectionSums> types;
  std::vector<RankRun> runs;
  std::vector<std::size_t> type_of_rank;
  int sections = 0;
  std::int64_t micro_batches = 1;
};

Question random_question(Random& random) {
  Question question;
  question.sections = random.between(3, 7);
  question.micro_batches = random.between(1, 12);
  const int types = random.between(1, 3);
  for (int t = 0; t < types; ++t) {
    Times times;
    for (int i = 0; i < question.sections; ++i) {
      times.emplace_back(random.between(1, 900), random.between(0, 900));
    }
    question.types.push_back(sums_of_times(times));
    const int left = question.sections - static_cast<int>(question.type_of_rank.size());
    question.runs.push_back({t, random.between(1, std::max(1, left - (types - t - 1)))});
    for (int r = 0; r < question.runs.back().ranks; ++r) {
      question.type_of_rank.push_back(static_cast<std::size_t>(t));
    }
  }
  return question;
}

// The longest of the ranks under these cuts: the way of the first micro-batch to it, its work, and
// the way of the last one back.
std::int64_t longest(const Question& question, const std::vector<int>& cuts, bool and_drain) {
  std::int64_t longest = 0, waits = 0;
  for (std::size_t r = 0; r < question.type_of_rank.size(); ++r) {
    const SectionSums& sums = question.types[question.type_of_rank[r]];
    const auto part = [&](const std::vector<std::int64_t>& prefix) {
      return prefix[static_cast<std::size_t>(cuts[r + 1])] -
             prefix[static_cast<std::size_t>(cuts[r])];
    };
    longest = std::max(longest, waits + question.micro_batches * part(sums.work));
    waits += and_drain ? part(sums.work) : part(sums.forward);
  }
  return longest;
}

std::int64_t least_of_all_cuts(const Question& question, bool and_drain) {
  const std::size_t ranks = question.type_of_rank.size();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<int> cuts{0};
  const std::function<void()> extend = [&] {
    if (cuts.size() == ranks) {
      cuts.push_back(question.sections);
      least = std::min(least, longest(question, cuts, and_drain));
      cuts.pop_back();
      return;
    }
    const int left = static_cast<int>(ranks - cuts.size());
    for (int next = cuts.back() + 1; next + left <= question.sections; ++next) {
      cuts.push_back(next);
      extend();
      cuts.pop_back();
    }
  };
  extend();
  return least;
}

TEST_CASE("no cuts of random sections on several types are faster") {
  Random random(20261123);
  int close = 0, closer = 0, equal = 0;
  for (int i = 0; i < testing::draws(2000); ++i) {
    const Question question = random_question(random);
    std::vector<const SectionSums*> types;
    for (const SectionSums& type : question.types) types.push_back(&type);
    const MixedFill fill(types, BackwardKind::kFused);
    const WholeSections sections(types, BackwardKind::kFused);
    CAPTURE(i);
    for (const bool and_drain : {false, true}) {
      const std::int64_t bound = fill.least(question.runs, question.micro_batches, and_drain);
      const std::int64_t least = least_of_all_cuts(question, and_drain);
      REQUIRE(bound <= least);
      const std::int64_t whole =
          sections.least(question.runs, question.micro_batches, fill.waits(and_drain), bound);
      REQUIRE(bound <= whole);
      REQUIRE(whole <= least);
      closer += whole > bound ? 1 : 0;
      equal += whole == least ? 1 : 0;
      close += bound * 10 > least * 9 ? 1 : 0;
    }
  }
  CHECK(close > testing::least(100));
  CHECK(closer > testing::least(100));
  CHECK(equal > testing::least(100));
}

}  // namespace
}  // namespace penstock
