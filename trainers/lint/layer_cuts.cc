#include "trainers/lint/layer_cuts.h"

#include <algorithm>
#include <numeric>

#include "core/values/model_layers.h"

namespace penstock {

std::vector<int> cuts_of_layers(const std::vector<std::string>& section_names,
                                const std::vector<int>& layers_per_stage) {
  const auto model = model_layers(section_names);
  if (!model || layers_per_stage.empty()) return {};
  const int all = std::accumulate(layers_per_stage.begin(), layers_per_stage.end(), 0);
  if (all != model->layers) return {};
  std::vector<int> cuts{0};
  int at = model->front;
  for (const int layers : layers_per_stage) cuts.push_back(at += layers);
  cuts.back() += model->back;
  return cuts;
}

std::vector<int> layers_of_cuts(const std::vector<std::string>& section_names,
                                const std::vector<int>& cuts) {
  const auto model = model_layers(section_names);
  std::vector<int> layers;
  if (!model) return layers;
  const auto up_to = [&model](int cut) { return std::clamp(cut - model->front, 0, model->layers); };
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    layers.push_back(up_to(cuts[s + 1]) - up_to(cuts[s]));
  }
  return layers;
}

}  // namespace penstock
