// How much of a datasheet's rates training gets: penstock.efficiency/1, fitted on measured profiles
// (fit_efficiency.h), and the time that a section's counts take by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device_sheet.h"
#include "core/json.h"
#include "core/units.h"
#include "estimator/count_operations.h"

namespace penstock {

// time = max(floor, flops / (products * peak) + bytes / (memory * bandwidth) + reduced / (link *
// link))
struct EfficiencyTerms {
  double products = 1.0;         // share of the peak rate of matrix products, 0..1
  double memory = 1.0;           // share of the memory bandwidth
  double link = 1.0;             // share of the bandwidth inside a node
  double forward_floor_s = 0.0;  // of a layer: what the host takes to launch it
  double backward_floor_s = 0.0;
  double end_floor = 0.0;  // of embedding and head, as a share of a layer's
  bool operator==(const EfficiencyTerms&) const = default;
};

// For devices of one generation, or ("any") of all others.
struct EfficiencyCurve {
  std::string generation;
  bool tensor_cores = true;  // arithmetic below full float32
  EfficiencyTerms terms;
  // Nine of ten measured passes over a model lay no further from what a fit without their profile
  // (of "any": without their device) predicted, relative to the prediction.
  double error = 0.0;
  bool operator==(const EfficiencyCurve&) const = default;
};

// How far passes that were left out of a fit lay from its prediction: |measured / predicted - 1|.
struct LeftOut {
  std::string what;  // "profile gpt-neo-2.7b", "device gh200-96gb"
  std::int64_t passes = 0;
  double median = 0.0, nine_of_ten = 0.0, largest = 0.0;
  double bias = 0.0;   // median of measured / predicted - 1
  bool in_fit = true;  // false: kept out of every fit, and out of the error
  bool operator==(const LeftOut&) const = default;
};

struct Efficiency {
  std::string text;                     // how it was fitted
  std::vector<EfficiencyCurve> curves;  // "any" among them
  std::vector<LeftOut> left_out;
  // The largest of the curves: what intervals use, since one number is all a profile's origin says.
  [[nodiscard]] double error() const;
  bool operator==(const Efficiency&) const = default;
};

// Of the device's generation and arithmetic, or "any".
const EfficiencyCurve& curve_for(const Efficiency& efficiency, const DeviceSheet& device,
                                 Arithmetic arithmetic);

enum class Direction { kForward, kBackward };
enum class Place { kLayer, kEnd };
// Seconds.
double time_of(const Work& work, Direction direction, Place place, const DeviceSheet& device,
               double peak_flops_per_s, const EfficiencyTerms& terms);
// Is it the floor that decides?
bool at_floor(const Work& work, Direction direction, Place place, const DeviceSheet& device,
              double peak_flops_per_s, const EfficiencyTerms& terms);

// Error{kBadInput} with file, line, path, value and remedy; also when there is no curve for "any".
Efficiency read_efficiency(const Json& json, const std::string& file);
Json write_efficiency(const Efficiency& efficiency);

}  // namespace penstock
