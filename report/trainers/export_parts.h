// What exporters share. Private to report/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/model_layers.h"
#include "core/values/trainer_limits.h"
#include "report/trainers/export_plan.h"

namespace penstock {

Export export_pytorch(const PlanFile& plan, const ExportRequest& request);
Export export_torchtitan(const PlanFile& plan, const ExportRequest& request);
Export export_megatron(const PlanFile& plan, const ExportRequest& request);
Export export_megatron_bridge(const PlanFile& plan, const ExportRequest& request);
Export export_deepspeed(const PlanFile& plan, const ExportRequest& request);
Export export_varuna(const PlanFile& plan, const ExportRequest& request);

// Comment lines, each begun with `mark` ("# "): plan, hash, command, prediction.
std::string header_of(const PlanFile& plan, const ExportRequest& request, std::string_view target,
                      std::string_view mark);

// The compute_only form of PyTorch's CSV. `dialect_of_2024`: B is the input gradient, BW the whole
// backward.
std::string plan_csv(const PlanFile& plan, bool dialect_of_2024);

Export refused(std::string why, std::optional<Plan> nearest = {});
// By verdict_of(): what the trainer cannot run, in its sentence.
std::optional<Export> refused_by(Trainer trainer, const PlanFile& plan);

// Whether gradients are summed up in 32 bits beside parameters of 16, as the plan's prices have it.
bool sums_gradients_in_32_bits(const PlanFile& plan);
// The cuts as Megatron-LM's layout string; what is to be said of them.
std::string megatron_layout(const PlanFile& plan);
std::vector<std::string> megatron_notes(const PlanFile& plan);
bool has_16_bits(const ExportRequest& request);

}  // namespace penstock
