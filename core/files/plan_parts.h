// Parts of penstock.plan/2 that have a reader of their own. Other files hold some of them as well:
// the decisions (measured runs), the executor model and what was fitted to runs (calibrated
// clusters). Private to core/.
#pragma once

#include <functional>
#include <limits>

#include "core/values/calibration.h"
#include "core/values/executor_model.h"
#include "core/values/json_fields.h"
#include "core/values/json_reader.h"
#include "core/values/plan.h"
#include "core/values/plan_file.h"

namespace penstock {

// A plan of a model of at most `sections` sections.
Plan read_decisions(JsonReader reader, int sections);

// The prices of the stages and ties of a file whose plan and ties are set.
StagePrices read_prices(JsonReader reader, const PlanFile& file);
Json write_prices(const StagePrices& prices);

// A prediction for `ranks` listed ranks.
Evaluation read_prediction(JsonReader reader, int ranks);
Json write_prediction(const Evaluation& prediction);

ExecutorModel read_executor(JsonReader reader);
Json write_executor(const ExecutorModel& executor);

// Complains of a device type that is not there.
using KnowsDevice = std::function<void(const JsonReader& device)>;
Calibration read_calibration(JsonReader object, const KnowsDevice& require_known);
Json write_calibration(const Calibration& calibration);

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, InputFile>& input) {
  fields("path", input.path);
  fields("hash", input.hash);
}

inline constexpr double kMostUsdPerHour = 1e9;
inline constexpr int kMostPerNode = std::numeric_limits<int>::max();

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, PlanDevice>& device) {
  fields("name", device.name);
  fields("memory_per_device_bytes", device.memory);
  fields("reserve_bytes", device.reserve);
  fields("usd_per_hour", device.usd_per_hour, 0.0, kMostUsdPerHour);
  fields("devices_per_node", device.per_node, 1, kMostPerNode);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, PlanCluster>& cluster) {
  fields("name", cluster.name);
  fields("device", cluster.device);
  fields("memory_per_device_bytes", cluster.memory_per_device);
  fields("reserve_bytes", cluster.reserve);
  fields("usd_per_hour", cluster.usd_per_hour, 0.0, kMostUsdPerHour);
  fields("devices_per_node", cluster.devices_per_node, 1, kMostPerNode);
  fields.unless_zero("host_memory_bytes", cluster.host_memory);
  fields.unless_zero("limited_from_bytes", cluster.limited_from);
  fields.if_any("other_devices", cluster.other_devices);
  fields("levels", cluster.levels);
  fields("boundary_level", cluster.boundary_level, -1, static_cast<int>(cluster.levels.size()) - 1);
}

}  // namespace penstock
