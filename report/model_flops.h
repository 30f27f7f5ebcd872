// Model FLOP utilization: the operations that a model asks for, per second, as a share of what the
// devices could do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/json.h"
#include "core/values/plan.h"
#include "core/values/units.h"

namespace penstock {

struct ModelFlops {
  double per_sample = 0.0;  // forward and backward, without recompute
  std::string convention;   // what is counted: "6 FLOP per parameter and token"
  std::vector<std::pair<std::string, double>> peaks;  // device type, FLOP/s of one device
};

double flops_per_second_and_gpu(const ModelFlops& flops, const Plan& plan, Duration step_time);
// 0..1; nothing where the peak of a device of the plan is not known.
std::optional<double> mfu(const ModelFlops& flops, const Plan& plan, Duration step_time);

// {"per_sample": ..., "convention": ...}
Json to_json(const ModelFlops& flops);

}  // namespace penstock
