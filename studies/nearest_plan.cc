// First what the refusal itself offers (the exporter knows the cuts that it wants), worked out and
// exported again. Otherwise a search among what the target can run, with all degrees of the plan
// pinned, then with one pin after the other taken away: the first that can be exported is the
// nearest. Invariant: a plan is told only after its export succeeded.
#include "studies/nearest_plan.h"

#include <vector>

#include <fmt/format.h>

#include "report/plan_table.h"
#include "search/best_plans.h"
#include "search/trainers.h"
#include "simulator/schedules/schedules.h"
#include "trainers/trainer_row.h"

namespace penstock {
namespace {

// On a trainer that changes the order of a rank by its own rule.
std::string why_not_by_rule(const Exporter& target, const ScheduleKind& kind, const Plan& plan) {
  if (kind.rule == RunTimeRule::kNone || !kind.recomputes) {
    return std::string(target.why_no_other_schedule);
  }
  if (plan.has_unequal_replicas()) return "it gives every replica the same share of the batch";
  if (!plan.has_even_batch()) return "it takes micro-batches of one shape only";
  if (!has_equal_micro_batches(plan)) return "the batch must be a multiple of D times b";
  return "";
}

// By the schedule and sizes; empty when those are no obstacle.
std::string why_not_run(const PlanFile& plan, const TrainerRow& target,
                        const ExportRequest& request) {
  const ScheduleKind* kind = find_schedule(plan.plan.schedule);
  const Trainer* trainer = trainer_of(target, request.version);
  if (trainer == nullptr) {
    return kind == nullptr ? "" : why_not_by_rule(*target.exporter, *kind, plan.plan);
  }
  return kind == nullptr ? why_not_run(*trainer, plan.plan)
                         : why_not_run(*trainer, *kind, plan.plan);
}

// The plan worked out, if it fits and the target takes it; or with the cuts that it asks for.
std::optional<PlanFile> accepted(const PlanInputs& inputs, Plan plan, const PlanFile& like,
                                 const TrainerRow& target, const ExportRequest& request) {
  for (int tries = 0; tries < 2; ++tries) {
    const EvaluatedPlan evaluated = evaluate(inputs, plan);
    if (evaluated.why_not) return {};
    PlanFile file = to_plan_file(inputs, evaluated);
    file.tool_version = request.tool_version;
    file.profile = like.profile;
    file.cluster_file = like.cluster_file;
    const Export again = exported(file, target, request);
    if (again.why_not.empty()) return file;
    if (!again.nearest) return {};
    plan = *again.nearest;
  }
  return {};
}

SearchRequest request_for(const PlanFile& file, const TrainerRow& target,
                          const ExportRequest& asked) {
  const Trainer* trainer = trainer_of(target, asked.version);
  const Plan& plan = file.plan;
  SearchRequest request;
  request.gpus = plan.devices();
  request.global_batch = plan.global_batch;
  request.sequence_length = plan.sequence_length;
  request.top = 1;
  request.trainer = trainer;
  if (trainer == nullptr) request.pins.schedules = {std::string(target.exporter->own_schedule)};
  return request;
}

// From all four degrees pinned to none.
std::vector<Pins> pins_of(const Plan& plan, const Pins& base) {
  std::vector<Pins> pins(4, base);
  for (std::size_t i = 0; i < 3; ++i) {
    pins[i].pipeline = plan.pipeline;
    pins[i].tensor = plan.tensor;
    pins[i].context = plan.context;
    pins[i].expert = plan.expert;
    if (i < 2) pins[i].data = plan.data;
    if (i < 1) pins[i].micro_batch_size = plan.micro_batch_size;
  }
  return pins;
}

}  // namespace

Export exported(const PlanFile& plan, const TrainerRow& target, const ExportRequest& request) {
  const std::string why = why_not_run(plan, target, request);
  if (why.empty()) return export_plan(target, plan, request);
  Export answer;
  answer.why_not =
      fmt::format("{} cannot run this plan ({}): {}", target.name, layout_line(plan.plan), why);
  return answer;
}

NearestPlan nearest_plan(const PlanFile& plan, const Export& refusal, const TrainerRow& target,
                         const ExportRequest& request, const PlanQuestion& asked) {
  if (!asked.why_not.empty()) return {{}, asked.why_not};
  const PlanInputs inputs = asked.question.inputs();
  if (refusal.nearest) {
    if (auto file = accepted(inputs, *refusal.nearest, plan, target, request)) return {file, ""};
  }
  SearchRequest search = request_for(plan, target, request);
  for (const Pins& pins : pins_of(plan.plan, search.pins)) {
    search.pins = pins;
    SearchProgress progress;
    const SearchResult result = best_plans(inputs, search, progress);
    if (result.best.empty()) continue;
    if (auto file = accepted(inputs, result.best.front().plan, plan, target, request)) {
      return {file, ""};
    }
  }
  return {{},
          fmt::format("none that was tried on {} GPUs fits and is one that {} can take",
                      plan.plan.devices(), target.name)};
}

}  // namespace penstock
