// How much of a datasheet's rates training gets: penstock.efficiency/1, fitted on measured profiles
// (fit_efficiency.h), and the time that a section's counts take by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/device_sheet.h"
#include "core/values/json.h"
#include "core/values/profile.h"
#include "core/values/units.h"
#include "estimator/attention_rate.h"
#include "estimator/count_operations.h"

namespace penstock {

// time = max(floor, sum over products of flops * shape_factor / (products * peak)
//                   + scores / rate of attention + (bytes + casts) / (memory * bandwidth)
//                   + what sums inside products take longer than those, at 0.9 * bandwidth
//                   + (sums + copies + unfused) / (0.9 * bandwidth) + reduced / (link * link))
//        + routing * min(experts, 16)
struct EfficiencyTerms {
  double products = 1.0;         // share of the peak rate of matrix products, 0..1
  double memory = 1.0;           // share of the memory bandwidth
  double link = 1.0;             // share of the bandwidth inside a node
  double experts = 1.0;          // products of experts, over that of others
  double routing_s = 0.0;        // each way, of an expert on a rank: sorting and launching
  double forward_floor_s = 0.0;  // of a layer: what the host takes to launch it
  double backward_floor_s = 0.0;
  double end_floor = 0.0;  // of embedding and head, as a share of a layer's
  bool operator==(const EfficiencyTerms&) const = default;
};

// Efficiencies differ by how wide numbers are: "half" (bfloat16, float16), "tensorfloat32",
// "float32", "float8".
std::string_view width_name(Arithmetic arithmetic);

// For devices of one generation, or ("any") of all others.
struct EfficiencyCurve {
  std::string generation;
  std::string width;  // width_name()
  bool eager = true;  // fitted to kernels that were not fused, one after the other
  EfficiencyTerms terms;
  // Nine of ten measured passes over a model, or runs, lay within it from what a fit without their
  // profile or set (of "any": without their device) predicted, relative to the prediction.
  ErrorBand error;
  // The same of other trainers (asks_for_other_trainer()), where runs of those were counted; of
  // "any": all of them.
  std::optional<ErrorBand> other_trainers{};
  // Nobody counted runs for `error`, though the generation has a curve.
  bool error_assumed = false;
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
  bool operator==(const Efficiency&) const = default;
};

// Of the device's generation and arithmetic, or "any".
const EfficiencyCurve& curve_for(const Efficiency& efficiency, const DeviceSheet& device,
                                 Arithmetic arithmetic);

enum class Direction { kForward, kBackward };
enum class Place { kLayer, kEnd };

// Everything that turns the counts of one model into seconds on one device.
struct Rates {
  const DeviceSheet* device = nullptr;
  double peak_flops_per_s = 0.0;
  EfficiencyTerms terms;
  double layer_flops_per_s = 0.0;  // of the products of layers: share times peak
  int processors = 0;  // for the shapes of products; eager curves were fitted without them
  double forward_scores = 1.0, backward_scores = 1.0;  // operations of attention per second
};
// Layers multiply 8 bits by a curve of their own, and everything else goes by `curve`.
void use_float8(const EfficiencyCurve& float8, double peak_flops_per_s, Rates& rates);
// They point at `device`, which must outlive them.
Rates rates_of(const DeviceSheet& device, double peak_flops_per_s, const EfficiencyCurve& curve,
               AttentionKernel kernel, int sequence_length, int head_width);
Rates rates_of(DeviceSheet&&, double, const EfficiencyCurve&, AttentionKernel, int, int) = delete;

// What a time is made of, in seconds.
struct WorkTimes {
  double products = 0.0, attention = 0.0, memory = 0.0, links = 0.0;
  double experts = 0.0, routing = 0.0, casts = 0.0, sums = 0.0, copies = 0.0, unfused = 0.0;
  double beyond = 0.0;    // what sums of gradients inside products take longer than those
  double launches = 0.0;  // what the host takes beyond all of them
  [[nodiscard]] double sum() const {
    return products + experts + attention + memory + casts + sums + beyond + copies + unfused +
           routing + links + launches;
  }
};
WorkTimes times_of(const Work& work, Direction direction, Place place, const Rates& rates);

// Error{kBadInput} with file, line, path, value and remedy; also when there is no curve for "any".
Efficiency read_efficiency(const Json& json, const std::string& file);
Json write_efficiency(const Efficiency& efficiency);

}  // namespace penstock
