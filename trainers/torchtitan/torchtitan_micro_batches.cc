// E020 and E021: how many micro-batches there are.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trainers/torchtitan/torchtitan_judge.h"

namespace penstock {

void TorchtitanJudge::judge_micro_batches() {
  if (!judgeable("E020", {&pipeline_, &micro_batches_}) || *pipeline_ == 1) return;
  const std::int64_t stages =
      listed_stages().value_or(*pipeline_ * (schedule_ != nullptr && schedule_->many ? 2 : 1));
  const bool dual = schedule_ != nullptr && schedule_->name == "DualPipeV" && !has_csv_;
  const std::int64_t least = dual ? stages : *pipeline_;
  if (*micro_batches_ < least) {
    few_micro_batches(fmt::format("{} fewer than the {} {}", micro_batches_are(*micro_batches_),
                                  least, dual ? "stages of DualPipeV" : "ranks of the pipeline"),
                      "torchtitan hangs in the first step, or PyTorch stops with a ValueError.",
                      least);
  } else if (*micro_batches_ < stages && !has_csv_) {
    few_micro_batches(
        fmt::format("{} fewer than the {} stages", micro_batches_are(*micro_batches_), stages),
        "torchtitan warns in the log, and runs with a bubble.", stages)
        .severity = LintSeverity::kWarning;
  }
}

LintFinding& TorchtitanJudge::few_micro_batches(std::string message, std::string why,
                                                std::int64_t least) {
  const std::string fix =
      is_head() ? written(kMicroBatches, std::to_string(least))
                : written("training.local_batch_size",
                          std::to_string(product_of({least, micro_batch_.value.value_or(1)})));
  return broken("E020", {micro_batches_.from, local_.from, micro_batch_.from, pipeline_.from},
                std::move(message), std::move(why), fix);
}

void TorchtitanJudge::judge_groups() {
  const bool rounds =
      schedule_ != nullptr && schedule_->by_name && !has_csv_ &&
      (schedule_->name == "Interleaved1F1B" || schedule_->name == "InterleavedZeroBubble");
  if (!rounds || !judgeable("E021", {&pipeline_, &micro_batches_})) return;
  const std::int64_t groups = std::max<std::int64_t>(1, *micro_batches_ / *pipeline_);
  if (*micro_batches_ % groups == 0) return;
  const std::int64_t fitting = *micro_batches_ / *pipeline_ * *pipeline_;
  broken("E021", {micro_batches_.from, local_.from, micro_batch_.from, pipeline_.from},
         fmt::format("{} micro-batches do not divide into {} rounds of about PP = {}",
                     *micro_batches_, groups, *pipeline_),
         "PyTorch stops with a ValueError when the schedule is built.",
         is_head() ? written(kMicroBatches, std::to_string(fitting))
                   : written("training.local_batch_size",
                             std::to_string(fitting * micro_batch_.value.value_or(1))));
}

}  // namespace penstock
