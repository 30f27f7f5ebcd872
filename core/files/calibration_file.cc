// What was fitted to runs, as it stands in plan files and calibrated clusters.
#include <string>

#include "core/files/plan_parts.h"
#include "core/files/read_sources.h"
#include "core/values/json_fields.h"

namespace penstock {
namespace {

constexpr int kMostDevices = 10'000'000;
constexpr int kMostRuns = 1'000'000;
constexpr double kMostFactor = 1e6;

std::string read_a_name(const JsonReader& reader) { return read_name(reader); }

}  // namespace

// Transfers and reductions cannot be faster than the links they use.
template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, PriceFactors>& factors) {
  fields("compute", factors.compute, 0.0, kMostFactor);
  fields("small_kernels", factors.small_kernels, 0.0, kMostFactor);
  fields("transfer", factors.transfer, 1.0, kMostFactor);
  fields("reduction", factors.reduction, 1.0, kMostFactor);
  fields("reduction_ps_per_byte", factors.reduction_ps_per_byte, 0.0, kMostFactor * 1e6);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, MemoryFactors>& memory) {
  fields("bytes_per_parameter", memory.bytes_per_parameter, -1000, 1000);
  fields("activations", memory.activations, 0.0, kMostFactor);
  fields.if_any("reserve_bytes", memory.reserve);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, CalibratedOn>& runs) {
  fields.as("profile", runs.profile, json_of<std::string>, read_a_name);
  fields.as("schedule", runs.schedule, json_of<std::string>, read_a_name);
  fields("pipeline", runs.pipeline, 1, kMostDevices);
  fields("chunks", runs.chunks, 1, kMostDevices);
  fields("tensor", runs.tensor, 1, kMostDevices);
  fields("micro_batch_size", runs.micro_batch_size, 1, kMostDevices);
  fields("runs", runs.runs, 1, kMostRuns);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, Posterior>& posterior) {
  constexpr double kMost = 1e30;  // the square of a second in nanoseconds is 1e18
  fields("run_to_run", posterior.run_to_run, 0.0, kMostFactor);
  fields("degrees", posterior.degrees, 1, kMostRuns);
  fields("covariance", posterior.covariance, -kMost, kMost);
  if constexpr (Fields::kReads) {
    static_cast<void>(need_elements(fields.reader(), "fitted_on", "what some runs were of"));
  }
  fields("fitted_on", posterior.fitted_on);
  if constexpr (Fields::kReads) {
    if (posterior.covariance.size() != kStepTerms * kStepTerms) {
      fields.reader()
          .at("covariance")
          .fail("expected " + std::to_string(kStepTerms * kStepTerms) + " numbers, got " +
                std::to_string(posterior.covariance.size()));
    }
  }
}

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
  calibration.factors =
      read_json<PriceFactors>(need(object, "factors", "of compute, transfers, reductions"));
  if (const auto memory = object.get("memory")) read_json(*memory, calibration.memory);
  if (version == 2) {
    calibration.posterior =
        read_json<Posterior>(need(object, "posterior", "how sure the terms are, of version 2"));
  }
  object.finish();
  return calibration;
}

Json write_calibration(const Calibration& calibration) {
  Json json = Json::object();
  if (calibration.posterior) json.set("version", 2);
  json.set("fitted_on", Json::object()
                            .set("profile", calibration.profile)
                            .set("device", calibration.device)
                            .set("runs", calibration.runs))
      .set("error", calibration.error)
      .set("model", write_executor(calibration.executor))
      .set("factors", json_of(calibration.factors));
  if (calibration.memory != MemoryFactors{}) json.set("memory", json_of(calibration.memory));
  if (calibration.posterior) json.set("posterior", json_of(*calibration.posterior));
  return json;
}

}  // namespace penstock
