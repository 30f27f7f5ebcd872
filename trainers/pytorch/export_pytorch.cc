#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "trainers/exports/export_parts.h"
#include "trainers/trainer_facts.h"
#include "trainers/trainer_rows.h"

namespace penstock {

namespace {

// 2.5 is of 2024 and has that year's names of actions; 2.6 and later have today's.
Export export_pytorch(const PlanFile& plan, const ExportRequest& /*request*/, const Json& facts) {
  Export answer;
  const bool old = fact_text(facts, "csv_actions") == "2024";
  for (const Action& action : plan.program.actions) {
    if (old && action.overlaps_next) {
      return refused(
          "PyTorch 2.5 has no actions that overlap; 2.6 and later run such a pair as one");
    }
  }
  answer.files.push_back({"schedule.csv", plan_csv(plan, old)});
  answer.notes.push_back(fmt::format(
      "load it with _PipelineScheduleRuntime(stages, n_microbatches={}, ...)._load_csv(path), "
      "which adds the communication",
      plan.program.pipelines.front().micro_batches));
  if (plan.plan.recompute != "none") {
    answer.notes.push_back(fmt::format(
        "the list says nothing of recompute: checkpoint the sections in your stage modules, {}",
        recompute_in_words(plan.plan)));
  }
  if (plan.plan.stage_map == StageMap::kV) {
    answer.notes.emplace_back("rank r builds stages r and 2 PP - 1 - r (a V)");
  }
  return answer;
}

}  // namespace

TrainerRow pytorch_row() {
  return {.name = "pytorch",
          .folder = "pytorch",
          .title = "PyTorch",
          .exporter =
              Exporter{"the CSV that torch.distributed.pipelining loads", export_pytorch, false}};
}

}  // namespace penstock
