// What exporters share. Private to report/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/trainers/export_plan.h"

namespace penstock {

Export export_pytorch(const PlanFile& plan, const ExportRequest& request);
Export export_torchtitan(const PlanFile& plan, const ExportRequest& request);
Export export_megatron(const PlanFile& plan, const ExportRequest& request);
Export export_deepspeed(const PlanFile& plan, const ExportRequest& request);
Export export_varuna(const PlanFile& plan, const ExportRequest& request);

// The sections of a model as trainers count them: what comes before the layers (embedding), the
// layers (sections named STEM.0, STEM.1, ...), and what follows them (norm, head).
struct ModelLayers {
  int front = 0, layers = 0, back = 0;  // sections of each
};
// Nothing when no sections are named so.
std::optional<ModelLayers> model_layers(const std::vector<std::string>& sections);
inline constexpr std::string_view kNoLayers =
    "its layers are told by their names (layer.0, layer.1, ...), and the sections of this model "
    "have none such";

// What one stage holds of them.
struct StageLayers {
  int front = 0, back = 0;   // sections
  int first = 0, count = 0;  // layers
};
StageLayers layers_of_stage(const ModelLayers& model, const Plan& plan, int stage);

// Comment lines, each begun with `mark` ("# "): plan, hash, command, prediction.
std::string header_of(const PlanFile& plan, const ExportRequest& request, std::string_view target,
                      std::string_view mark);

// The compute_only form of PyTorch's CSV. `dialect_of_2024`: B is the input gradient, BW the whole
// backward.
std::string plan_csv(const PlanFile& plan, bool dialect_of_2024);

Export refused(std::string why, std::optional<Plan> nearest = {});
// A plan whose recompute is divided, by a trainer that has one mode for all layers: the nearest
// plan has the mode everywhere.
Export refused_divided_recompute(std::string_view trainer, const Plan& plan);

}  // namespace penstock
