// The question that `plan` and `compare` ask: the model, the cluster, and how to search.
#pragma once

#include <optional>

#include "cli/io/files.h"
#include "cli/model_input.h"
#include "core/values/calibration_result.h"
#include "search/best_plans.h"

namespace penstock {

struct SearchOptions;

// Profile and cluster as they were read, or estimated and assumed.
struct Question {
  Loaded<ModelProfile> profile;
  // Of a model that was given by its config.json; its profile is this estimate.
  std::optional<EstimatedModel> estimated;
  Loaded<ClusterSpec> cluster;
  std::optional<CalibrationResult> measured;  // by --measured
  ExecutorModel executor;
  std::optional<Bytes> reserve;
  SearchRequest request;
  std::optional<Duration> budget;

  [[nodiscard]] PlanInputs inputs() const {
    return {&profile.value, &cluster.value, executor, reserve};
  }
};

Question question_of(const SearchOptions& options);
// How an assumed cluster is called where a file would be named.
inline constexpr const char* kAssumedCluster = "assumed cluster";
// As many as this machine has.
int default_threads();

}  // namespace penstock
