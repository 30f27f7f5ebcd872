#include <string>

#include "core/files/plan_parts.h"
#include "core/files/read_sources.h"

namespace penstock {
namespace {

constexpr int kMostDevices = 10'000'000;
constexpr int kMostRuns = 1'000'000;
constexpr double kMostFactor = 1e6;

// Transfers and reductions cannot be faster than the links they use.
PriceFactors read_factors(JsonReader object) {
  PriceFactors factors;
  factors.compute = object.at("compute").number(0.0, kMostFactor);
  factors.small_kernels = object.at("small_kernels").number(0.0, kMostFactor);
  factors.transfer = object.at("transfer").number(1.0, kMostFactor);
  factors.reduction = object.at("reduction").number(1.0, kMostFactor);
  factors.reduction_ps_per_byte = object.at("reduction_ps_per_byte").number(0.0, kMostFactor * 1e6);
  object.finish();
  return factors;
}

MemoryFactors read_memory(JsonReader object) {
  MemoryFactors memory;
  memory.bytes_per_parameter = read_int(object.at("bytes_per_parameter"), -1000, 1000);
  memory.activations = object.at("activations").number(0.0, kMostFactor);
  if (const auto reserve = object.get("reserve_bytes")) memory.reserve = reserve->bytes();
  object.finish();
  return memory;
}

CalibratedOn read_fitted_on(JsonReader& object) {
  CalibratedOn runs;
  runs.profile = read_name(object.at("profile"));
  runs.schedule = read_name(object.at("schedule"));
  runs.pipeline = read_int(object.at("pipeline"), 1, kMostDevices);
  runs.chunks = read_int(object.at("chunks"), 1, kMostDevices);
  runs.tensor = read_int(object.at("tensor"), 1, kMostDevices);
  runs.micro_batch_size = read_int(object.at("micro_batch_size"), 1, kMostDevices);
  runs.runs = read_int(object.at("runs"), 1, kMostRuns);
  object.finish();
  return runs;
}

Posterior read_posterior(JsonReader object) {
  constexpr double kMost = 1e30;  // the square of a second in nanoseconds is 1e18
  Posterior posterior;
  posterior.run_to_run = object.at("run_to_run").number(0.0, kMostFactor);
  posterior.degrees = read_int(object.at("degrees"), 1, kMostRuns);
  const JsonReader covariance = object.at("covariance");
  for (const JsonReader& value : covariance.elements()) {
    posterior.covariance.push_back(value.number(-kMost, kMost));
  }
  if (posterior.covariance.size() != kStepTerms * kStepTerms) {
    covariance.fail("expected " + std::to_string(kStepTerms * kStepTerms) + " numbers, got " +
                    std::to_string(posterior.covariance.size()));
  }
  for (JsonReader& element : need_elements(object, "fitted_on", "what some runs were of")) {
    posterior.fitted_on.push_back(read_fitted_on(element));
  }
  object.finish();
  return posterior;
}

}  // namespace

Calibration read_calibration(JsonReader object, const KnowsDevice& require_known) {
  Calibration calibration;
  int version = 1;
  if (const auto given = object.get("version")) version = read_int(*given, 1, 2);
  JsonReader fitted_on = need(object, "fitted_on", "the profile, device and number of runs");
  calibration.profile = read_name(need(fitted_on, "profile", "the name of the model"));
  const JsonReader device = need(fitted_on, "device", "the name of one of device_types");
  require_known(device);
  calibration.device = device.string();
  calibration.runs = read_int(need(fitted_on, "runs", "how many"), 1, kMostRuns);
  fitted_on.finish();
  calibration.error =
      need(object, "error", "root mean square of the leave-one-out errors").number(0.0, 1e6);
  calibration.executor = read_executor(need(object, "model", "as in a plan file"));
  calibration.factors = read_factors(need(object, "factors", "of compute, transfers, reductions"));
  if (const auto memory = object.get("memory")) calibration.memory = read_memory(*memory);
  if (version == 2) {
    calibration.posterior =
        read_posterior(need(object, "posterior", "how sure the terms are, of version 2"));
  }
  object.finish();
  return calibration;
}

}  // namespace penstock
