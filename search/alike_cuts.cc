// Because layers are alike, memory depends on counts of sections and not on where they lie. Per
// unit (one rank, or the two that share a V's stages) the counts are searched that hold most under
// its limit, depth first with the most of the last stage taken at once; sections are then dealt out
// one at a time to the unit that is least busy with one more. With costs that are alike dealing out
// is optimal: no other counts make the busiest less busy.
//
// Every search over counts ends after most_tried() of them and says so, so that the time is bounded
// and the answer does not depend on a clock.
#include "search/alike_cuts.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "search/run_totals.h"

namespace penstock {
namespace {

// Numbers of sections that are tried for the stages of one rank; with many stages each of them
// takes longer, for peaks of memory that grow with the stages, too.
int most_tried(std::size_t stages) {
  constexpr std::int64_t kMost = 1 << 13, kMany = 1 << 19;
  const auto count = static_cast<std::int64_t>(stages);
  if (count <= 4) return static_cast<int>(kMost);
  return static_cast<int>(1 + kMany / (count * count * count * count));
}

// Ranks that hold the same stages of the model: one rank, or with two copies of the weights two.
struct Unit {
  std::vector<int> stages;  // of one copy, ascending
  std::vector<std::size_t> ranks;
};

std::vector<Unit> units_of(const Plan& plan) {
  std::vector<Unit> units;
  units.reserve(static_cast<std::size_t>(plan.pipeline));
  for (int rank = 0; rank < plan.pipeline; ++rank) {
    std::vector<int> stages = plan.stages_of_rank(rank);
    for (int& stage : stages) stage %= plan.stages_per_copy();
    std::sort(stages.begin(), stages.end());
    stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    // With one copy no two ranks share a stage.
    const auto known = plan.copies() == 1
                           ? units.end()
                           : std::find_if(units.begin(), units.end(),
                                          [&](const Unit& unit) { return unit.stages == stages; });
    if (known == units.end()) {
      units.push_back({std::move(stages), {static_cast<std::size_t>(rank)}});
    } else {
      known->ranks.push_back(static_cast<std::size_t>(rank));
    }
  }
  return units;
}

int sum(const std::vector<int>& counts) { return std::accumulate(counts.begin(), counts.end(), 0); }

// How many sections the stages of one unit may have.
class Room {
 public:
  Room(const StageMemory& memory, const Unit& unit, int stages_per_copy)
      : memory_(memory),
        unit_(unit),
        stages_(stages_per_copy),
        limit_(memory.sections() - stages_per_copy + 1),
        left_(most_tried(unit.stages.size())),
        now_(unit.stages.size(), 0) {
    ranks_.reserve(unit.ranks.size());
    for (const std::size_t rank : unit.ranks) ranks_.emplace_back(memory, rank);
    const auto of_first = memory.stages_of(unit.ranks[0]);
    if (!std::equal(of_first.begin(), of_first.end(), unit.stages.begin(), unit.stages.end()) ||
        unit.ranks.size() > 1) {
      find_places();
    }
  }

  // The counts of the largest sum; empty when not even one section each fits.
  std::vector<int> most() {
    std::vector<int> counts(unit_.stages.size(), 1);
    if (!fits(counts)) return {};
    best_ = counts;
    most_ = limit_ + static_cast<int>(counts.size()) - 1;
    if (unit_.ranks.size() == 1) most_ = std::min(most_, bound());
    fill_one_by_one(counts);
    if (sum(best_) < most_) extend(0, counts);
    return best_;
  }
  // Whether more could fit than most() found: it was not looked through.
  [[nodiscard]] bool may_have_more() const { return left_ <= 0; }

  // So many sections in all, no more than most() has: as even as fits.
  [[nodiscard]] std::vector<int> even(int sections, std::vector<int> most) {
    const int stages = static_cast<int>(most.size());
    std::vector<int> counts(most.size());
    for (int c = 0; c < stages; ++c) {
      counts[static_cast<std::size_t>(c)] = sections / stages + (c < sections % stages ? 1 : 0);
    }
    if (fits(counts)) return counts;
    for (int from = 0; stages == 2 && from < 2; ++from) {  // the even ones first
      std::vector<int> other = counts;
      const auto less = static_cast<std::size_t>(from);
      while (--other[less] > 0) {
        ++other[1 - less];
        if (fits(other)) return other;
      }
    }
    for (int left = sum(most) - sections; left > 0; --left) {
      --*std::max_element(most.begin(), most.end());
    }
    return most;
  }

 private:
  // A stage of the unit as one of the stages of a rank.
  struct Place {
    std::size_t rank = 0, chunk = 0;
  };

  // With two copies a stage lies on two ranks, or twice on one.
  void find_places() {
    places_.resize(unit_.stages.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto stages = memory_.stages_of(unit_.ranks[r]);
      for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) {
        const auto at =
            std::lower_bound(unit_.stages.begin(), unit_.stages.end(), stages[chunk] % stages_);
        places_[static_cast<std::size_t>(at - unit_.stages.begin())].push_back({r, chunk});
      }
    }
  }

  // Where a run of so many sections lies does not matter, but for the first and the last section.
  [[nodiscard]] StageMemory::Run run_of(int stage, int count) const {
    if (stage == 0) return {0, count};
    if (stage + 1 == stages_) return {memory_.sections() - count, memory_.sections()};
    return {1, 1 + count};
  }

  void set(std::size_t stage, int count) {
    if (now_[stage] == count) return;
    now_[stage] = count;
    const StageMemory::Run run = run_of(unit_.stages[stage], count);
    if (places_.empty()) {
      ranks_[0].set(stage, run);
      return;
    }
    for (const Place& place : places_[stage]) ranks_[place.rank].set(place.chunk, run);
  }
  [[nodiscard]] bool fits_now() const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (ranks_[r].total() > memory_.capacity()[static_cast<int>(unit_.ranks[r])]) return false;
    }
    return true;
  }
  // `counts`: sections, as Unit::stages.
  [[nodiscard]] bool fits(const std::vector<int>& counts) {
    for (std::size_t c = 0; c < counts.size(); ++c) set(c, counts[c]);
    return fits_now();
  }

  // No counts have a larger sum.
  [[nodiscard]] int bound() const {
    const int middle = memory_.most_middle_sections(unit_.ranks[0], stages_);
    const int ends =
        (unit_.stages.front() == 0 ? 1 : 0) + (unit_.stages.back() + 1 == stages_ ? 1 : 0);
    return middle + ends;
  }

  // Each stage as full as it gets, in turn, whichever is the first: mostly the one that costs least
  // per section should take all, and then nothing is left to be searched.
  void fill_one_by_one(const std::vector<int>& least) {
    for (std::size_t first = 0; first < least.size(); ++first) {
      std::vector<int> counts = least;
      for (std::size_t c = 0; c < least.size(); ++c) {
        fill((first + c) % least.size(), counts);
      }
      keep(counts);
      if (sum(best_) == most_) return;
    }
  }

  // The most sections of one stage that fit beside those of the others; one does. Mostly they leave
  // nothing.
  void fill(std::size_t stage, std::vector<int>& counts) {
    const int others = sum(counts) - counts[stage];
    int low = 1, beyond = std::max(low, std::min(limit_, most_ - others)) + 1;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (c != stage) set(c, counts[c]);
    }
    for (int next = low + 1; low + 1 < beyond; next = low + (beyond - low) / 2) {
      set(stage, next);
      (fits_now() ? low : beyond) = next;
    }
    counts[stage] = low;
  }

  // All counts of the stages from this one on but the last, with the most of the last.
  void extend(std::size_t stage, std::vector<int>& counts) {
    if (stage + 1 == counts.size()) {
      --left_;
      fill(stage, counts);
      keep(counts);
      return;
    }
    for (counts[stage] = 1; counts[stage] <= limit_ && sum(best_) < most_ && left_ > 0;
         ++counts[stage]) {
      std::fill(counts.begin() + static_cast<std::ptrdiff_t>(stage) + 1, counts.end(), 1);
      if (!fits(counts)) return;
      extend(stage + 1, counts);
    }
  }

  void keep(const std::vector<int>& counts) {
    if (sum(counts) > sum(best_)) best_ = counts;
  }

  const StageMemory& memory_;
  const Unit& unit_;
  int stages_;    // of one copy
  int limit_;     // of one stage: every other stage has a section, too
  int most_ = 0;  // no counts have a larger sum
  int left_;      // numbers that may be tried
  std::vector<int> best_;
  std::vector<RunTotals> ranks_;            // of the unit
  std::vector<std::vector<Place>> places_;  // of its stages; none: in order on one rank
  std::vector<int> now_;                    // sections of its stages, as the ranks have them
};

// What the ranks of a unit do with so many sections: the busiest of them.
class UnitWork {
 public:
  UnitWork(const RankSums& sums, const Plan& plan, const Unit& unit, BackwardKind backward) {
    for (const std::size_t rank : unit.ranks) {
      const std::vector<std::int64_t>& work = sums[static_cast<int>(rank)].work_of(backward);
      const auto sections = static_cast<int>(work.size()) - 1;
      Line line;
      if (sections > 2) line.middle = (work[work.size() - 2] - work[1]) / (sections - 2);
      const auto add = [&](std::int64_t end) { line.ends += end - line.middle; };
      if (unit.stages.front() == 0) add(work[1]);
      if (unit.stages.back() + 1 == plan.stages_per_copy())
        add(work.back() - work[work.size() - 2]);
      ranks_.push_back(line);
    }
  }
  [[nodiscard]] std::int64_t of(int sections) const {
    std::int64_t busiest = 0;
    for (const Line& rank : ranks_) busiest = std::max(busiest, rank.ends + rank.middle * sections);
    return busiest;
  }

 private:
  struct Line {
    std::int64_t ends = 0;    // what the first and the last section do more than the others
    std::int64_t middle = 0;  // a section, on average
  };
  std::vector<Line> ranks_;
};

// Shares the sections out, one at a time to the unit that is least busy with it; no unit gets more
// than its limit. None could be less busy than the busiest of them then is.
std::vector<int> shared_out(const std::vector<UnitWork>& work, const std::vector<int>& least,
                            const std::vector<int>& most, int sections) {
  std::vector<int> shares = least;
  using Next = std::pair<std::int64_t, std::size_t>;  // work with one more, unit
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  const auto offer = [&](std::size_t unit) {
    if (shares[unit] < most[unit]) next.emplace(work[unit].of(shares[unit] + 1), unit);
  };
  for (std::size_t unit = 0; unit < shares.size(); ++unit) offer(unit);
  for (int left = sections - sum(shares); left > 0; --left) {
    const std::size_t unit = next.top().second;
    next.pop();
    ++shares[unit];
    offer(unit);
  }
  return shares;
}

}  // namespace

bool are_alike(const RankSums& sums, const StageMemory& memory, const Plan& plan) {
  if (!memory.is_monotone()) return false;
  if (sums.is_one_for_all()) return sums[0].has_alike_layers;
  for (int rank = 0; rank < plan.pipeline; ++rank) {
    if (!sums[rank].has_alike_layers) return false;
  }
  return true;
}

FittingCuts alike_cuts(const RankSums& sums, const StageMemory& memory, const Plan& plan,
                       BackwardKind backward) {
  const std::vector<Unit> units = units_of(plan);
  std::vector<Room> rooms;
  std::vector<UnitWork> work;
  std::vector<std::vector<int>> most;
  std::vector<int> least_shares, most_shares;
  rooms.reserve(units.size());
  work.reserve(units.size());
  most.reserve(units.size());
  bool all_tried = true;
  for (const Unit& unit : units) {
    rooms.emplace_back(memory, unit, plan.stages_per_copy());
    most.push_back(rooms.back().most());
    if (most.back().empty()) return {};
    all_tried = all_tried && !rooms.back().may_have_more();
    least_shares.push_back(static_cast<int>(unit.stages.size()));
    most_shares.push_back(sum(most.back()));
    work.emplace_back(sums, plan, unit, backward);
  }
  if (sum(most_shares) < memory.sections()) return {std::nullopt, all_tried};
  const std::vector<int> shares = shared_out(work, least_shares, most_shares, memory.sections());
  std::vector<int> cuts(static_cast<std::size_t>(plan.stages_per_copy()) + 1);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const std::vector<int> counts = rooms[u].even(shares[u], std::move(most[u]));
    for (std::size_t c = 0; c < counts.size(); ++c) {
      cuts[static_cast<std::size_t>(units[u].stages[c]) + 1] = counts[c];
    }
  }
  std::partial_sum(cuts.begin(), cuts.end(), cuts.begin());
  return {std::move(cuts)};
}

}  // namespace penstock
