#include "profiler/samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace penstock {
namespace {

// A bell curve's standard deviation over its median deviation.
constexpr double kDeviationOfBell = 1.4826;
// sqrt(pi / 2): the standard error of a median over that of a mean.
constexpr double kErrorOfMedian = 1.2533;
constexpr double kOutlierSpreads = 5.0;
constexpr double kOutlierShare = 0.05;

double as_double(Duration duration) { return static_cast<double>(duration.count()); }

Duration at_share(const std::vector<Duration>& ascending, double share) {
  const auto n = static_cast<double>(ascending.size());
  const auto number = static_cast<std::size_t>(std::max(1.0, std::ceil(share * n)));
  return ascending[number - 1];
}

double median_deviation(const std::vector<Duration>& samples, Duration median) {
  std::vector<Duration> deviations;
  deviations.reserve(samples.size());
  for (const Duration sample : samples) deviations.push_back(std::chrono::abs(sample - median));
  std::sort(deviations.begin(), deviations.end());
  return as_double(at_share(deviations, 0.5));
}

}  // namespace

SampleSummary summarize(std::vector<Duration> samples) {
  SampleSummary summary;
  if (samples.empty()) return summary;
  std::sort(samples.begin(), samples.end());
  summary.count = std::ssize(samples);
  summary.minimum = samples.front();
  summary.quarter = at_share(samples, 0.25);
  summary.median = at_share(samples, 0.5);
  summary.ninetieth = at_share(samples, 0.9);
  const double spread = kDeviationOfBell * median_deviation(samples, summary.median);
  summary.spread = round_up_nearly(spread);
  const double median = as_double(summary.median);
  if (median > 0.0) {
    summary.error =
        kErrorOfMedian * spread / std::sqrt(static_cast<double>(samples.size())) / median;
  }
  const double far = std::max(kOutlierSpreads * spread, kOutlierShare * median);
  summary.outliers = std::count_if(samples.begin(), samples.end(), [&](Duration sample) {
    return std::abs(as_double(sample) - median) > far;
  });
  return summary;
}

void Sampler::add(Duration sample) {
  if (warm_ups_ < rule_.warm_up) {
    ++warm_ups_;
    return;
  }
  samples_.push_back(sample);
}

bool Sampler::enough() const {
  const int count = static_cast<int>(samples_.size());
  if (count < rule_.least) return false;
  return count >= rule_.most || summarize(samples_).error <= rule_.error;
}

}  // namespace penstock
