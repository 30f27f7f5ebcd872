// Bisection on the bound. C are the distinct times, ascending; f(T) is the least sum over
// partitions whose ranges take at most T each, by dynamic programming from the last sample.
//
// Why it is exact: a partition whose longest range takes T costs at least (c - 1) T / K + f(T) / R,
// and the one that is found for T costs at most that. f does not rise with T, so every candidate x
// in [lo, hi) has f(C[x]) >= f(hi) and C[x] >= C[lo]: where (c - 1) C[lo] / K + f(hi) / R is no
// less than the best so far, none of them is better. Between T and T', the longest that the
// partition for T really has, f is constant and T' is better: the search goes on at T'. That times
// grow with a range is used nowhere.
//
// Why the answer depends on the ranges only, not on the way to it: with T' given, the sums of the
// partition that is best within T' are the same within every T up to the one that it was found for,
// and at each sample the shortest range that attains the sum is taken. A range that is left out
// changes nothing unless it is taken.
#include "search/dynamic/split_exactly.h"

#include <algorithm>
#include <array>
#include <optional>

namespace penstock {
namespace {

// The longest prefix of every row within a bound, where rows rise; the search for the best range
// then needs no comparison with the bound.
class Rows {
 public:
  explicit Rows(const RangeTimes& times) : times_(times), within_(times.begin.size() - 1) {
    rises_.reserve(within_.size());
    for (std::size_t row = 0; row < within_.size(); ++row) {
      rises_.push_back(std::is_sorted(at(row), at(row + 1)));
    }
  }
  void set_bound(double bound) {
    for (std::size_t row = 0; row < within_.size(); ++row) {
      within_[row] = times_.begin[row + 1] - times_.begin[row];
      if (!rises_[row]) continue;
      within_[row] =
          static_cast<std::size_t>(std::upper_bound(at(row), at(row + 1), bound) - at(row));
    }
  }
  [[nodiscard]] std::size_t within(std::size_t row) const { return within_[row]; }
  [[nodiscard]] bool rises(std::size_t row) const { return rises_[row]; }

 private:
  [[nodiscard]] std::vector<double>::const_iterator at(std::size_t row) const {
    return times_.time.begin() + static_cast<std::ptrdiff_t>(times_.begin[row]);
  }
  const RangeTimes& times_;
  std::vector<std::size_t> within_;
  std::vector<bool> rises_;
};

// The least of time[k] + rest[k]; several sums at once, since each minimum waits for the one
// before. Minima do not depend on the order.
double least_sum(const double* time, const double* rest, std::size_t count) {
  constexpr std::size_t kAtOnce = 8;
  std::array<double, kAtOnce> least;
  least.fill(kInfeasible);
  std::size_t k = 0;
  for (; k + kAtOnce <= count; k += kAtOnce) {
    for (std::size_t lane = 0; lane < kAtOnce; ++lane) {
      const double sum = time[k + lane] + rest[k + lane];
      least[lane] = sum < least[lane] ? sum : least[lane];
    }
  }
  double result = kInfeasible;
  for (; k < count; ++k) result = std::min(result, time[k] + rest[k]);
  for (const double one : least) result = std::min(result, one);
  return result;
}

double least_sum_within(const double* time, const double* rest, std::size_t count, double bound) {
  double result = kInfeasible;
  for (std::size_t k = 0; k < count; ++k) {
    if (time[k] <= bound) result = std::min(result, time[k] + rest[k]);
  }
  return result;
}

class Bisection {
 public:
  Bisection(const RangeTimes& times, const SplitWeights& weights)
      : times_(times), weights_(weights), rows_(times), rest_(times.samples() + 1) {
    collect();
  }

  Split run(double guess) {
    const std::size_t samples = times_.samples();
    if (samples == 0) return {{}, 0.0, 0.0, 0.0, 0, 0};
    const auto all = distinct_.empty() ? std::nullopt : evaluate(distinct_.size() - 1);
    if (!all) {
      best_.fits_nowhere = first_that_fits_nowhere();
      return std::move(best_);
    }
    struct Open {
      std::size_t lo, hi;
      double sum_at_hi;
    };
    std::vector<Open> open{{0, all->longest_at, all->sum}};
    while (!open.empty()) {
      const Open part = open.back();
      open.pop_back();
      if (part.lo >= part.hi) continue;
      const double least = weights_.objective(distinct_[part.lo], part.sum_at_hi);
      const bool may_be_longer = distinct_[part.hi - 1] > best_.longest;
      if (may_be_longer ? least > best_.objective : least >= best_.objective) continue;
      std::size_t mid = (part.lo + part.hi - 1) / 2;
      if (guess > 0.0) {
        const auto at = std::lower_bound(distinct_.begin(), distinct_.end(), guess);
        const auto guessed = static_cast<std::size_t>(at - distinct_.begin());
        if (guessed >= part.lo && guessed < part.hi) mid = guessed;
        guess = 0.0;
      }
      const auto found = evaluate(mid);
      open.push_back({mid + 1, part.hi, part.sum_at_hi});
      if (found) open.push_back({part.lo, found->longest_at, found->sum});
    }
    return std::move(best_);
  }

 private:
  struct Evaluated {
    double sum = 0.0;
    std::size_t longest_at = 0;  // of distinct_
  };

  // Of every row, as far as its first sample has others behind it.
  void collect() {
    std::vector<bool> seen(times_.begin.size() - 1, false);
    for (std::size_t i = 0; i < times_.samples(); ++i) {
      if (seen[times_.row_of[i]]) continue;
      seen[times_.row_of[i]] = true;
      for (const double time : times_.from(i)) {
        if (time < kInfeasible) distinct_.push_back(time);
      }
    }
    std::sort(distinct_.begin(), distinct_.end());
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  }

  // The least sum within C[x], and the best that is known; nothing where no partition is.
  std::optional<Evaluated> evaluate(std::size_t x) {
    ++best_.evaluations;
    const double bound = distinct_[x];
    rows_.set_bound(bound);
    const std::size_t samples = times_.samples();
    rest_[samples] = 0.0;
    for (std::size_t i = samples; i-- > 0;) {
      const std::span<const double> row = times_.from(i);
      const std::uint32_t id = times_.row_of[i];
      const std::size_t count = std::min(row.size(), rows_.within(id));
      rest_[i] = rows_.rises(id) ? least_sum(row.data(), rest_.data() + i + 1, count)
                                 : least_sum_within(row.data(), rest_.data() + i + 1, count, bound);
    }
    if (rest_[0] == kInfeasible) return std::nullopt;
    return offer(bound);
  }

  // Follows the sums from the first sample on; of equal ones the shortest range.
  Evaluated offer(double bound) {
    ends_.clear();
    double longest = 0.0;
    for (std::size_t i = 0; i < times_.samples();) {
      const std::span<const double> row = times_.from(i);
      std::size_t k = 0;
      while (!(row[k] <= bound) || row[k] + rest_[i + k + 1] != rest_[i]) ++k;
      longest = std::max(longest, row[k]);
      ends_.push_back(i += k + 1);
    }
    const double objective = weights_.objective(longest, rest_[0]);
    if (objective < best_.objective || (objective == best_.objective && longest > best_.longest)) {
      best_.objective = objective;
      best_.longest = longest;
      best_.sum = rest_[0];
      best_.ends = ends_;
    }
    const auto at = std::lower_bound(distinct_.begin(), distinct_.end(), longest);
    return {rest_[0], static_cast<std::size_t>(at - distinct_.begin())};
  }

  // The first sample that no feasible range covers.
  [[nodiscard]] std::size_t first_that_fits_nowhere() const {
    std::size_t covered = 0;
    for (std::size_t i = 0; i < times_.samples(); ++i) {
      const std::span<const double> row = times_.from(i);
      for (std::size_t k = row.size(); k > 0 && i + k > covered; --k) {
        if (row[k - 1] < kInfeasible) covered = i + k;
      }
      if (covered <= i) return i;
    }
    return 0;  // all are covered, but not by ranges that meet: bytes fall with samples
  }

  const RangeTimes& times_;
  const SplitWeights& weights_;
  Rows rows_;
  std::vector<double> distinct_;  // C
  std::vector<double> rest_;      // [i]: the least sum of samples i and behind
  std::vector<std::size_t> ends_;
  Split best_;
};

}  // namespace

Split split_exactly(const RangeTimes& times, const SplitWeights& weights, double guess) {
  return Bisection(times, weights).run(guess);
}

}  // namespace penstock
