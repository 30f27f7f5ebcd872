#include "core/values/model_layers.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// "layer" and 12 of "layer.12"; nothing for other names.
std::optional<std::pair<std::string_view, int>> numbered(std::string_view name) {
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string_view::npos || dot + 1 == name.size() || name.size() - dot > 8) return {};
  int number = 0;
  for (const char c : name.substr(dot + 1)) {
    if (c < '0' || c > '9') return {};
    number = number * 10 + (c - '0');
  }
  return std::pair{name.substr(0, dot), number};
}

}  // namespace

std::optional<ModelLayers> model_layers(const std::vector<std::string>& sections) {
  ModelLayers model;
  std::string_view stem;
  for (const std::string& name : sections) {
    const auto layer = numbered(name);
    const bool is_next = layer && layer->second == model.layers && model.back == 0 &&
                         (model.layers == 0 || layer->first == stem);
    if (is_next) {
      stem = layer->first;
      ++model.layers;
    } else {
      ++(model.layers == 0 ? model.front : model.back);
    }
  }
  if (model.layers == 0) return {};
  return model;
}

StageLayers layers_of_stage(const ModelLayers& model, const Plan& plan, int stage) {
  const int begin = plan.first_section(stage), end = plan.end_section(stage);
  const auto overlap = [begin, end](int first, int last) {
    return std::max(0, std::min(end, last) - std::max(begin, first));
  };
  const int after = model.front + model.layers;
  StageLayers held;
  held.front = overlap(0, model.front);
  held.count = overlap(model.front, after);
  held.back = overlap(after, after + model.back);
  held.first = std::max(begin, model.front) - model.front;
  return held;
}

}  // namespace penstock
