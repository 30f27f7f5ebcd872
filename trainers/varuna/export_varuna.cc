#include <fmt/format.h>

#include "report/job_rank.h"
#include "trainers/exports/export_parts.h"
#include "trainers/trainer_rows.h"

namespace penstock {
namespace {

// "0,2;1,3;": of every stage the ranks that hold it, one per replica.
std::string stage_to_rank_map(const Plan& plan) {
  std::string map;
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    for (int replica = 0; replica < plan.data; ++replica) {
      map += fmt::format("{}{}", replica > 0 ? "," : "", job_rank(plan, replica, stage));
    }
    map += ';';
  }
  return map;
}

bool has_equal_stages(const Plan& plan) {
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    const int sections = plan.end_section(stage) - plan.first_section(stage);
    if (sections != plan.end_section(0) - plan.first_section(0)) return false;
  }
  return true;
}

// With as many sections on every stage; with fewer ranks where P does not divide them.
Plan equal_stages(const PlanFile& file) {
  Plan plan = file.plan;
  const int sections = static_cast<int>(file.section_names.size());
  while (sections % plan.pipeline != 0) --plan.pipeline;
  plan.cuts.clear();
  for (int stage = 0; stage <= plan.pipeline; ++stage) {
    plan.cuts.push_back(sections / plan.pipeline * stage);
  }
  return plan;
}

Export export_varuna(const PlanFile& file, const ExportRequest& request, const Json& /*facts*/) {
  const Plan& plan = file.plan;
  if (plan.tensor > 1) return refused("Varuna has no tensor parallelism, and the plan has TP > 1");
  if (!has_equal_stages(plan)) {
    return refused(
        "Varuna gives every stage the same number of sections, and drops those of a remainder",
        equal_stages(file));
  }
  Export answer;
  answer.files.push_back(
      {"varuna_args.sh",
       header_of(file, request, "Varuna", "# ") + "# Each of the " +
           fmt::format("{}", plan.devices()) +
           " workers also gets its own --rank and --local_rank:\n"
           "#   python train.py --rank=R --local_rank=L \"${PENSTOCK_ARGS[@]}\" ...\n" +
           fmt::format("PENSTOCK_ARGS=(\n  --chunk_size={}\n  --batch-size={}\n"
                       "  \"--stage_to_rank_map={}\"\n)\n",
                       plan.micro_batch_size, plan.global_batch / plan.data,
                       stage_to_rank_map(plan))});
  answer.notes.push_back(
      fmt::format("the model needs {} CutPoints, one behind every section but the last",
                  file.section_names.size() - 1));
  return answer;
}

}  // namespace

TrainerRow varuna_row() {
  return {.name = "varuna",
          .folder = "varuna",
          .title = "Varuna",
          .exporter = Exporter{"the arguments of its workers, stage_to_rank_map among them",
                               export_varuna, false, "varuna",
                               "it has its own rule only, by which ranks recompute and change "
                               "their order (varuna, varuna-runtime, varuna-strict)"}};
}

}  // namespace penstock
