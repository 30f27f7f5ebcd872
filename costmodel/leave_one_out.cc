// Points along the micro-batch size are read off the row without them; points along a length off
// the grid without the whole row, where both neighbouring rows were measured around that size, so
// that nothing is extrapolated in either direction.
#include "costmodel/leave_one_out.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "costmodel/section_grid.h"
#include "costmodel/sources.h"
#include "costmodel/used_types.h"

namespace penstock {
namespace {

class ErrorSum {
 public:
  void add(const GridSample& measured, const GridSample& foretold) {
    ++points_;
    time_.add(measured, foretold, kForwardTime);
    time_.add(measured, foretold, kFusedBackwardTime);
    stash_.add(measured, foretold, kStash);
  }
  [[nodiscard]] LeftOutErrors errors() const {
    return {points_, time_.mean(), time_.worst, stash_.mean(), stash_.worst};
  }

 private:
  struct Part {
    std::int64_t count = 0;
    double sum = 0.0, worst = 0.0;
    void add(const GridSample& measured, const GridSample& foretold, Quantity quantity) {
      if (measured.values[quantity] <= 0.0) return;
      const double error = std::fabs(foretold.values[quantity] / measured.values[quantity] - 1.0);
      ++count;
      sum += error;
      worst = std::max(worst, error);
    }
    [[nodiscard]] double mean() const {
      return count == 0 ? 0.0 : sum / static_cast<double>(count);
    }
  };

  std::int64_t points_ = 0;
  Part time_, stash_;
};

struct Sums {
  ErrorSum samples, length, decoder_length;
};

template <class Element>
std::vector<Element> without(std::vector<Element> elements, std::size_t index) {
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(index));
  return elements;
}

bool spans(const GridRow& row, int samples) {
  return row.points.front().samples <= samples && samples <= row.points.back().samples;
}

const GridRow* row_of(const SectionGrid& grid, int length) {
  const auto at = std::find_if(grid.rows.begin(), grid.rows.end(),
                               [&](const GridRow& row) { return row.length == length; });
  return at == grid.rows.end() ? nullptr : &*at;
}

void leave_out_points(const GridRow& row, Sums& sums) {
  for (std::size_t i = 1; i + 1 < row.points.size(); ++i) {
    const SectionGrid rest{{{row.length, without(row.points, i)}}, 0};
    const GridPoint& point = row.points[i];
    sums.samples.add(point.sample, sample_at(rest, point.samples, row.length));
  }
}

void leave_out_rows(const SectionGrid& grid, Sums& sums) {
  for (std::size_t i = 1; i + 1 < grid.rows.size(); ++i) {
    const SectionGrid rest{without(grid.rows, i), grid.decoder_length};
    const GridRow& row = grid.rows[i];
    for (const GridPoint& point : row.points) {
      if (!spans(grid.rows[i - 1], point.samples) || !spans(grid.rows[i + 1], point.samples)) {
        continue;
      }
      sums.length.add(point.sample, sample_at(rest, point.samples, row.length));
    }
  }
}

void leave_out_grids(const std::vector<SectionGrid>& grids, Sums& sums) {
  for (std::size_t i = 1; i + 1 < grids.size(); ++i) {
    const std::vector<SectionGrid> rest = without(grids, i);
    for (const GridRow& row : grids[i].rows) {
      const GridRow* low = row_of(grids[i - 1], row.length);
      const GridRow* high = row_of(grids[i + 1], row.length);
      if (low == nullptr || high == nullptr) continue;
      for (const GridPoint& point : row.points) {
        if (!spans(*low, point.samples) || !spans(*high, point.samples)) continue;
        sums.decoder_length.add(
            point.sample, sample_at(rest, point.samples, row.length, grids[i].decoder_length));
      }
    }
  }
}

// (T, recompute mode) with measured times.
std::set<std::pair<int, std::string>> keys_of(const ModelProfile& profile, const SectionType& type,
                                              const std::string& device) {
  std::set<std::pair<int, std::string>> keys;
  for (const Measurement& m : type.measurements) {
    if (m.device != device) continue;
    const Source* source = unmeasured_source(profile.sources, m.time_source);
    if (source != nullptr && source->origin == Origin::kAssumed) continue;
    keys.emplace(m.tensor_degree, m.recompute);
  }
  return keys;
}

}  // namespace

GridErrors leave_one_out(const ModelProfile& profile, const std::string& device) {
  Sums sums;
  for (const int index : used_types(profile)) {
    const SectionType& type = profile.section_types[static_cast<std::size_t>(index)];
    for (const auto& [degree, recompute] : keys_of(profile, type, device)) {
      const std::vector<SectionGrid> grids = section_grids(type, device, degree, recompute);
      for (const SectionGrid& grid : grids) {
        for (const GridRow& row : grid.rows) leave_out_points(row, sums);
        leave_out_rows(grid, sums);
      }
      leave_out_grids(grids, sums);
    }
  }
  return {sums.samples.errors(), sums.length.errors(), sums.decoder_length.errors()};
}

}  // namespace penstock
