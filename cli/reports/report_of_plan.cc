// The plan file is replayed, and everything on the page follows from that replay. Other plan files
// become entries with the reason why they differ; a measured run is compared by the rule that
// `validate` has, and the step with the median time is drawn unless another one is named.
#include "cli/reports/report_of_plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/io/load_run.h"
#include "cli/io/report_command.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/report_timelines.h"
#include "report/page/plan_reasons.h"
#include "search/evaluate.h"
#include "search/rolled_program.h"
#include "studies/changes.h"

namespace penstock {
namespace {

// As `penstock plan` heads its answer.
std::string question_of(const PlanFile& file) {
  std::string text =
      fmt::format("{} on {}, gbs {}", file.model, file.cluster.name, file.plan.global_batch);
  if (file.plan.has_even_batch() && file.plan.sequence_length > 0) {
    text += fmt::format(", sequence length {}", file.plan.sequence_length);
  }
  return text + ", executor " + file.executor.name;
}

class PlanReport {
 public:
  explicit PlanReport(const PlanReportRequest& request) : request_(request), plan_(request.plan) {}

  Report make() {
    add_plan();
    for (const std::string& path : request_.baselines) add_baseline(path);
    if (request_.run) add_run();
    std::vector<std::string>& notes = report_.data.notes;
    notes.insert(notes.end(), timelines_.notes.begin(), timelines_.notes.end());
    report_.data.timelines = std::move(timelines_.about);
    report_.payloads = std::move(timelines_.payloads);
    return std::move(report_);
  }

 private:
  void add_plan() {
    const PlanFile& file = plan_.value;
    replayed_ = replay_plan_file(file);
    ReportData& data = report_.data;
    data.model = file.model;
    data.question = question_of(file);
    data.flops = file.flops;
    data.inputs = {{"plan", plan_.file}, {"profile", file.profile}, {"cluster", file.cluster_file}};
    data.apply_command =
        apply_command(is_rolled_up(file) ? with_few_micro_batches(file) : file, plan_.file.path);
    add_entry("1", "best", file, replayed_.evaluation, "the plan in " + plan_.file.path);
    data.changes = gains_of_changes(file, replayed_.evaluation);
    data.not_searched = file.not_searched;
    timelines_.add_predicted("Plan 1, predicted", 0, file, replayed_.timeline);
  }

  void add_entry(std::string title, std::string role, const PlanFile& file,
                 const Evaluation& evaluation, std::string reason) {
    report_.data.plans.push_back({.title = std::move(title),
                                  .role = std::move(role),
                                  .plan = file.plan,
                                  .evaluation = evaluation,
                                  .reason = std::move(reason),
                                  .command = "",
                                  .placed = ""});
  }

  void add_baseline(const std::string& path) {
    const Loaded<Json> json = load_json(path);
    const Loaded<PlanFile> other{read_plan_for_page(json.value, path), json.file};
    const Replayed replayed = replay_plan_file(other.value);
    std::string reason = reason_behind(plan_.value.plan, replayed_.evaluation, other.value.plan,
                                       replayed.evaluation);
    if (other.value.model != plan_.value.model) {
      reason = fmt::format("a plan of another model ({})", other.value.model);
    }
    const auto place = static_cast<int>(report_.data.plans.size());
    add_entry(path, "baseline", other.value, replayed.evaluation, reason);
    report_.data.inputs.push_back({"plan", other.file});
    timelines_.add_predicted(path + ", predicted", place, other.value, replayed.timeline);
  }

  void add_run() {
    const std::string& path = *request_.run;
    ValidationOptions options;
    LoadedRun run =
        load_run(path, plan_, {.warm_up = options.warm_up, .any_plan = request_.any_plan});
    keep_steps_of(plan_, run, path, request_.any_plan);
    options.warm_up = warm_up_of(run);
    report_.data.validation = compared(plan_.value, replayed_.timeline, run, options, path);
    report_.data.notes = run.notes;
    const bool has_times =
        std::any_of(run.log.steps.begin(), run.log.steps.end(),
                    [](const MeasuredStep& step) { return !step.ranks.empty(); });
    if (!has_times && !request_.step) return;
    const MeasuredStep& step = shown_step(run, path, request_.step);
    timelines_.add_measured(fmt::format("Plan 1, measured in step {}", step.step), 0, plan_.value,
                            step);
  }

  const PlanReportRequest& request_;
  const Loaded<PlanFile>& plan_;
  Replayed replayed_;
  ReportTimelines timelines_;
  Report report_;
};

}  // namespace

Report report_of_plan(const PlanReportRequest& request) { return PlanReport(request).make(); }

}  // namespace penstock
