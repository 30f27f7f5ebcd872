// A rank r that takes w_r per micro-batch ends no sooner than it has waited f_r and worked M w_r,
// so w_r <= (T - f_r) / M. Its sections would take a reference type at most s_r w_r, where s_r is
// how many times as fast its own type is at most for one section; and all ranks together have all
// sections, of which the reference needs W. So M W <= sum of s_r (T - f_r), and
//
//   T >= (M W + sum of s_r f_r) / sum of s_r
//
// for every reference. f_r: r stages come before the rank's first one and hold at least the first r
// sections, each on the type that is fastest for it. With f_r = 0 it is the mean that groups are
// enumerated by (mixed_devices.cc). tests/search/mixed_fill_test.cc holds it against all cuts.
#include "search/mixed_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

std::int64_t entry(const std::vector<std::int64_t>& prefix, std::size_t i) {
  return prefix[i + 1] - prefix[i];
}

double times_as_fast(std::int64_t reference, std::int64_t own) {
  if (reference == 0) return 0.0;
  // A type that needs no time at all makes the mean say nothing.
  return own > 0 ? static_cast<double>(reference) / static_cast<double>(own)
                 : std::numeric_limits<double>::infinity();
}

}  // namespace

MixedFill::MixedFill(const std::vector<const SectionSums*>& types, BackwardKind backward)
    : speeds_(types.size(), std::vector<double>(types.size(), 0.0)), forwards_{0}, both_ways_{0} {
  for (const SectionSums* type : types) work_.push_back(type->work_of(backward).back());
  const auto sections = static_cast<std::size_t>(types.front()->sections());
  for (std::size_t i = 0; i < sections; ++i) {
    std::int64_t forward = std::numeric_limits<std::int64_t>::max();
    std::int64_t both = forward;
    for (std::size_t t = 0; t < types.size(); ++t) {
      const std::int64_t own = entry(types[t]->work_of(backward), i);
      forward = std::min(forward, entry(types[t]->forward, i));
      both = std::min(both, own);
      for (std::size_t reference = 0; reference < types.size(); ++reference) {
        const std::int64_t work = entry(types[reference]->work_of(backward), i);
        speeds_[reference][t] = std::max(speeds_[reference][t], times_as_fast(work, own));
      }
    }
    forwards_.push_back(forwards_.back() + forward);
    both_ways_.push_back(both_ways_.back() + both);
  }
}

std::int64_t MixedFill::least(const std::vector<RankRun>& runs, std::int64_t micro_batches,
                              bool and_drain) const {
  double least = 0.0;
  for (std::size_t reference = 0; reference < work_.size(); ++reference) {
    const auto& waits = and_drain ? both_ways_ : forwards_;
    least = std::max(least, least_by(reference, runs, micro_batches, waits));
  }
  constexpr double kRounding = 1.0 - 1e-9;
  return static_cast<std::int64_t>(kRounding * least);
}

double MixedFill::least_by(std::size_t reference, const std::vector<RankRun>& runs,
                           std::int64_t micro_batches,
                           const std::vector<std::int64_t>& waits) const {
  double work = static_cast<double>(micro_batches) * static_cast<double>(work_[reference]);
  double together = 0.0;
  std::size_t rank = 0;
  for (std::size_t t = 0; t < runs.size(); ++t) {
    const double speed = speeds_[reference][t];
    for (int n = 0; n < runs[t].ranks; ++n) {
      work += speed * static_cast<double>(waits[rank++]);
      together += speed;
    }
  }
  return std::isfinite(together) && together > 0.0 ? work / together : 0.0;
}

}  // namespace penstock
