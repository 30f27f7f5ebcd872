// In what order a replica runs its micro-batches: every order of few, else orders of clusters and a
// seeded local search, within a number of replays.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace penstock {

struct OrderScore {
  std::int64_t end_ns = 0;
  std::int64_t need = 0;  // bytes on the rank where they are tightest
};

// What an order is judged by: shape ids by position. Of one that ends later than `latest` only that
// is known.
using OrderReplay = std::function<OrderScore(std::span<const int> shapes, std::int64_t latest)>;
inline constexpr std::int64_t kWhenever = std::numeric_limits<std::int64_t>::max();

struct FoundOrder {
  std::vector<int> order;  // which micro-batch stands at each position
  OrderScore score;
  std::int64_t replays = 0;
};

struct OrderQuestion {
  std::vector<int> shapes;  // of the micro-batches, by id
  // Where each shape lies among the others: times on the first and the last stage; by micro-batch.
  std::vector<std::pair<double, double>> times;
  std::int64_t limit = 0;     // no order that needs more is taken
  std::int64_t least_ns = 0;  // no order ends before: one that ends then need not be bettered
};

// As they stand, the other way round, and (unless only these two are asked for) every order of up
// to four clusters: the shortest, and the one that needs least; of equal ones the first.
struct SimpleOrders {
  FoundOrder fastest, leanest;
  std::int64_t replays = 0;
};
SimpleOrders simple_orders(const OrderQuestion& question, bool clusters, const OrderReplay& replay);

// No worse than `start`. All orders where there are no more than `replays`, else swaps and inserts.
FoundOrder search_order(const OrderQuestion& question, const FoundOrder& start,
                        std::int64_t replays, std::uint64_t seed, const OrderReplay& replay);

}  // namespace penstock
