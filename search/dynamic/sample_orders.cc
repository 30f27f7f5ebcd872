// An open path through the points (encoder, decoder), since a micro-batch is padded to its longest
// of each. The original hands that to a solver whose licence forbids commercial use; this is a
// serpentine sweep improved by 2-opt (reverse a part) and Or-opt (move up to three neighbours).
// Both look at a window of the path only and stop after a number of moves that grows with the
// samples, so the work is bounded. Invariant: a move is made only when the path gets shorter.
#include "search/dynamic/sample_orders.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>

namespace penstock {
namespace {

constexpr std::size_t kWindow = 48;       // how far apart the ends of a move may be
constexpr std::size_t kSweeps = 6;        // at most, over all places
constexpr std::size_t kLongestMoved = 3;  // neighbours that Or-opt takes along

bool decodes(const LengthBatch& batch) {
  return !batch.empty() && batch.front().decoder_tokens > 0;
}

std::vector<int> descending(const LengthBatch& batch) {
  std::vector<int> order(batch.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const SampleLength& x = batch[static_cast<std::size_t>(a)];
    const SampleLength& y = batch[static_cast<std::size_t>(b)];
    if (x.tokens != y.tokens) return x.tokens > y.tokens;
    if (x.decoder_tokens != y.decoder_tokens) return x.decoder_tokens > y.decoder_tokens;
    return a > b;
  });
  return order;
}

// About as many bands as a band has samples, of equally many samples.
std::vector<int> serpentine(const LengthBatch& batch) {
  std::vector<int> order = descending(batch);
  const auto band = static_cast<std::size_t>(
      std::max(1.0, std::ceil(std::sqrt(static_cast<double>(batch.size())))));
  bool falls = true;
  for (std::size_t begin = 0; begin < order.size(); begin += band, falls = !falls) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end =
        order.begin() + static_cast<std::ptrdiff_t>(std::min(begin + band, order.size()));
    std::stable_sort(first, end, [&](int a, int b) {
      const int x = batch[static_cast<std::size_t>(a)].decoder_tokens;
      const int y = batch[static_cast<std::size_t>(b)].decoder_tokens;
      return falls ? x > y : x < y;
    });
  }
  return order;
}

class Path {
 public:
  Path(const LengthBatch& batch, std::vector<int> order)
      : batch_(batch), order_(std::move(order)) {}

  [[nodiscard]] std::int64_t length() const {
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < order_.size(); ++i) sum += between(i - 1, i);
    return sum;
  }

  std::vector<int> shortened() {
    for (std::size_t sweep = 0; sweep < kSweeps && improve(); ++sweep) {
    }
    return order_;
  }

 private:
  bool improve() {
    bool better = false;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::size_t end = std::min(order_.size(), i + kWindow);
      for (std::size_t j = i + 1; j < end; ++j) better |= reverse(i, j);
      for (std::size_t length = 1; length <= kLongestMoved; ++length) {
        for (std::size_t j = i + length; j < end; ++j) better |= move_behind(i, length, j);
      }
    }
    return better;
  }

  // The part [i, j] the other way round.
  bool reverse(std::size_t i, std::size_t j) {
    const std::int64_t before = gap(i, i - 1) + gap(j, j + 1);
    const std::int64_t after = gap(j, i - 1) + gap(i, j + 1);
    if (after >= before) return false;
    std::reverse(at(i), at(j + 1));
    return true;
  }

  // The part [i, i + length) behind place j, which lies behind it.
  bool move_behind(std::size_t i, std::size_t length, std::size_t j) {
    const std::size_t last = i + length - 1;
    const std::int64_t before = gap(i, i - 1) + gap(last, last + 1) + gap(j, j + 1);
    const std::int64_t after = joined(i - 1, last + 1) + gap(i, j) + gap(last, j + 1);
    if (after >= before) return false;
    std::rotate(at(i), at(i + length), at(j + 1));
    return true;
  }

  [[nodiscard]] std::vector<int>::iterator at(std::size_t i) {
    return order_.begin() + static_cast<std::ptrdiff_t>(i);
  }
  // 0 beyond either end: the path is open. Place -1 wraps around and is beyond, too.
  [[nodiscard]] std::int64_t gap(std::size_t place, std::size_t neighbour) const {
    return neighbour < order_.size() ? between(place, neighbour) : 0;
  }
  [[nodiscard]] std::int64_t joined(std::size_t a, std::size_t b) const {
    return a < order_.size() && b < order_.size() ? between(a, b) : 0;
  }
  [[nodiscard]] std::int64_t between(std::size_t a, std::size_t b) const {
    const SampleLength& x = batch_[static_cast<std::size_t>(order_[a])];
    const SampleLength& y = batch_[static_cast<std::size_t>(order_[b])];
    return std::int64_t{std::abs(x.tokens - y.tokens)} +
           std::abs(x.decoder_tokens - y.decoder_tokens);
  }

  const LengthBatch& batch_;
  std::vector<int> order_;
};

}  // namespace

std::vector<std::vector<int>> sample_orders(const LengthBatch& batch) {
  std::vector<std::vector<int>> orders{descending(batch)};
  if (!decodes(batch)) return orders;
  orders.push_back(serpentine(batch));
  Path sorted(batch, orders[0]), swept(batch, orders[1]);
  orders.push_back(swept.length() < sorted.length() ? swept.shortened() : sorted.shortened());
  return orders;
}

}  // namespace penstock
