// Peaks are points with one coordinate per count; the memory of a rank is a linear function of them
// with weights that are not negative, so its maximum lies at a corner of their upper hull.
// Outermost points in a few directions are taken first; then every other one is dropped if a place
// between two kept ones is at least as large everywhere. That test is one interval of a fraction,
// exact in integers. It may keep points that no weights reach, never drop one that some weights
// need.
#include "simulator/fullest_peaks.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

// With more chunks it takes longer to sort out peaks than to sum up all of them.
constexpr std::size_t kMostChunks = 8;

// Points in as many dimensions as a rank has counts.
class Points {
 public:
  Points(std::vector<std::int32_t> coordinates, std::size_t dimensions)
      : size_(coordinates.size() / dimensions),
        dimensions_(dimensions),
        coordinates_(std::move(coordinates)) {}

  // Those that lie outermost in some directions, then what they do not cover.
  std::vector<std::size_t> corners() {
    add_outermost();
    for (std::size_t p = 0; p < size_; ++p) {
      if (!is_corner(p) && !is_covered(p)) corners_.push_back(p);
    }
    for (std::size_t i = 0; i < corners_.size();) {
      const std::size_t p = corners_[i];
      corners_.erase(corners_.begin() + static_cast<std::ptrdiff_t>(i));
      if (is_covered(p)) continue;
      corners_.insert(corners_.begin() + static_cast<std::ptrdiff_t>(i++), p);
    }
    std::sort(corners_.begin(), corners_.end());
    return std::move(corners_);
  }

 private:
  [[nodiscard]] const std::int32_t* at(std::size_t point) const {
    return coordinates_.data() + point * dimensions_;
  }
  [[nodiscard]] bool is_corner(std::size_t point) const {
    return std::find(corners_.begin(), corners_.end(), point) != corners_.end();
  }

  // Of equals the first and the last in the order of the peaks, which are ends of an edge. The
  // directions: sums of up to two counts, and of all.
  void add_outermost() {
    std::vector<std::size_t> both(2);
    for (both[0] = 0; both[0] < dimensions_; ++both[0]) {
      for (both[1] = both[0]; both[1] < dimensions_; ++both[1]) {
        add_outermost([&](const std::int32_t* point) {
          return std::int64_t{point[both[0]]} + point[both[1]];
        });
      }
    }
    add_outermost([&](const std::int32_t* point) {
      std::int64_t sum = 0;
      for (std::size_t d = 0; d < dimensions_; ++d) sum += point[d];
      return sum;
    });
  }
  template <class Value>
  void add_outermost(Value value) {
    std::size_t first = 0, last = 0;
    std::int64_t most = value(at(0));
    for (std::size_t p = 1; p < size_; ++p) {
      const std::int64_t here = value(at(p));
      if (here < most) continue;
      if (here > most) first = p;
      last = p;
      most = here;
    }
    for (const std::size_t p : {first, last}) {
      if (!is_corner(p)) corners_.push_back(p);
    }
  }

  // Whether a place between two corners holds as much everywhere.
  [[nodiscard]] bool is_covered(std::size_t point) {
    note_reached(at(point));
    const std::uint32_t all = (1U << dimensions_) - 1;
    for (std::size_t i = 0; i < corners_.size(); ++i) {
      for (std::size_t j = i + 1; j < corners_.size(); ++j) {
        if ((reached_[i] | reached_[j]) != all) continue;  // somewhere both hold less
        if (is_below(at(point), at(corners_[i]), at(corners_[j]))) return true;
      }
    }
    return false;
  }
  // In which dimensions each corner holds as much as the point.
  void note_reached(const std::int32_t* point) {
    reached_.clear();
    for (const std::size_t corner : corners_) {
      std::uint32_t reached = 0;
      for (std::size_t d = 0; d < dimensions_; ++d) {
        reached |= static_cast<std::uint32_t>(at(corner)[d] >= point[d]) << d;
      }
      reached_.push_back(reached);
    }
  }
  // Whether x a + (1 - x) b >= point everywhere for some x from 0 to 1. Every dimension bounds x
  // from below or from above by a fraction; counts are below 2^31, so that the products fit.
  [[nodiscard]] bool is_below(const std::int32_t* point, const std::int32_t* a,
                              const std::int32_t* b) const {
    struct Fraction {
      std::int64_t above, below;
    };
    Fraction least{0, 1}, most{1, 1};
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const std::int64_t step = std::int64_t{a[d]} - b[d], missing = std::int64_t{point[d]} - b[d];
      if (step == 0 && missing > 0) return false;
      if (step > 0 && missing * least.below > least.above * step) least = {missing, step};
      if (step < 0 && missing * most.below > most.above * step) most = {-missing, -step};
    }
    return most.above >= 0 && least.above * most.below <= most.above * least.below;
  }

  std::size_t size_, dimensions_;
  std::vector<std::int32_t> coordinates_;
  std::vector<std::size_t> corners_;
  std::vector<std::uint32_t> reached_;  // by each of these, of the point at hand
};

}  // namespace

std::vector<std::size_t> fullest_peaks(const std::vector<LiveCounts>& peaks) {
  if (peaks.empty()) return {};
  const std::size_t of_each = 2 * peaks.front().stash.size();
  std::vector<std::int32_t> counts;
  counts.reserve(peaks.size() * of_each);
  for (const LiveCounts& peak : peaks) {
    counts.insert(counts.end(), peak.stash.begin(), peak.stash.end());
    counts.insert(counts.end(), peak.weight_stash.begin(), peak.weight_stash.end());
  }
  return fullest_points(std::move(counts), of_each);
}

std::vector<std::size_t> fullest_points(std::vector<std::int32_t> counts, std::size_t of_each) {
  const std::size_t size = counts.size() / of_each;
  if (size > 2 && of_each <= 2 * kMostChunks) return Points(std::move(counts), of_each).corners();
  std::vector<std::size_t> all(size);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace penstock
