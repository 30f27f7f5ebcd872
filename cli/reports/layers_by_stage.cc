#include "cli/reports/layers_by_stage.h"

#include <algorithm>
#include <cstddef>

#include "core/values/model_layers.h"
#include "search/trainer_plans.h"

namespace penstock {

std::optional<LayersByStage> layers_by_stage(const Plan& plan, const ModelProfile& profile) {
  const auto model = model_layers(names_of_sections(profile));
  const int stages = plan.stages_per_copy();
  if (!model || plan.cuts.size() != static_cast<std::size_t>(stages) + 1) return {};
  LayersByStage layers{model->layers, model->layers, 0};
  for (int stage = 0; stage < stages; ++stage) {
    const int count = layers_of_stage(*model, plan, stage).count;
    layers.fewest = std::min(layers.fewest, count);
    layers.most = std::max(layers.most, count);
  }
  return layers;
}

}  // namespace penstock
