#include "training/relative_bucket.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace penstock {
namespace {

constexpr int kMostDistance = 128;  // farther ones share the last bucket

}  // namespace

int relative_bucket(int distance, bool both_ways) {
  const int buckets = both_ways ? kRelativeBuckets / 2 : kRelativeBuckets;
  const int first = both_ways && distance > 0 ? buckets : 0;
  const int away = both_ways ? std::abs(distance) : std::max(-distance, 0);
  const int one_by_one = buckets / 2;
  if (away < one_by_one) return first + away;
  const double share = std::log(static_cast<double>(away) / one_by_one) /
                       std::log(static_cast<double>(kMostDistance) / one_by_one);
  const int farther = one_by_one + static_cast<int>(share * (buckets - one_by_one));
  return first + std::min(farther, buckets - 1);
}

}  // namespace penstock
