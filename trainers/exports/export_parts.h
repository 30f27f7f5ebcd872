// What exporters share. Private to trainers/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/model_layers.h"
#include "core/values/trainer_limits.h"
#include "trainers/exports/export_plan.h"

namespace penstock {

// Comment lines, each begun with `mark` ("# "): plan, hash, command, prediction.
std::string header_of(const PlanFile& plan, const ExportRequest& request, std::string_view target,
                      std::string_view mark);

// The compute_only form of PyTorch's CSV. `dialect_of_2024`: B is the input gradient, BW the whole
// backward.
std::string plan_csv(const PlanFile& plan, bool dialect_of_2024);

Export refused(std::string why, std::optional<Plan> nearest = {});

// Whether gradients are summed up in 32 bits beside parameters of 16, as the plan's prices have it.
bool sums_gradients_in_32_bits(const PlanFile& plan);
// Whether the plan has TP > 1 and was priced without sequence parallelism.
bool is_without_sequence_parallelism(const PlanFile& file);
// Whether Megatron-LM divides norms and residuals over the ranks of TP: as planned, but models with
// experts always, since it refuses them without.
bool is_sequence_parallel(const PlanFile& file, const ExportRequest& request);
bool has_16_bits(const ExportRequest& request);

}  // namespace penstock
