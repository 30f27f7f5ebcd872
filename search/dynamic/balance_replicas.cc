// Karmarkar-Karp on several bins: every micro-batch begins as a division of its own, and of all
// divisions the two whose sums differ most are merged, the largest sum of one with the smallest of
// the other. What is left is one division of everything. Differences of equal size are taken by the
// age of the division. It may end beside the optimum (8, 7, 6, 5, 4 on two: 16 and 14 instead of 15
// and 15), and moves and swaps find most of what it leaves.
#include "search/dynamic/balance_replicas.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>

namespace penstock {
namespace {

struct Bin {
  double sum = 0.0;
  std::vector<int> items;
};
// Descending sums.
using Division = std::vector<Bin>;

double spread_of(const Division& division) { return division.front().sum - division.back().sum; }

void sort_bins(Division& division) {
  std::stable_sort(division.begin(), division.end(),
                   [](const Bin& a, const Bin& b) { return a.sum > b.sum; });
}

Division merged(Division into, const Division& other) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    const Bin& from = other[other.size() - 1 - i];
    into[i].sum += from.sum;
    into[i].items.insert(into[i].items.end(), from.items.begin(), from.items.end());
  }
  sort_bins(into);
  return into;
}

// Those that differ most come first, of equal ones the oldest.
struct Widest {
  double spread = 0.0;
  std::size_t age = 0;
  bool operator<(const Widest& other) const {
    return spread != other.spread ? spread < other.spread : age > other.age;
  }
};

Division divide(const std::vector<double>& times, int replicas) {
  std::vector<Division> divisions;
  std::priority_queue<Widest> widest;
  divisions.reserve(2 * times.size());
  const auto add = [&](Division division) {
    widest.push({spread_of(division), divisions.size()});
    divisions.push_back(std::move(division));
  };
  const auto take = [&] {
    const std::size_t age = widest.top().age;
    widest.pop();
    return std::move(divisions[age]);
  };
  for (std::size_t i = 0; i < times.size(); ++i) {
    Division alone(static_cast<std::size_t>(replicas));
    alone.front() = {times[i], {static_cast<int>(i)}};
    add(std::move(alone));
  }
  while (widest.size() > 1) {
    Division first = take();
    const Division second = take();
    add(merged(std::move(first), second));
  }
  return widest.empty() ? Division(static_cast<std::size_t>(replicas)) : take();
}

// A micro-batch of the fullest bin that goes to another one, for another one or for nothing.
struct Exchange {
  std::size_t from_item = 0, to_bin = 0;
  std::optional<std::size_t> to_item;
};

class Exchanges {
 public:
  Exchanges(const std::vector<double>& times, Division& division)
      : times_(times), division_(division) {}

  // Makes the exchange after which the larger of both sums is least, if that is less than before.
  bool improve() {
    sort_bins(division_);
    const Bin& full = division_.front();
    double least = full.sum;
    std::optional<Exchange> best;
    for (std::size_t bin = 1; bin < division_.size(); ++bin) {
      for (std::size_t i = 0; i < full.items.size(); ++i) {
        const auto consider = [&](std::optional<std::size_t> other) {
          const double given = time(full.items[i]);
          const double taken = other ? time(division_[bin].items[*other]) : 0.0;
          const double larger =
              std::max(full.sum - given + taken, division_[bin].sum + given - taken);
          if (larger >= least) return;
          least = larger;
          best = Exchange{i, bin, other};
        };
        if (full.items.size() > 1) consider({});
        for (std::size_t j = 0; j < division_[bin].items.size(); ++j) consider(j);
      }
    }
    if (best) make(*best);
    return best.has_value();
  }

 private:
  [[nodiscard]] double time(int item) const { return times_[static_cast<std::size_t>(item)]; }

  void make(const Exchange& exchange) {
    Bin& from = division_.front();
    Bin& to = division_[exchange.to_bin];
    if (exchange.to_item) {
      std::swap(from.items[exchange.from_item], to.items[*exchange.to_item]);
    } else {
      to.items.push_back(from.items[exchange.from_item]);
      from.items.erase(from.items.begin() + static_cast<std::ptrdiff_t>(exchange.from_item));
    }
    add_up(from);
    add_up(to);
  }
  void add_up(Bin& bin) const {
    std::sort(bin.items.begin(), bin.items.end());
    bin.sum = 0.0;
    for (const int item : bin.items) bin.sum += time(item);
  }

  const std::vector<double>& times_;
  Division& division_;
};

// Micro-batches that take no time may leave a bin without any.
void fill_empty(Division& division) {
  for (Bin& empty : division) {
    if (!empty.items.empty()) continue;
    Bin& most = *std::max_element(division.begin(), division.end(), [](const Bin& a, const Bin& b) {
      return a.items.size() < b.items.size();
    });
    if (most.items.size() < 2) return;
    empty.items.push_back(most.items.back());
    most.items.pop_back();
  }
}

// Replicas by their first micro-batch.
std::vector<std::vector<int>> lists_of(Division division) {
  std::vector<std::vector<int>> lists;
  for (Bin& bin : division) {
    std::sort(bin.items.begin(), bin.items.end());
    lists.push_back(std::move(bin.items));
  }
  std::sort(lists.begin(), lists.end(), [](const std::vector<int>& a, const std::vector<int>& b) {
    const int none = std::numeric_limits<int>::max();
    return (a.empty() ? none : a.front()) < (b.empty() ? none : b.front());
  });
  return lists;
}

}  // namespace

std::vector<std::vector<int>> differencing(const std::vector<double>& times, int replicas) {
  Division division = divide(times, replicas);
  fill_empty(division);
  return lists_of(std::move(division));
}

std::vector<std::vector<int>> balance_replicas(const std::vector<double>& times, int replicas) {
  if (replicas == 1) {
    std::vector<int> all(times.size());
    std::iota(all.begin(), all.end(), 0);
    return {std::move(all)};
  }
  Division division = divide(times, replicas);
  fill_empty(division);
  Exchanges exchanges(times, division);
  // Every exchange lowers the largest sum or the number of bins that have it; rounding of sums
  // could pretend so forever.
  for (std::size_t left = 16 * times.size(); left > 0 && exchanges.improve(); --left) {
  }
  return lists_of(std::move(division));
}

}  // namespace penstock
