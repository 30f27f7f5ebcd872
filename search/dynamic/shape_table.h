// The shapes that the planner of one batch has met, each judged once; those that are in
// micro-batches are priced besides.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/per_rank.h"
#include "core/values/plan.h"
#include "search/dynamic/shape_costs.h"

namespace penstock {

// How many micro-batches of a shape a rank is taken to hold when shapes are judged one by one.
enum class HeldAtOnce : std::size_t { kOne, kHalf, kAll };  // kAll: as many as 1F1B holds
inline constexpr std::size_t kHeldKinds = 3;

struct KnownShape {
  MicroBatchShape shape;
  ShapeStatus status = ShapeStatus::kKnown;
  std::string why_not;
  bool recomputes = false;  // some stage has something to recompute
  double time_ns = 0.0;     // F, R and B on the slowest rank
  // What a device needs to hold so many of them, on the rank where that is tightest: of a rank with
  // less memory than the largest, as many bytes more.
  std::array<std::int64_t, kHeldKinds> need{};
};

class ShapeTable {
 public:
  // `layout` without batch. `recomputes`: an R precedes every backward.
  ShapeTable(const ShapeCosts& costs, const Plan& layout, const ExecutorModel& executor,
             const PerRank<Bytes>& capacity, const PerRank<Bytes>& reserve);

  // Ids in the order of `shapes`; what is new is judged, all of it at once.
  std::vector<int> ids_of(const std::vector<MicroBatchShape>& shapes);
  int id_of(const MicroBatchShape& shape) { return ids_of({shape}).front(); }

  [[nodiscard]] const KnownShape& at(int id) const { return known_[static_cast<std::size_t>(id)]; }
  // Works out all that such shapes cost. Ids may occur twice.
  void price(const std::vector<int>& ids);
  // Of a shape that is priced.
  [[nodiscard]] const ShapeCost& cost_of(int id) const {
    return costs_of_[static_cast<std::size_t>(place_[static_cast<std::size_t>(id)])];
  }
  [[nodiscard]] std::size_t size() const { return known_.size(); }
  [[nodiscard]] const ShapeCosts& costs() const { return costs_; }
  [[nodiscard]] const StagePricing& step() const { return step_; }
  // What the fullest rank keeps whatever the micro-batches, in the same measure as `need`.
  [[nodiscard]] std::int64_t kept() const { return kept_; }
  // The most that any rank may hold, in that measure.
  [[nodiscard]] std::int64_t limit() const { return limit_; }
  // Of a rank: what is added to its bytes in that measure, and what it keeps.
  [[nodiscard]] std::int64_t lacks(int rank) const {
    return lacks_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int64_t kept_by(int rank) const {
    return kept_by_[static_cast<std::size_t>(rank)];
  }

 private:
  static constexpr int kNotPriced = -1;
  void judge(std::span<const StageLoad> loads, KnownShape& known);

  const ShapeCosts& costs_;
  const Plan& layout_;
  StagePricing step_;
  ExecutorModel executor_;
  std::int64_t limit_ = 0, kept_ = 0;
  std::vector<std::int64_t> lacks_, kept_by_;               // per rank
  std::vector<std::array<std::int64_t, kHeldKinds>> held_;  // per rank: micro-batches
  std::vector<KnownShape> known_;
  std::vector<ShapeCost> costs_of_;                   // of those that are priced
  std::vector<int> place_;                            // by id, where; kNotPriced
  std::unordered_map<std::uint64_t, int> ids_;        // looked up, never walked
  std::vector<std::int64_t> time_, stash_, working_;  // per rank, of the shape that is judged
};

}  // namespace penstock
