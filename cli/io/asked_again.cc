#include "cli/io/asked_again.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "core/values/trainer.h"
#include "trainers/trainer_row.h"

namespace penstock {
namespace {

// Plans are also made from a config.json, which holds no profile to search again.
bool is_estimated(const PlanFile& plan) {
  if (!std::filesystem::is_regular_file(plan.profile.path)) return false;
  return format_of(load_json(plan.profile.path).value).empty();
}

std::string how_to_estimate(const PlanFile& file, const TrainerRow& target,
                            const ExportRequest& request) {
  const Plan& plan = file.plan;
  const Trainer* trainer = trainer_of(target, request.version);
  return fmt::format(
      "the plan rests on an estimate; ask for another one: penstock plan {} --device {} --gpus {} "
      "--global-batch {} --sequence-length {} {} {}",
      file.profile.path, file.cluster.device, plan.devices(), plan.global_batch,
      plan.sequence_length, trainer != nullptr ? "--for" : "--schedule",
      trainer != nullptr ? std::string_view(trainer->name) : target.exporter->own_schedule);
}

}  // namespace

PlanQuestion asked_again(const PlanFile& plan, const TrainerRow& target,
                         const ExportRequest& request) {
  if (is_estimated(plan)) return {how_to_estimate(plan, target, request), {}};
  return question_of(plan, "");
}

}  // namespace penstock
