// E013: lists of modules.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "trainers/megatron/megatron_layout.h"
#include "trainers/torchtitan/torchtitan_judge.h"

namespace penstock {

void TorchtitanJudge::judge_modules() {
  const LaunchSetting* setting =
      settings().find(version_.splits_by_points ? kSplitPoints : kModules);
  if (setting == nullptr) return;
  if (!setting->unresolved.empty()) {
    not_judged("E013", known(setting->name, std::nullopt).why_not);
    return;
  }
  judged("E013");
  version_.splits_by_points ? judge_split_points(*setting) : judge_lists(*setting);
}

void TorchtitanJudge::wrong_modules(const LaunchSetting& setting, std::string message,
                                    const std::string& why) {
  LintFinding& finding = broken("E013", {&setting}, std::move(message), why,
                                "name every module once, in the model's order");
  const int layers = layers_.value_or(highest_layer() + 1);
  const auto stages = static_cast<int>(listed_stages().value_or(1));
  if (stages > layers || layers > 10'000) return;
  finding.fix_layers = spread_evenly(layers, stages);
  finding.fix = lists_of(finding.fix_layers);
}

void TorchtitanJudge::judge_split_points(const LaunchSetting& setting) {
  int before = 0;
  for (const std::string& point : split_points_) {
    const auto layer = torchtitan_layer(point);
    if (!layer) {
      wrong_modules(setting, fmt::format("'{}' is no layer to split in front of", point), kStops);
      return;
    }
    if (*layer <= before) {
      wrong_modules(
          setting,
          fmt::format("{} does not come behind layers.{}: a stage has nothing", point, before),
          "The stage's rank starts without a layer.");
      return;
    }
    before = *layer;
  }
  if (layers_ && before >= *layers_) {
    wrong_modules(setting,
                  fmt::format("the model's last layer is layers.{}, and layers.{} begins a stage",
                              *layers_ - 1, before),
                  "The last stages build no layer.");
  }
  if (!layers_) not_judged("E013", "the model's layers; name it with --config");
}

void TorchtitanJudge::judge_lists(const LaunchSetting& setting) {
  std::map<std::string, int> times;
  for (const auto& part : parts_) {
    for (const std::string& name : part) ++times[name];
  }
  for (const auto& [name, count] : times) {
    if (count == 1) continue;
    wrong_modules(setting, fmt::format("{} is in {} lists", name, count),
                  "Two stages build it, each with its own weights; the loss is silently wrong.");
    return;
  }
  if (const std::string other = wrong_head(times); !other.empty()) {
    wrong_modules(setting,
                  fmt::format("torchtitan {} calls the head {}, and the lists have {}",
                              request().version, head(), other),
                  "The last stage is built without a head.");
    return;
  }
  if (const std::string missing = missing_module(times); !missing.empty()) {
    wrong_modules(setting, fmt::format("{} is in no list", missing),
                  "No stage builds it; the model is a smaller one, without a warning.");
    return;
  }
  judge_ends(setting);
  if (!layers_) not_judged("E013", "whether there are more layers; name the model with --config");
}

std::string TorchtitanJudge::wrong_head(const std::map<std::string, int>& times) const {
  const std::string other = is_head() ? "output" : "lm_head";
  return times.contains(other) && !times.contains(std::string(head())) ? other : "";
}

std::string TorchtitanJudge::missing_module(const std::map<std::string, int>& times) const {
  for (const std::string& name :
       {std::string("tok_embeddings"), std::string("norm"), std::string(head())}) {
    if (!times.contains(name)) return name;
  }
  const int layers = std::min(layers_.value_or(highest_layer() + 1), 100'000);
  for (int i = 0; i < layers; ++i) {
    std::string name = fmt::format("layers.{}", i);
    if (!times.contains(name)) return name;
  }
  return "";
}

void TorchtitanJudge::judge_ends(const LaunchSetting& setting) {
  const auto has = [](const std::vector<std::string>& part, std::string_view name) {
    return std::find(part.begin(), part.end(), name) != part.end();
  };
  if (!has(parts_.front(), "tok_embeddings") || !has(parts_.back(), head())) {
    wrong_modules(setting,
                  fmt::format("the first list must hold tok_embeddings, the last {}", head()),
                  kStops);
    return;
  }
  int before = -1;
  for (const auto& part : parts_) {
    for (const std::string& name : part) {
      const int layer = torchtitan_layer(name).value_or(before);
      if (layer < before) {
        wrong_modules(setting, fmt::format("{} comes behind layers.{}", name, before),
                      "Layers run in another order than the model's, without a warning.");
        return;
      }
      before = layer;
    }
  }
  if (!layers_ || highest_layer() < *layers_) return;
  wrong_modules(setting,
                fmt::format("the model's last layer is layers.{}, and the lists have layers.{}",
                            *layers_ - 1, highest_layer()),
                kStops);
}

}  // namespace penstock
