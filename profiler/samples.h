// When repeated timings of one thing are enough, and what they say together. Fed with numbers only,
// so that every rule here is tested without a clock.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/units.h"

namespace penstock {

// Timings are repeated until their median is known well enough.
struct SamplingRule {
  int warm_up = 3;       // first ones, thrown away
  int least = 9;         // never fewer
  int most = 400;        // never more
  double error = 0.005;  // relative error of the median to be reached
};

// Nothing is dropped: outliers are counted, and weigh little because medians are taken.
struct SampleSummary {
  Duration minimum{}, quarter{}, median{}, ninetieth{};  // order statistics, of actual samples
  // Of one sample: 1.4826 times the median deviation from the median, which for a bell curve is
  // its standard deviation, and which a few outliers do not move.
  Duration spread{};
  double error = 0.0;         // of the median, relative: 1.2533 * spread / sqrt(count) / median
  std::int64_t count = 0;     // warm-up not counted
  std::int64_t outliers = 0;  // further from the median than 5 spreads and 5 % of it
  bool operator==(const SampleSummary&) const = default;
};

// Of a list that may be empty: then all is 0. Percentiles: sample number ceil(q n) in ascending
// order.
SampleSummary summarize(std::vector<Duration> samples);

// The samples of one thing while they are being taken.
class Sampler {
 public:
  explicit Sampler(SamplingRule rule = {}) : rule_(rule) {}

  void add(Duration sample);
  // Whether another one would be a waste: the median is known well enough, or there are `most`.
  [[nodiscard]] bool enough() const;
  [[nodiscard]] const std::vector<Duration>& samples() const { return samples_; }

 private:
  SamplingRule rule_;
  int warm_ups_ = 0;
  std::vector<Duration> samples_;
};

}  // namespace penstock
