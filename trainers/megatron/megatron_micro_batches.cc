// E020 and E021: how many micro-batches there are.
#include <algorithm>

#include <fmt/format.h>

#include "trainers/megatron/megatron_judge.h"

namespace penstock {

void MegatronJudge::judge_micro_batches() {
  if (!judgeable("E020", {&pipeline_, &micro_batches_})) return;
  if (*micro_batches_ >= *pipeline_) return;
  const bool interleaved = chunks_.value.value_or(1) > 1;
  const double idle = 100.0 * static_cast<double>(*pipeline_ - 1) /
                      static_cast<double>(*micro_batches_ + *pipeline_ - 1);
  const std::string why =
      interleaved ? "Megatron-LM stops: a group of an interleaved schedule has at least PP of them."
                  : fmt::format(
                        "Megatron-LM runs it without a warning; ranks are idle for {:.0f} % "
                        "of the step. Other trainers hang here.",
                        idle);
  LintFinding& finding = broken(
      "E020", {global_batch_.from, micro_batch_.from, pipeline_.from},
      fmt::format("{} fewer than the {} ranks of the pipeline", micro_batches_are(*micro_batches_),
                  *pipeline_),
      why, fmt::format("{} {}", kGlobalBatch, product_of({*micro_batch_, *data_, *pipeline_})));
  if (!interleaved) finding.severity = LintSeverity::kWarning;
}

void MegatronJudge::judge_groups() {
  if (!judgeable("E021", {&chunks_, &pipeline_})) return;
  if (*chunks_ == 1) return;
  const LaunchSetting* split = settings().find(kVirtualStages);
  if (split == nullptr) split = settings().find(kPerVirtualStage);
  const bool overlaps = !settings().on(kNoOverlap);
  if (*pipeline_ == 1 || (*pipeline_ == 2 && !overlaps)) {
    broken(
        "E021", {split, settings().find(kLayout)},
        fmt::format("VP = {} needs PP > {}", *chunks_, overlaps ? 1 : 2), kStops,
        *pipeline_ == 1 ? "leave the virtual stages out" : fmt::format("leave {} out", kNoOverlap));
    return;
  }
  const Known group = known(kGroup, *pipeline_);
  if (!judgeable("E021", {&group, &micro_batches_}) || *micro_batches_ < *pipeline_) return;
  const std::int64_t rest = *micro_batches_ % *group;
  const bool in_range = *pipeline_ <= *group && *group <= *micro_batches_;
  if (in_range && (rest == 0 || rest >= *pipeline_)) return;
  broken("E021", {group.from, global_batch_.from, split},
         in_range
             ? fmt::format("{} micro-batches in groups of {} leave a last group of {}, less "
                           "than PP = {}",
                           *micro_batches_, *group, rest, *pipeline_)
             : fmt::format(
                   "a group of {} micro-batches is not within PP = {} and all {} micro-batches",
                   *group, *pipeline_, *micro_batches_),
         "Megatron-LM stops with \"The number of contiguous micro-batches in a virtual pipeline "
         "stage should range in [PP, M]\", or leaves bubbles between groups.",
         fmt::format("{} {}", kGroup, fitting_group(*group)));
}

std::int64_t MegatronJudge::fitting_group(std::int64_t wanted) const {
  const std::int64_t most = std::min(*micro_batches_, *pipeline_ + 100'000);
  std::int64_t best = *micro_batches_;
  for (std::int64_t g = *pipeline_; g <= most; ++g) {
    const std::int64_t rest = *micro_batches_ % g;
    const bool fits = rest == 0 || rest >= *pipeline_;
    if (fits && std::abs(g - wanted) < std::abs(best - wanted)) best = g;
  }
  return best;
}

}  // namespace penstock
