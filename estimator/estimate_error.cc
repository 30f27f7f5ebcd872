#include "estimator/estimate_error.h"

#include <algorithm>
#include <string>

namespace penstock {
namespace {

// On devices of their generation; "any" has those of others.
bool counts_other_trainers(const EfficiencyCurve& curve) {
  return curve.other_trainers && curve.generation != "any";
}

}  // namespace

bool asks_for_other_trainer(const EstimateRequest& request) {
  return request.sums_apart || request.torch_collectives;
}

ErrorBand widest(const ErrorBand& one, const ErrorBand& other) {
  return {std::max(one.below, other.below), std::max(one.above, other.above)};
}

ErrorBand error_of(const EfficiencyCurve& its, const Efficiency& efficiency,
                   const EstimateRequest& request) {
  if (!asks_for_other_trainer(request)) return its.error;
  if (counts_other_trainers(its)) return *its.other_trainers;
  const std::string width = its.width == "float8" ? "half" : its.width;  // most of a step
  ErrorBand error = its.error;
  for (const EfficiencyCurve& curve : efficiency.curves) {
    const bool holds = curve.generation == "any" && curve.width == width;
    if (holds && curve.other_trainers) error = widest(error, *curve.other_trainers);
  }
  return error;
}

// Those of generations that no run had are as wide as somebody thought right, and so are other
// trainers' where no run of one was counted.
ErrorBasis basis_of(const EfficiencyCurve& its, const Architecture& model,
                    const EstimateRequest& request) {
  if (model.experts || its.error_assumed) return ErrorBasis::kAssumed;
  const bool others_counted = counts_other_trainers(its) || its.eager;
  if (asks_for_other_trainer(request) && !others_counted) return ErrorBasis::kAssumed;
  if (its.eager) return ErrorBasis::kPasses;
  return its.generation == "any" ? ErrorBasis::kAssumed : ErrorBasis::kRuns;
}

}  // namespace penstock
