#include <utility>

#include "core/files/plan_parts.h"
#include "core/values/json.h"

namespace penstock {
namespace {

Json write_memory(const MemoryFactors& memory) {
  Json json = Json::object()
                  .set("bytes_per_parameter", memory.bytes_per_parameter)
                  .set("activations", memory.activations);
  if (memory.reserve) json.set("reserve_bytes", memory.reserve->count);
  return json;
}

Json write_posterior(const Posterior& posterior) {
  Json covariance = Json::array(), fitted_on = Json::array();
  for (const double value : posterior.covariance) covariance.push(value);
  for (const CalibratedOn& runs : posterior.fitted_on) {
    fitted_on.push(Json::object()
                       .set("profile", runs.profile)
                       .set("schedule", runs.schedule)
                       .set("pipeline", runs.pipeline)
                       .set("chunks", runs.chunks)
                       .set("tensor", runs.tensor)
                       .set("micro_batch_size", runs.micro_batch_size)
                       .set("runs", runs.runs));
  }
  return Json::object()
      .set("run_to_run", posterior.run_to_run)
      .set("degrees", posterior.degrees)
      .set("covariance", std::move(covariance))
      .set("fitted_on", std::move(fitted_on));
}

}  // namespace

Json write_calibration(const Calibration& calibration) {
  const PriceFactors& factors = calibration.factors;
  Json json = Json::object();
  if (calibration.posterior) json.set("version", 2);
  json.set("fitted_on", Json::object()
                            .set("profile", calibration.profile)
                            .set("device", calibration.device)
                            .set("runs", calibration.runs))
      .set("error", calibration.error)
      .set("model", write_executor(calibration.executor))
      .set("factors", Json::object()
                          .set("compute", factors.compute)
                          .set("small_kernels", factors.small_kernels)
                          .set("transfer", factors.transfer)
                          .set("reduction", factors.reduction)
                          .set("reduction_ps_per_byte", factors.reduction_ps_per_byte));
  if (calibration.memory != MemoryFactors{}) json.set("memory", write_memory(calibration.memory));
  if (calibration.posterior) json.set("posterior", write_posterior(*calibration.posterior));
  return json;
}

}  // namespace penstock
