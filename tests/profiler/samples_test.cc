#include "profiler/samples.h"

#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

std::vector<Duration> nanoseconds(const std::vector<int>& counts) {
  std::vector<Duration> samples;
  for (const int count : counts) samples.emplace_back(count);
  return samples;
}

// Ascending: 90 96 98 100 100 102 104 110 500. Median 100 (number 5 of 9), first quarter number
// ceil(2.25) = 3: 98, 90th percentile number ceil(8.1) = 9: 500. Deviations from 100, ascending:
// 0 0 2 2 4 4 10 10 400, their median 4; spread 1.4826 * 4 = 5.93, rounded up 6.
// Error 1.2533 * 5.9304 / 3 / 100 = 0.0248.
TEST_CASE("a summary holds order statistics and a spread that an outlier does not move") {
  const SampleSummary summary = summarize(nanoseconds({100, 96, 500, 104, 98, 90, 102, 110, 100}));
  CHECK(summary.minimum == Duration{90});
  CHECK(summary.quarter == Duration{98});
  CHECK(summary.median == Duration{100});
  CHECK(summary.ninetieth == Duration{500});
  CHECK(summary.spread == Duration{6});
  CHECK(summary.error == doctest::Approx(0.02477).epsilon(0.001));
  CHECK(summary.count == 9);
  CHECK(summary.outliers == 1);  // 500; 90 is nearer than 5 spreads, 29.7
}

TEST_CASE("no samples say nothing") { CHECK(summarize({}) == SampleSummary{}); }

TEST_CASE("of an even number of samples the lower middle one is the median") {
  CHECK(summarize(nanoseconds({10, 40, 20, 30})).median == Duration{20});
}

TEST_CASE("equal samples are enough once there are as many as the rule wants") {
  Sampler sampler({.warm_up = 2, .least = 3, .most = 10, .error = 0.01});
  sampler.add(Duration{9000});  // warm-up, far off
  sampler.add(Duration{5000});
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(sampler.enough());
    sampler.add(Duration{1000});
  }
  CHECK(sampler.enough());
  CHECK(summarize(sampler.samples()).median == Duration{1000});
}

// 800, 900, 1000, 1100, 1200 and again: median 1000, median deviation 100, spread 148.26, error
// 1.2533 * 0.14826 / sqrt(n) = 0.1858 / sqrt(n). At most 0.001 would take 34,500 samples.
TEST_CASE("samples that keep differing end with the most that the rule allows") {
  Sampler sampler({.warm_up = 0, .least = 4, .most = 50, .error = 0.001});
  int taken = 0;
  while (!sampler.enough()) sampler.add(Duration{800 + 100 * (taken++ % 5)});
  CHECK(taken == 50);
}

// The same samples: 0.1858 / sqrt(n) is at most 0.05 from n = 13.8 on.
TEST_CASE("wider samples take longer to settle, with the root of their number") {
  Sampler sampler({.warm_up = 0, .least = 5, .most = 1000, .error = 0.05});
  int taken = 0;
  while (!sampler.enough()) sampler.add(Duration{800 + 100 * (taken++ % 5)});
  CHECK(taken >= 14);
  CHECK(taken <= 16);
}

}  // namespace
}  // namespace penstock
