#include "spilling/best_shards.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "tests/watched.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

// F = 0.2 s, B = 0.6 s with the repeated forward, so 0.4 s without; a load 1/3 s.
std::vector<ShardTime> equal(int shards, Duration store = {}) {
  const ShardTime each{milliseconds(200), milliseconds(400), Duration{333'333'333}, store};
  std::vector<ShardTime> all(static_cast<std::size_t>(shards), each);
  all.back().backward = milliseconds(600);  // the fused unit takes 0.8 s in the example
  return all;
}

struct Model {
  std::vector<int> forward, load, size;

  [[nodiscard]] ShardTime time(int first, int end) const {
    const auto sum = [&](const std::vector<int>& of) {
      int total = 0;
      for (int i = first; i < end; ++i) total += of[static_cast<std::size_t>(i)];
      return total;
    };
    const Duration f{sum(forward)}, l{sum(load)};
    return {f, 2 * f, l, l / 2};
  }
  [[nodiscard]] bool fits(int first, int end, int room) const {
    int total = 0;
    for (int i = first; i < end; ++i) total += size[static_cast<std::size_t>(i)];
    return total <= room;
  }
};

Model random_model(std::mt19937& random, int sections) {
  Model model;
  for (int i = 0; i < sections; ++i) {
    model.forward.push_back(1 + static_cast<int>(random() % 20));
    model.load.push_back(1 + static_cast<int>(random() % 60));
    model.size.push_back(1 + static_cast<int>(random() % 9));
  }
  return model;
}

Duration form_of(const Model& model, const ShardCuts& cuts) {
  std::vector<ShardTime> times;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s)
    times.push_back(model.time(cuts[s], cuts[s + 1]));
  return closed_form(times);
}

// The least closed form over all cuts, by trying every one.
void try_all(const Model& model, int room, int shards, ShardCuts& cuts, Duration& least) {
  const int sections = static_cast<int>(model.forward.size());
  const int first = cuts.back();
  if (static_cast<int>(cuts.size()) == shards + 1) {
    if (first == sections) least = std::min(least, form_of(model, cuts));
    return;
  }
  for (int end = first + 1; end <= sections; ++end) {
    if (!model.fits(first, end, room)) continue;
    cuts.push_back(end);
    try_all(model, room, shards, cuts, least);
    cuts.pop_back();
  }
}

}  // namespace

// Section 5 of the specification: S = 4: 0.2 + 2 x 1/3 + 0.8 + 3 x 0.6; S = 3: 0.2 + 1/3 + 0.8 +
// 2 x 0.6.
TEST_CASE("the closed form of double buffering") {
  CHECK(closed_form(equal(4)) == Duration{3'466'666'666});
  CHECK(closed_form(equal(3)) == Duration{2'533'333'333});
  CHECK(closed_form(equal(2)) == milliseconds(1600));
  CHECK(closed_form({equal(1)}) == milliseconds(800));
  // The last copy back is seen; where shards are updated on the host, so are the last two loads:
  // behind B(1), max(max(0.6, 0.1) + 0.1, 0.1 + 1/3) + 1/3.
  CHECK(closed_form(equal(4, milliseconds(100))) == Duration{3'566'666'666});
  CHECK(closed_form(equal(4, milliseconds(100)), true) == Duration{3'899'999'999});
}

TEST_CASE("the dynamic program finds the shortest closed form of all cuts") {
  std::mt19937 random(3);
  int found = 0;
  for (int i = 0; i < testing::draws(60); ++i) {
    const int sections = 3 + static_cast<int>(random() % 7);
    const Model model = random_model(random, sections);
    const int room = 10 + static_cast<int>(random() % 15);
    const FitsShard fits = [&](int first, int end) { return model.fits(first, end, room); };
    const TimeOfShard time = [&](int first, int end) { return model.time(first, end); };
    for (int shards = 1; shards <= sections; ++shards) {
      CAPTURE(i);
      CAPTURE(shards);
      const ShardCuts cuts = best_shards(sections, shards, fits, time);
      Duration least = Duration::max();
      ShardCuts partial = {0};
      try_all(model, room, shards, partial, least);
      REQUIRE(cuts.empty() == (least == Duration::max()));
      if (cuts.empty()) continue;
      ++found;
      CHECK(static_cast<int>(cuts.size()) == shards + 1);
      for (std::size_t s = 0; s + 1 < cuts.size(); ++s) CHECK(fits(cuts[s], cuts[s + 1]));
      CHECK(form_of(model, cuts) == least);
    }
  }
  CHECK(found > testing::least(150));
}

// A greedy prefix puts 4 + 4 + 1: the load of four hides behind nothing. 3 + 3 + 3 is better.
TEST_CASE("balance is worth more than a full first shard") {
  const TimeOfShard time = [](int first, int end) {
    const int sections = end - first;
    return ShardTime{Duration{sections}, Duration{2 * sections}, Duration{5 * sections}, {}};
  };
  const FitsShard fits = [](int first, int end) { return end - first <= 4; };
  const ShardCuts cuts = best_shards(9, 3, fits, time);
  std::vector<ShardTime> best, greedy;
  for (int s = 0; s < 3; ++s) {
    best.push_back(time(cuts[static_cast<std::size_t>(s)], cuts[static_cast<std::size_t>(s) + 1]));
  }
  greedy = {time(0, 4), time(4, 8), time(8, 9)};
  CHECK(closed_form(best) <= closed_form(greedy));
}

}  // namespace penstock
