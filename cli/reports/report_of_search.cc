// The page of a search, in the order in which it is read: ranked plans that differ, each with its
// reason and command, those that cannot run, the Pareto front, baselines, the staircase of numbers
// of GPUs. Four plans are searched for each one shown, because most are twins of a better one.
#include "cli/reports/report_of_search.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/io/progress.h"
#include "cli/io/report_command.h"
#include "cli/options/model_input.h"
#include "cli/reports/report_timelines.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/sharding.h"
#include "report/distinct_plans.h"
#include "report/page/plan_differences.h"
#include "report/page/plan_reasons.h"
#include "report/reasons.h"
#include "report/words.h"
#include "studies/changes.h"
#include "studies/model_flops.h"
#include "studies/not_modelled.h"
#include "studies/plan_set.h"

namespace penstock {
namespace {

// Ranked plans of which one is shown: the others look like it, by experience.
constexpr int kTwins = 4;

std::vector<int> sizes_of(const std::optional<std::string>& scaling, int gpus) {
  if (!scaling || *scaling == "auto") return plan_set_sizes(gpus);
  if (*scaling == "off") return {};
  std::set<int> sizes;
  for (const std::string& text : parse_list("--scaling", *scaling)) {
    sizes.insert(parse_int("--scaling", text, 1, gpus));
  }
  return {sizes.begin(), sizes.end()};
}

PlanFile plan_file_of(const Question& question, const EvaluatedPlan& evaluated) {
  PlanFile file = to_plan_file(question.inputs(), evaluated);
  note_question(question, file);
  file.flops = model_flops_of(question, file.plan);
  return file;
}

class SearchReport {
 public:
  explicit SearchReport(const SearchReportRequest& request)
      : request_(request), question_(question_of(request.search)) {
    sizes_ = sizes_of(request.scaling, question_.request.gpus);
    most_shown_ = static_cast<std::size_t>(question_.request.top);
    question_.request.top *= kTwins;
  }

  SearchedReport make() {
    WatchedSearch watched(question_.budget);
    result_ = best_plans(question_.inputs(), question_.request, watched);
    describe();
    if (!result_.best.empty()) {
      add_ranked();
      add_first();
      add_pareto();
      add_neighbours();
      for (const std::string& path : request_.baselines) add_baseline(path);
      if (request_.baselines.empty()) add_other_schedule();
    }
    if (result_.complete) add_staircase(watched);
    shown_.clear();
    data().search = std::move(result_);
    data().notes.insert(data().notes.end(), timelines_.notes.begin(), timelines_.notes.end());
    data().timelines = std::move(timelines_.about);
    report_.payloads = std::move(timelines_.payloads);
    return {std::move(report_), exit_};
  }

 private:
  ReportData& data() { return report_.data; }

  void describe() {
    // What the search chose where nothing was given.
    if (!result_.best.empty()) {
      question_.request.sequence_length = result_.best.front().plan.sequence_length;
    }
    exit_ = !result_.complete ? kStopped : result_.best.empty() ? kNo : kYes;
    data().model = question_.profile.value.name;
    data().question = words_of(question_);
    data().notes = notes_of(question_);
    data().inputs = {{"profile", question_.profile.file}, {"cluster", question_.cluster.file}};
    data().not_searched = result_.not_searched;
    data().not_modelled = not_modelled_here(question_);
    data().gpus = question_.request.gpus;
    if (result_.best.empty()) return;
    data().flops = model_flops_of(question_, result_.best.front().plan.sequence_length);
  }

  [[nodiscard]] ReportedPlan reported(const RankedPlan& ranked, std::string title,
                                      std::string role) const {
    const RankedPlan& best = result_.best.front();
    return {.title = std::move(title),
            .role = std::move(role),
            .plan = ranked.plan,
            .evaluation = ranked.evaluation,
            .reason = reason_behind(best.plan, best.evaluation, ranked.plan, ranked.evaluation),
            .command = command_for(ranked.plan, request_.arguments),
            .tied = ranked.tied_with_best,
            .on_pareto_front = ranked.on_pareto_front,
            .placed = ranked.placed};
  }

  void add_ranked() {
    const std::vector<std::size_t> places = distinct_plans(result_.best, most_shown_);
    data().look_alikes = static_cast<int>(places.back() + 1 - places.size());
    for (const std::size_t place : places) {
      const RankedPlan& ranked = result_.best[place];
      shown_.push_back(&ranked);
      data().plans.push_back(reported(ranked, fmt::format("{}", shown_.size()),
                                      shown_.size() == 1 ? "best" : "ranked"));
    }
    const auto tied = std::count_if(shown_.begin(), shown_.end(),
                                    [](const RankedPlan* plan) { return plan->tied_with_best; });
    std::string& first = data().plans.front().reason;
    first = "the fastest plan of the search";
    if (tied > 0)
      first += fmt::format("; {} {} with it", count_of(tied, "plan"), tied == 1 ? "ties" : "tie");
    for (ReportedPlan& plan : data().plans) {
      if (plan.tied) plan.reason += "; a tie within the error";
    }
  }

  void add_pareto() {
    for (const RankedPlan& ranked : result_.pareto) {
      const bool known = std::any_of(shown_.begin(), shown_.end(), [&](const RankedPlan* one) {
        return one->plan == ranked.plan;
      });
      if (known) continue;
      data().pareto_plans.push_back(
          reported(ranked, differences_text(result_.best.front().plan, ranked.plan), "pareto"));
    }
  }

  // What people would try next to plan 1: shown as it is, or why it cannot run.
  void add_neighbours() {
    const Plan& best = result_.best.front().plan;
    Plan equal = best;
    equal.cuts = equal_cuts(static_cast<int>(question_.profile.value.sections.size()),
                            best.stages_per_copy());
    if (equal.cuts != best.cuts) add_neighbour("equal split", equal, true);
    Plan larger = best;
    larger.cuts.clear();
    larger.micro_batch_size *= 2;
    if (larger.micro_batch_size * larger.data <= larger.global_batch) {
      add_neighbour("micro-batches twice as large", larger, false);
    }
    Plan whole = best;
    whole.cuts.clear();
    set_sharding({}, whole);
    if (says_sharding(best)) add_neighbour("without " + sharding_words(best), whole, false);
    Plan keeping = best;
    keeping.cuts.clear();
    keeping.recompute = "none";
    keeping.recompute_sections.clear();
    if (best.recompute != "none") add_neighbour("without recompute", keeping, false);
  }

  void add_neighbour(const std::string& title, const Plan& plan, bool among_plans) {
    const EvaluatedPlan evaluated = evaluate(question_.inputs(), plan);
    if (evaluated.evaluation.ranks.empty()) return;  // it could not be priced
    const Plan& best = result_.best.front().plan;
    ReportedPlan entry{.title = title,
                       .role = title,
                       .plan = evaluated.plan,
                       .evaluation = evaluated.evaluation,
                       .reason = "",
                       .command = "",
                       .placed = ""};
    if (evaluated.why_not) {
      entry.reason = reason_text(*evaluated.why_not);
      data().infeasible.push_back(std::move(entry));
    } else if (among_plans) {
      entry.reason = reason_behind(best, result_.best.front().evaluation, evaluated.plan,
                                   evaluated.evaluation);
      data().plans.push_back(std::move(entry));
    }
  }

  // Priced with today's inputs, so that only the decisions differ.
  void add_baseline(const std::string& path) {
    const Loaded<PlanFile> other = load_plan(path);
    std::vector<std::string> names;
    for (const Section& section : question_.profile.value.sections) names.push_back(section.name);
    if (names != other.value.section_names) {
      bad_option("--baseline",
                 fmt::format("{} is a plan of another model ({})", path, other.value.model),
                 "give a plan of the same profile");
    }
    const EvaluatedPlan evaluated = evaluate_in_full(question_.inputs(), other.value.plan);
    data().inputs.push_back({"plan", other.file});
    if (evaluated.evaluation.ranks.empty()) {
      data().notes.push_back(fmt::format("the baseline {} cannot be priced: {}", path,
                                         reason_text(*evaluated.why_not)));
      return;
    }
    const RankedPlan& best = result_.best.front();
    std::string reason = evaluated.why_not ? "cannot run here: " + reason_text(*evaluated.why_not)
                                           : reason_behind(best.plan, best.evaluation,
                                                           evaluated.plan, evaluated.evaluation);
    add_timeline(path + ", predicted", static_cast<int>(data().plans.size()), evaluated);
    data().plans.push_back({.title = path,
                            .role = "baseline",
                            .plan = evaluated.plan,
                            .evaluation = evaluated.evaluation,
                            .reason = std::move(reason),
                            .command = "",
                            .placed = ""});
  }

  void add_timeline(const std::string& title, int plan, const EvaluatedPlan& evaluated) {
    timelines_.add_predicted(title, plan, plan_file_of(question_, evaluated), evaluated.timeline);
  }

  void add_first() {
    const EvaluatedPlan best = evaluate_in_full(question_.inputs(), result_.best.front().plan);
    const PlanFile file = plan_file_of(question_, best);
    data().changes = gains_of_changes(file, best.evaluation);
    const std::string next = apply_command(file, kPlanFile);
    data().apply_command = data().plans.front().command + (next.empty() ? "" : " && " + next);
    timelines_.add_predicted("Plan 1, predicted", 0, file, best.timeline);
  }

  // Beside plan 1 the best one that runs another schedule.
  void add_other_schedule() {
    const std::string& schedule = result_.best.front().plan.schedule;
    const auto other = std::find_if(shown_.begin(), shown_.end(), [&](const RankedPlan* shown) {
      return shown->plan.schedule != schedule;
    });
    if (other == shown_.end()) return;
    const auto place = static_cast<int>(other - shown_.begin());
    const Plan& plan = (*other)->plan;
    add_timeline(fmt::format("Plan {}, predicted ({})", place + 1, plan.schedule), place,
                 evaluate_in_full(question_.inputs(), plan));
  }

  void add_staircase(WatchedSearch& watched) {
    const PlanSet staircase = plan_set(question_, result_, sizes_, watched);
    data().staircase = staircase.steps;
    if (staircase.complete) return;
    data().notes.emplace_back(
        "the search for other numbers of GPUs was stopped before its end, so their plans are "
        "missing");
    exit_ = kStopped;
  }

  const SearchReportRequest& request_;
  Question question_;
  std::vector<int> sizes_;
  SearchResult result_;
  std::size_t most_shown_ = 0;
  std::vector<const RankedPlan*> shown_;  // of the best ones those that differ
  ReportTimelines timelines_;
  Report report_;
  int exit_ = kYes;
};

}  // namespace

SearchedReport report_of_search(const SearchReportRequest& request) {
  return SearchReport(request).make();
}

}  // namespace penstock
