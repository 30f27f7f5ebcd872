// The measurements of one section type at one (device, tensor degree, recompute mode), cleaned and
// arranged as rows by sequence length, and what lies between them. docs/cost_model.md has the
// rules.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <string>
#include <vector>

#include "core/values/other_degrees.h"
#include "core/values/profile.h"

namespace penstock {

enum Quantity : std::size_t {
  kForwardTime,
  kInputGradientTime,
  kWeightGradientTime,
  kFusedBackwardTime,
  kRecomputeTime,
  kForwardSpread,
  kInputGradientSpread,
  kWeightGradientSpread,
  kFusedBackwardSpread,
  kRecomputeSpread,
  kStash,
  kWeightStash,
  kWorkingPeak,
  kBoundary,
  kQuantities,
};

struct Range {
  int least = 0, most = 0;
  [[nodiscard]] bool contains(int value) const { return least <= value && value <= most; }
};

// At most two each along size, length and decoder length. Samples are made by the thousand, so they
// own no memory.
class SampledFrom {
 public:
  SampledFrom() = default;
  explicit SampledFrom(const Measurement* only) : count_(1) { list_[0] = only; }

  void add(const SampledFrom& others) {
    assert(count_ + others.count_ <= list_.size());
    for (const Measurement* m : others) list_[count_++] = m;
  }
  [[nodiscard]] const Measurement* front() const { return list_.front(); }
  [[nodiscard]] const Measurement* const* begin() const { return list_.data(); }
  [[nodiscard]] const Measurement* const* end() const { return list_.data() + count_; }

 private:
  std::array<const Measurement*, 8> list_{};
  std::size_t count_ = 0;
};

// The figures of one section at one (samples, sequence length).
struct GridSample {
  std::array<double, kQuantities> values{};  // ns and bytes
  bool split_measured = true;                // I and W were timed apart
  bool fused_measured = true;                // B was timed
  bool launch_bound = false;                 // a time was lowered to that of a larger micro-batch
  bool beyond_samples = false;               // outside the measured micro-batch sizes `samples`
  bool beyond_length = false;                // outside the measured sequence lengths
  Range samples;                             // measured, at the sequence length that limits
  SampledFrom from;                          // what it was made of
};

struct GridPoint {
  int samples = 1;
  GridSample sample;
};
struct GridRow {
  int length = 0;
  std::vector<GridPoint> points;  // ascending samples, never empty
};
struct SectionGrid {
  std::vector<GridRow> rows;  // ascending length, never empty
  int decoder_length = 0;
};

// One per decoder length, ascending; of a section that does not know it one, of decoder length 0.
// Empty when nothing was measured. Keeps pointers into `type`.
std::vector<SectionGrid> section_grids(const SectionType& type, const std::string& device,
                                       int tensor_degree, const std::string& recompute,
                                       const OtherDegrees& others = {});
// Whether a row is one of those that hold for these degrees: of a section without experts all that
// know nothing of any.
bool is_row_for(const SectionType& type, const Measurement& m, const OtherDegrees& others);

// A section without sequence dimension (length 0 only) has one row, which holds for every length.
GridSample sample_at(const SectionGrid& grid, int samples, int sequence_length);
// Grids must not be empty; the decoder length is that of grids that know one.
GridSample sample_at(const std::vector<SectionGrid>& grids, int samples, int sequence_length,
                     int decoder_length);

}  // namespace penstock
