// Where a key lies relative to a query, in the few buckets that T5 has a bias for (arXiv
// 1910.10683, section 2.1): near distances one by one, farther ones by their logarithm.
#pragma once

namespace penstock {

inline constexpr int kRelativeBuckets = 32;

// Of key position - query position. Where the query sees both ways half of the buckets are for keys
// behind it; else later keys all count as distance 0, since none is seen.
int relative_bucket(int distance, bool both_ways);

}  // namespace penstock
