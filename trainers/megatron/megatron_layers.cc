// E010 and E012: how the layers are split.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "trainers/megatron/megatron_judge.h"

namespace penstock {

int MegatronJudge::accounted() const {
  return (settings().on(kEmbedding) ? 1 : 0) + (settings().on(kLoss) ? 1 : 0);
}

bool MegatronJudge::has_hybrid_pipes() const {
  const auto pattern = settings().text(kHybrid);
  return pattern && pattern->find('|') != std::string::npos;
}

void MegatronJudge::judge_first_and_last() {
  if (!judgeable("E012", {&pipeline_}) || *pipeline_ > 1) return;
  for (const char* flag : {kFirst, kLast}) {
    const LaunchSetting* setting = settings().find(flag);
    if (setting == nullptr) continue;
    const Known kept = known(flag, std::nullopt);
    if (kept.is_known() && layers_.is_known() && *kept == *layers_) continue;
    broken("E012", {setting},
           fmt::format("{} with PP = 1 builds {} layers{}", flag,
                       kept.is_known() ? fmt::format("{}", *kept) : "that many",
                       layers_.is_known() ? fmt::format(", not {}", *layers_) : ""),
           "Megatron-LM says nothing, and reports TFLOP/s and parameters as if all layers of "
           "--num-layers were there.",
           fmt::format("leave {} out", flag));
  }
}

void MegatronJudge::judge_layers() {
  if (is_deepspeed_) {
    not_judged("E010", "DeepSpeed cuts the model, by --pp-partition-method and weights of its own");
    return;
  }
  if (!certain("E010", {kLayout, kVirtualStages, kPerVirtualStage, kFirst, kLast, kEmbedding, kLoss,
                        "--deepspeed", kHybrid})) {
    return;
  }
  if (has_hybrid_pipes()) {
    judge_hybrid();
    return;
  }
  if (!judge_exclusive()) return;
  if (settings().has(kLayout)) {
    judged("E010");
    return;
  }
  const Known each = known(kPerVirtualStage, 1), virtual_stages = known(kVirtualStages, 1);
  if (!judgeable("E010", {&pipeline_, &layers_, &each, &virtual_stages})) return;
  if (*pipeline_ == 1 && split_layers() % *each != 0) {
    broken(
        "E010", {settings().find(kPerVirtualStage)},
        fmt::format("{} layers are not a multiple of {} per virtual stage", split_layers(), *each),
        kStops, fmt::format("leave {} out: PP is 1", kPerVirtualStage));
  } else if (*pipeline_ == 1) {
    set_stages({static_cast<int>(*layers_)});
  } else if (settings().has(kFirst) || settings().has(kLast)) {
    judge_uneven(*virtual_stages);
  } else {
    judge_even(*each, *virtual_stages);
  }
}

void MegatronJudge::judge_hybrid() {
  const LaunchSetting* other = nullptr;
  for (const char* flag : {kFirst, kLast, kPerVirtualStage, kVirtualStages, kLayout}) {
    if (other == nullptr) other = settings().find(flag);
  }
  if (other != nullptr) {
    broken("E010", {other},
           fmt::format("{} splits the layers by its own |, and {} splits them again", kHybrid,
                       other->name),
           kStops, fmt::format("leave {} out", other->name));
  }
  not_judged("E010", fmt::format("{} has the split in itself", kHybrid));
}

bool MegatronJudge::judge_exclusive() {
  const LaunchSetting* first = nullptr;
  for (const char* flag : {kLayout, kVirtualStages, kPerVirtualStage}) {
    const LaunchSetting* setting = settings().find(flag);
    if (setting != nullptr && first != nullptr) {
      broken("E010", {setting}, fmt::format("{} and {} split the layers twice", first->name, flag),
             kStops, fmt::format("leave {} out", flag));
      return false;
    }
    if (setting != nullptr) first = setting;
  }
  for (const char* flag : {kFirst, kLast}) {
    const LaunchSetting* setting = settings().find(flag);
    const bool clashes = first != nullptr && first->name != kVirtualStages;
    if (setting == nullptr || !clashes) continue;
    broken("E010", {setting}, fmt::format("{} cannot be combined with {}", flag, first->name),
           kStops, fmt::format("leave {} out", flag));
    return false;
  }
  return judge_accounted();
}

bool MegatronJudge::judge_accounted() {
  const LaunchSetting* split = settings().find(kLayout);
  if (split == nullptr) split = settings().find(kFirst);
  if (split == nullptr) split = settings().find(kLast);
  if (split == nullptr) return true;
  for (const char* flag : {kEmbedding, kLoss}) {
    if (!settings().on(flag)) continue;
    broken("E010", {settings().find(flag)},
           fmt::format("{} cannot be combined with {}", flag, split->name), kStops,
           fmt::format("leave {} out: {} says where the layers are", flag, split->name));
    return false;
  }
  return true;
}

void MegatronJudge::judge_even(std::int64_t each, std::int64_t virtual_stages) {
  const std::int64_t all = split_layers(), per_rank = all / *pipeline_;
  const std::string what = accounted() == 0 ? fmt::format("{} layers", *layers_)
                                            : fmt::format("{} layers and {} for embedding or loss",
                                                          *layers_, accounted());
  if (all % *pipeline_ != 0) {
    uneven(fmt::format("{} cannot be split evenly over {} stages", what, *pipeline_),
           *pipeline_ * virtual_stages, pipeline_.from);
    return;
  }
  if (per_rank % each != 0) {
    uneven(fmt::format("{} layers of a rank are not a multiple of {} per virtual stage", per_rank,
                       each),
           *pipeline_ * std::max<std::int64_t>(1, per_rank / each),
           settings().find(kPerVirtualStage));
    return;
  }
  if (per_rank % virtual_stages != 0) {
    uneven(fmt::format("{} layers of a rank cannot be split evenly over {} virtual stages",
                       per_rank, virtual_stages),
           *pipeline_ * virtual_stages, settings().find(kVirtualStages));
    return;
  }
  const std::int64_t stages =
      *pipeline_ * (settings().has(kPerVirtualStage) ? per_rank / each : virtual_stages);
  if (stages > kMostLayers) return;
  std::vector<int> counts = spread_evenly(static_cast<int>(all), static_cast<int>(stages));
  if (settings().on(kEmbedding)) --counts.front();
  if (settings().on(kLoss)) --counts.back();
  set_stages(std::move(counts));
}

void MegatronJudge::judge_uneven(std::int64_t virtual_stages) {
  const Known first = known(kFirst, 0, 0), last = known(kLast, 0, 0);
  if (!judgeable("E010", {&first, &last})) return;
  const int ends = (settings().has(kFirst) ? 1 : 0) + (settings().has(kLast) ? 1 : 0);
  const std::int64_t middle = *layers_ - *first - *last, ranks = *pipeline_ - ends;
  const LaunchSetting* place = first.from != nullptr ? first.from : last.from;
  const bool divides = ranks == 0 ? middle == 0 : middle >= 0 && middle % ranks == 0;
  if (!divides) {
    uneven(fmt::format("{} layers are left between the first and the last, for {} stages", middle,
                       ranks),
           *pipeline_ * virtual_stages, place);
    return;
  }
  const std::int64_t each = ranks == 0 ? 0 : middle / ranks;
  if (*first % virtual_stages != 0 || *last % virtual_stages != 0 || each % virtual_stages != 0) {
    uneven(fmt::format("ranks of {}, {} and {} layers do not divide into {} virtual stages", *first,
                       each, *last, virtual_stages),
           *pipeline_ * virtual_stages, place);
    return;
  }
  if (*pipeline_ * virtual_stages > kMostLayers) return;
  std::vector<int> counts;
  for (std::int64_t s = 0; s < *pipeline_ * virtual_stages; ++s) {
    std::int64_t held = each;
    if (s % *pipeline_ == 0 && settings().has(kFirst)) held = *first;
    if (s % *pipeline_ == *pipeline_ - 1 && settings().has(kLast)) held = *last;
    counts.push_back(static_cast<int>(held / virtual_stages));
  }
  set_stages(std::move(counts));
}

void MegatronJudge::uneven(std::string message, std::int64_t stages, const LaunchSetting* place) {
  LintFinding& finding =
      broken("E010", {place, pipeline_.from, layers_.from}, std::move(message), kStops, "");
  const bool has_ends = settings().has(kFirst) || settings().has(kLast);
  if (!has_ends && stages <= *layers_) {
    finding.why = fmt::format(
        "Megatron-LM stops here after the GPUs are allocated; older versions silently built {} "
        "layers.",
        *layers_ / stages * stages);
  }
  if (stages <= *layers_) {
    finding.fix_layers = spread_evenly(static_cast<int>(*layers_), static_cast<int>(stages));
    finding.fix = layout_flag(finding.fix_layers);
    if (settings().has(kVirtualStages) || settings().has(kPerVirtualStage) || has_ends) {
      finding.fix += " in place of the other flags that split";
    }
  } else {
    finding.fix = fmt::format("at most as many stages as layers: {} {}", kPipeline,
                              std::gcd(*layers_, *pipeline_));
  }
}

std::string MegatronJudge::layout_flag(const std::vector<int>& counts) const {
  return fmt::format("{} \"{}\"", kLayout, write_megatron_layout(counts, mtp()));
}

int MegatronJudge::mtp() const {
  const Known layers = known("--mtp-num-layers", 0, 0);
  return static_cast<int>(std::min(layers.value.value_or(0), kMostLayers));
}

}  // namespace penstock
