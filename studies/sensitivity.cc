// Each row changes one thing of the world (transfers of a level, batch, memory, compute of a stage)
// and asks what the step would be, for the same layout, with cuts chosen anew where it would not
// run otherwise. Replays are bounded by counts of actions and not by time, so the rows are the same
// on every machine.
#include "studies/sensitivity.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "report/reasons.h"
#include "search/evaluation.h"
#include "search/rolled_program.h"
#include "search/steady_plan.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"
#include "studies/change_cluster.h"
#include "studies/compute_sensitivity.h"
#include "studies/memory_sensitivity.h"
#include "studies/outcomes.h"

namespace penstock {
namespace {

constexpr int kLargestBatch = 1 << 28;
constexpr std::size_t kMostReplayed = std::size_t{1} << 22;  // actions of a step worked out anew

StagePrices slowed_if_asked(StagePrices prices, const Program& program, const Scenario& scenario) {
  return scenario == Scenario{} ? std::move(prices) : slowed(std::move(prices), program, scenario);
}

void ask_links(const PlanFile& file, const Question& question, const Scenario& scenario,
               Duration now, Sensitivities& all) {
  for (std::size_t level = 0; level < question.cluster.value.levels.size(); ++level) {
    const auto step = [&](double factor) {
      Question changed = question;
      scale_bandwidth(changed.cluster.value, static_cast<int>(level), factor);
      PricedPlan priced = price(changed.inputs(), file.plan);
      return step_at(file, slowed_if_asked(std::move(priced.prices), file.program, scenario));
    };
    const LinkLevel& link = question.cluster.value.levels[level];
    all.all.push_back({link_key(link), "bandwidth of " + link.name,
                       outcome_of("x0.5", now, step(0.5)), outcome_of("x2", now, step(2.0))});
  }
}

StagePrices with_transfers(const PlanFile& file, int level, double factor) {
  StagePrices changed = file.prices;
  const auto shapes = static_cast<std::size_t>(changed.shapes);
  for (std::size_t s = 0; s < file.cluster.boundary_level.size(); ++s) {
    if (file.cluster.boundary_level[s] != level) continue;
    for (std::size_t i = s * shapes; i < (s + 1) * shapes; ++i) {
      for (Price* price : {&changed.transfer[i].activation, &changed.transfer[i].gradient}) {
        price->duration = scaled(price->duration, factor);
      }
    }
  }
  return changed;
}

// Without the cluster: the time of transfers, latency included, and of no collective.
void ask_transfers(const PlanFile& file, Duration now, Sensitivities& all) {
  for (std::size_t level = 0; level < file.cluster.levels.size(); ++level) {
    const auto& used = file.cluster.boundary_level;
    if (std::find(used.begin(), used.end(), static_cast<int>(level)) == used.end()) continue;
    const auto step = [&](double factor) {
      return step_at(file, with_transfers(file, static_cast<int>(level), factor));
    };
    const std::string& name = file.cluster.levels[level];
    all.all.push_back({"transfers." + name, "time of transfers over " + name,
                       outcome_of("x2", now, step(2.0)), outcome_of("x0.5", now, step(0.5))});
  }
}

// The same layout; where it does not run, with its cuts chosen anew.
Outcome evaluated(std::string change, const PlanFile& file, const Question& question,
                  const Scenario& scenario, Duration now, Plan plan) {
  const bool slows = !(scenario == Scenario{});
  const auto work_out = [&] {
    return slows ? evaluate_in_full(question.inputs(), plan) : evaluate(question.inputs(), plan);
  };
  EvaluatedPlan result = work_out();
  const bool as_cut = !result.why_not;
  if (!as_cut) {
    const Rejection why = *result.why_not;
    plan.cuts.clear();
    result = work_out();
    if (result.why_not) return refused(std::move(change), reason_text(why));
  }
  Duration step = result.evaluation.step_time;
  if (slows) {
    const StagePrices prices = slowed(std::move(result.prices), result.program, scenario);
    step = step_time_of(simulate_summary(result.program, prices, question.executor),
                        question.executor);
  }
  Outcome answer = outcome_of(std::move(change), now, step,
                              static_cast<double>(plan.global_batch) / file.plan.global_batch);
  if (!as_cut) answer.plan = "with other cuts, since it does not fit with these";
  return answer;
}

// What the plan's own layout takes when its batch is another.
class BatchAsker {
 public:
  BatchAsker(const PlanFile& file, const Question& question, const Scenario& scenario, Duration now)
      : file_(file), question_(question), scenario_(scenario), now_(now) {}

  [[nodiscard]] Sensitivity global_batch() const {
    const int batch = file_.plan.global_batch;
    Sensitivity row{"global-batch", fmt::format("global batch ({})", batch), {}, {}};
    if (file_.plan.has_unequal_replicas()) return row;  // whose share would change?
    if (batch / 2 >= file_.plan.data) row.less = with(&Plan::global_batch, batch / 2);
    if (batch <= kLargestBatch) row.more = with(&Plan::global_batch, batch * 2);
    return row;
  }

  [[nodiscard]] Sensitivity micro_batch_size() const {
    const int size = file_.plan.micro_batch_size;
    Sensitivity row{"b", fmt::format("micro-batch size ({})", size), {}, {}};
    if (size > 1) row.less = with(&Plan::micro_batch_size, size / 2);
    if (size <= samples_of_replica(file_.plan, 0) / 2) {
      row.more = with(&Plan::micro_batch_size, size * 2);
    }
    return row;
  }

 private:
  [[nodiscard]] Outcome with(int Plan::*size, int value) const {
    Plan plan = file_.plan;
    plan.*size = value;
    return evaluated(fmt::format("-> {}", value), file_, question_, scenario_, now_,
                     std::move(plan));
  }

  const PlanFile& file_;
  const Question& question_;
  const Scenario& scenario_;
  Duration now_;
};

// Whether its actions need not be there one by one, however many there are: always, or where its
// steady state shows at the prices that it has.
bool stays_rolled_up(const PlanFile& file, const ExecutorModel& executor,
                     const Scenario& scenario) {
  if (!is_rolled_up(file) || !(scenario == Scenario{})) return false;
  if (can_simulate_schedule(executor)) return true;
  return judged_by_few(file.plan, file.ties, rolled_file(file).options.recompute, file.prices,
                       executor)
      .has_value();
}

void ask_batches(const PlanFile& file, const Question& question, const Scenario& scenario,
                 Duration now, Sensitivities& all) {
  // Twice the batch, twice the actions.
  if (!stays_rolled_up(file, question.executor, scenario) &&
      static_cast<std::size_t>(actions_of(file)) > kMostReplayed / 2) {
    all.not_answered.emplace_back("global batch, micro-batch size: the step has too many actions");
    return;
  }
  const BatchAsker asker(file, question, scenario, now);
  for (Sensitivity row : {asker.global_batch(), asker.micro_batch_size()}) {
    if (row.less || row.more) all.all.push_back(std::move(row));
  }
}

}  // namespace

Sensitivities sensitivities_of(const PlanFile& file, const Evaluation& now,
                               const PlanQuestion& asked, const Scenario& scenario,
                               SearchProgress& progress) {
  Sensitivities all;
  ask_stages(file, now.step_time, all);
  if (!asked.why_not.empty()) {
    ask_transfers(file, now.step_time, all);
    all.not_answered.push_back(
        "bandwidth of each link, sections, memory, global batch, micro-batch size: " +
        asked.why_not);
    return all;
  }
  ask_sections(file, asked.question, now.step_time, all);
  ask_links(file, asked.question, scenario, now.step_time, all);
  ask_batches(file, asked.question, scenario, now.step_time, all);
  if (file.plan.has_unequal_replicas()) {
    all.not_answered.emplace_back(
        "global batch, memory: the replicas are unequal, and a search knows no such plans");
  } else if (file.plan.is_mixed()) {
    all.not_answered.emplace_back("memory: the ranks of a mixed plan cannot be pinned in a search");
  } else if (!(scenario == Scenario{})) {
    all.not_answered.emplace_back("memory: a search cannot take the scenario into account");
  } else {
    ask_memory(file, now, asked.question, progress, all);
  }
  return all;
}

}  // namespace penstock
