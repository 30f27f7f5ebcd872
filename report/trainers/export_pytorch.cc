#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "report/trainers/export_parts.h"

namespace penstock {

// 2.5 is of 2024 and has that year's names; 2.6 and later have today's.
Export export_pytorch(const PlanFile& plan, const ExportRequest& request) {
  Export answer;
  const bool old = request.version == "2.5";
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

}  // namespace penstock
