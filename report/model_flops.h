// Model FLOP utilization: the operations that a model asks for, per second, as a share of what the
// devices could do.
#pragma once

#include <optional>
#include <string>

#include "core/values/evaluation.h"
#include "core/values/json.h"
#include "core/values/model_flops.h"
#include "core/values/plan.h"
#include "core/values/units.h"

namespace penstock {

double flops_per_second_and_gpu(const ModelFlops& flops, const Plan& plan, Duration step_time);
// 0..1; nothing where the peak of a device of the plan is not known.
std::optional<double> mfu(const ModelFlops& flops, const Plan& plan, Duration step_time);

// "527 TFLOP/s per GPU, MFU 53 % (36 to 58)": of the step time, and of the ends of its interval.
std::string flops_text(const ModelFlops& flops, const Plan& plan, const Evaluation& evaluation);

// {"per_sample": ..., "convention": ...}
Json to_json(const ModelFlops& flops);

}  // namespace penstock
