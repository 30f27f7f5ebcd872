// What is asked of a search: the model, the cluster, how ranks carry a plan out, and where to look.
// Studies (studies/) ask it again with one thing changed.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/values/calibration_result.h"
#include "core/values/estimate.h"
#include "core/values/loaded.h"
#include "search/best_plans.h"

namespace penstock {

// How an assumed cluster is called where a file would be named.
inline constexpr const char* kAssumedCluster = "assumed cluster";

// Profile and cluster as they were read, or estimated and assumed.
struct Question {
  Loaded<ModelProfile> profile;
  // Of a model that was given by its config.json; its profile is this estimate.
  std::optional<EstimatedModel> estimated;
  Loaded<ClusterSpec> cluster;
  // "a100-sxm-80gb of CLUSTER is a100-80gb of PROFILE": devices that the two call otherwise.
  std::vector<std::string> devices_alike{};
  std::optional<CalibrationResult> measured;  // where runs were given to calibrate with
  ExecutorModel executor;
  std::optional<Bytes> reserve;
  SearchRequest request;
  std::optional<Duration> budget;

  // Whether memory is an estimate without a margin: no measured profile and no measured peak says
  // what it is (fitting peaks always fits the reserve), and no reserve was asked for.
  [[nodiscard]] bool has_estimated_memory() const {
    const auto& calibration = cluster.value.calibration;
    return estimated && !reserve && !(calibration && calibration->memory.reserve);
  }

  // Whether plans may take less than the devices have.
  [[nodiscard]] bool has_memory_limit() const {
    const auto& types = cluster.value.device_types;
    return std::any_of(types.begin(), types.end(),
                       [](const DeviceType& type) { return type.limited_from.count > 0; });
  }

  [[nodiscard]] PlanInputs inputs() const {
    return {&profile.value, &cluster.value, executor, reserve};
  }
};

// The question that a plan answered, where it can be asked again.
struct PlanQuestion {
  std::string why_not;  // not empty: what is missing, in words; there is no question then
  Question question;    // for as many GPUs as the plan uses; nothing is pinned
};

}  // namespace penstock
