// Micro-batches of one shape are interchangeable, so orders are searched as sequences of shapes and
// micro-batches are put to them afterwards, those of one shape in their own order. The local search
// takes a swap or an insert when the replay is no longer, so that it crosses plateaus, and keeps
// the best that it has seen. Its random numbers are its own (splitmix64), so that a seed means the
// same everywhere.
#include "search/dynamic/order_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace penstock {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // 0 .. count - 1; the bias of the remainder is below 2^-40.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

 private:
  std::uint64_t next() {
    state_ += 0x9E37'79B9'7F4A'7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_;
};

// Within the limit before beyond it; there the one that needs less.
bool is_better(const OrderScore& a, const OrderScore& b, std::int64_t limit) {
  const bool a_fits = a.need <= limit, b_fits = b.need <= limit;
  if (a_fits != b_fits) return a_fits;
  if (!a_fits && a.need != b.need) return a.need < b.need;
  return a.end_ns < b.end_ns;
}

// What ends later than this is no better than `known`: the replay may stop there.
std::int64_t latest_of_use(const OrderScore& known, std::int64_t limit) {
  return known.need <= limit ? known.end_ns : kWhenever;
}

// Keeps the best of the orders that it is shown.
class Best {
 public:
  Best(const OrderQuestion& question, const OrderReplay& replay)
      : question_(question), replay_(replay), shapes_(question.shapes.size()) {}

  void consider(const std::vector<int>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      shapes_[i] = question_.shapes[static_cast<std::size_t>(order[i])];
    }
    const bool first = found_.replays++ == 0;
    const OrderScore score =
        replay_(shapes_, first ? kWhenever : latest_of_use(found_.score, question_.limit));
    if (first || is_better(score, found_.score, question_.limit)) {
      found_.score = score;
      found_.order = order;
    }
  }
  FoundOrder take() { return std::move(found_); }

 private:
  const OrderQuestion& question_;
  const OrderReplay& replay_;
  std::vector<int> shapes_;
  FoundOrder found_;
};

std::vector<int> as_they_stand(const OrderQuestion& question) {
  std::vector<int> order(question.shapes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

constexpr std::size_t kMostForFourClusters = 20;  // micro-batches; of more there are three
constexpr int kRounds = 12;

// k-means on the times of the first and the last stage. It begins at quantiles of the first, so
// that nothing is left to chance; a centre without members stays where it is.
std::vector<std::vector<int>> clusters_of(const OrderQuestion& question) {
  const std::size_t count = question.shapes.size();
  const std::size_t k = std::min<std::size_t>(count, count > kMostForFourClusters ? 3 : 4);
  std::vector<int> sorted = as_they_stand(question);
  const auto time = [&](int m) { return question.times[static_cast<std::size_t>(m)]; };
  std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return time(a) > time(b); });
  std::vector<std::pair<double, double>> centre;
  for (std::size_t c = 0; c < k; ++c) centre.push_back(time(sorted[(2 * c + 1) * count / (2 * k)]));
  std::vector<std::vector<int>> members;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<int>> next(k);
    for (std::size_t m = 0; m < count; ++m) {
      const auto [x, y] = question.times[m];
      std::size_t nearest = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < k; ++c) {
        const double dx = x - centre[c].first, dy = y - centre[c].second;
        const double distance = dx * dx + dy * dy;
        if (distance >= least) continue;
        least = distance;
        nearest = c;
      }
      next[nearest].push_back(static_cast<int>(m));
    }
    if (next == members) break;
    members = std::move(next);
    for (std::size_t c = 0; c < k; ++c) {
      if (members[c].empty()) continue;
      double x = 0.0, y = 0.0;
      for (const int m : members[c]) {
        x += time(m).first;
        y += time(m).second;
      }
      const auto size = static_cast<double>(members[c].size());
      centre[c] = {x / size, y / size};
    }
  }
  return members;
}

FoundOrder all_orders(const OrderQuestion& question, const OrderReplay& replay) {
  std::vector<int> order = as_they_stand(question);
  const auto shape = [&](int m) { return question.shapes[static_cast<std::size_t>(m)]; };
  const auto by_shape = [&](int a, int b) { return shape(a) < shape(b); };
  std::stable_sort(order.begin(), order.end(), by_shape);
  Best best(question, replay);
  do {
    best.consider(order);
  } while (std::next_permutation(order.begin(), order.end(), by_shape));
  return best.take();
}

// How many different orders there are, or one more than `most`.
std::int64_t count_orders(const OrderQuestion& question, std::int64_t most) {
  std::vector<int> shapes = question.shapes;
  std::sort(shapes.begin(), shapes.end());
  double orders = 1.0;
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    equal = i > 0 && shapes[i] == shapes[i - 1] ? equal + 1 : 1;
    orders = orders * static_cast<double>(i + 1) / static_cast<double>(equal);
    // Each factor (i + 1) / equal is at least 1: it never falls again.
    if (orders > static_cast<double>(most)) return most + 1;
  }
  return std::llround(orders);
}

class LocalSearch {
 public:
  LocalSearch(const OrderQuestion& question, FoundOrder start, std::uint64_t seed,
              const OrderReplay& replay)
      : question_(question),
        replay_(replay),
        random_(seed),
        best_(std::move(start)),
        order_(best_.order),
        score_(best_.score) {
    for (const int m : order_) shapes_.push_back(question.shapes[static_cast<std::size_t>(m)]);
  }

  FoundOrder run(std::int64_t replays) {
    best_.replays = 0;
    // Proposals that change nothing cost no replay, but they must end, too.
    for (std::int64_t left = 4 * replays; left > 0 && best_.replays < replays; --left) {
      if (best_.score.need <= question_.limit && best_.score.end_ns <= question_.least_ns) break;
      propose();
    }
    return std::move(best_);
  }

 private:
  void propose() {
    const std::size_t from = random_.below(order_.size()), to = random_.below(order_.size());
    const bool swaps = random_.below(2) == 0;
    if (from == to || (swaps && shapes_[from] == shapes_[to])) return;
    change(from, to, swaps);
    ++best_.replays;
    const OrderScore score = replay_(shapes_, latest_of_use(score_, question_.limit));
    if (is_better(score_, score, question_.limit)) {
      undo(from, to, swaps);
      return;
    }
    score_ = score;
    if (!is_better(score_, best_.score, question_.limit)) return;
    best_.score = score_;
    best_.order = order_;
  }
  void change(std::size_t from, std::size_t to, bool swaps) {
    for (std::vector<int>* row : {&order_, &shapes_}) {
      if (swaps) {
        std::swap((*row)[from], (*row)[to]);
      } else {
        insert(*row, from, to);
      }
    }
  }
  void undo(std::size_t from, std::size_t to, bool swaps) {
    if (swaps) {
      change(from, to, true);
    } else {
      change(to, from, false);
    }
  }
  // What stands at `from` comes to stand at `to`.
  static void insert(std::vector<int>& row, std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t i) { return row.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
      std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
      std::rotate(at(to), at(from), at(from + 1));
    }
  }

  const OrderQuestion& question_;
  const OrderReplay& replay_;
  Random random_;
  FoundOrder best_;
  std::vector<int> order_, shapes_;
  OrderScore score_;
};

}  // namespace

SimpleOrders simple_orders(const OrderQuestion& question, bool clusters,
                           const OrderReplay& replay) {
  SimpleOrders found;
  std::vector<int> shapes(question.shapes.size());
  const auto consider = [&](const std::vector<int>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      shapes[i] = question.shapes[static_cast<std::size_t>(order[i])];
    }
    const OrderScore score = replay(shapes, kWhenever);
    const bool first = found.replays++ == 0;
    const OrderScore &fastest = found.fastest.score, &leanest = found.leanest.score;
    const bool faster = score.end_ns < fastest.end_ns ||
                        (score.end_ns == fastest.end_ns && score.need < fastest.need);
    const bool leaner =
        score.need < leanest.need || (score.need == leanest.need && score.end_ns < leanest.end_ns);
    if (first || faster) found.fastest = {order, score, 0};
    if (first || leaner) found.leanest = {order, score, 0};
  };
  std::vector<int> order = as_they_stand(question);
  consider(order);
  std::reverse(order.begin(), order.end());
  consider(order);
  if (!clusters) return found;
  const std::vector<std::vector<int>> members = clusters_of(question);
  std::vector<std::size_t> turn(members.size());
  std::iota(turn.begin(), turn.end(), std::size_t{0});
  do {
    order.clear();
    for (const std::size_t c : turn) {
      order.insert(order.end(), members[c].begin(), members[c].end());
    }
    consider(order);
  } while (std::next_permutation(turn.begin(), turn.end()));
  return found;
}

FoundOrder search_order(const OrderQuestion& question, const FoundOrder& start,
                        std::int64_t replays, std::uint64_t seed, const OrderReplay& replay) {
  if (question.shapes.size() < 2 || replays < 1) return {start.order, start.score, 0};
  if (count_orders(question, replays) <= replays) {
    FoundOrder found = all_orders(question, replay);
    if (!is_better(found.score, start.score, question.limit)) {
      found.order = start.order;
      found.score = start.score;
    }
    return found;
  }
  return LocalSearch(question, start, seed, replay).run(replays);
}

}  // namespace penstock
