#include "training/shuffled_order.h"

#include "training/mixed_bits.h"

namespace penstock {
namespace {

// Four give a permutation that cannot be told from a random one by its entries (Luby and Rackoff,
// SIAM J. Comput. 17, 1988); the others are for small n, whose halves have few bits.
constexpr std::uint64_t kRounds = 8;

}  // namespace

ShuffledOrder::ShuffledOrder(std::uint64_t n, std::uint64_t key) : n_(n), key_(key) {
  while ((std::uint64_t{1} << (2 * half_bits_)) < n_) ++half_bits_;
}

std::uint64_t ShuffledOrder::operator()(std::uint64_t i) const {
  do {
    i = encrypted(i);
  } while (i >= n_);
  return i;
}

std::uint64_t ShuffledOrder::encrypted(std::uint64_t i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = i >> half_bits_, right = i & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = left ^ (mixed_bits({key_, round, right}) & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits_) | right;
}

}  // namespace penstock
