// What a calibration predicts of measured runs, for any terms that the fit tries.
//
// Every run is planned once with neutral terms; the order of its actions does not depend on them,
// so a trial only prices it again (repriced_step). Runs are weighted by the inverse of their
// variance: the spread between runs of one setting, which is assumed, and the spread of the run's
// own steps, by its number of steps. Weights are scaled to a mean of one, so that priors keep their
// strength.
#include "search/calibration_runs.h"

#include <algorithm>
#include <utility>

#include "core/values/durations.h"
#include "core/values/error.h"
#include "costmodel/calibrated_profile.h"
#include "search/reprice.h"

namespace penstock {
namespace {

double ns(Duration duration) { return static_cast<double>(duration.count()); }

}  // namespace

CalibrationRuns::CalibrationRuns(const std::vector<const ModelProfile*>& profiles,
                                 const ClusterSpec& cluster, const MeasuredRuns& runs,
                                 const ExecutorModel& executor, const std::string& file)
    : cluster_(cluster), runs_(runs), executor_(executor), file_(file) {
  cluster_.calibration.reset();
  for (const ModelProfile* profile : profiles) {
    if (std::find(models_.begin(), models_.end(), profile) == models_.end()) {
      models_.push_back(profile);
    }
  }
  cases_.reserve(runs.runs.size());
  for (std::size_t i = 0; i < runs.runs.size(); ++i) {
    cases_.push_back(case_of(runs.runs[i], *profiles[i]));
  }
  double sum = 0.0;
  for (const CalibrationRun& each : cases_) sum += each.weight;
  for (CalibrationRun& each : cases_) each.weight *= static_cast<double>(cases_.size()) / sum;
}

void CalibrationRuns::refuse(const MeasuredRun& run, const std::string& why) const {
  throw_bad_input(file_ + ": run '" + run.name + "': " + why);
}

EvaluatedPlan CalibrationRuns::evaluated(const MeasuredRun& run, const ModelProfile& model,
                                         const CalibrationValues& values,
                                         const MemoryFactors& memory) const {
  Calibration calibration = calibration_of(values);
  calibration.memory = memory;
  const ClusterSpec cluster = calibrated_cluster(cluster_, calibration);
  const ModelProfile profile = calibrated_profile(model, calibration);
  return evaluate({&profile, &cluster, calibration.executor, std::nullopt}, run.plan);
}

CalibrationRun CalibrationRuns::case_of(const MeasuredRun& run, const ModelProfile& profile) const {
  const auto sections = static_cast<int>(profile.sections.size());
  if (run.plan.cuts.front() != 0 || run.plan.cuts.back() != sections) {
    refuse(run, "its cuts run from " + std::to_string(run.plan.cuts.front()) + " to " +
                    std::to_string(run.plan.cuts.back()) + ", but the sections of " + profile.name +
                    " from 0 to " + std::to_string(sections));
  }
  EvaluatedPlan plan = evaluated(run, profile, neutral_values(), {});
  // Over memory is priced all the same: it did run.
  if (plan.why_not && plan.evaluation.ranks.empty()) refuse(run, plan.why_not->reason);
  // What is on the host tells nothing of bytes per parameter.
  MemoryRun memory = memory_run(plan.evaluation, profile.training,
                                run.plan.offload_optimizer ? std::nullopt : run.peak_memory);
  const double spread = ns(run.step_spread) / ns(run.step_time);
  const double weight = 1.0 / (kRunToRun * kRunToRun + spread * spread / run.count);
  return {&run, &profile, std::move(plan), memory, weight};
}

Calibration CalibrationRuns::calibration_of(const CalibrationValues& values) const {
  Calibration calibration;
  for (const ModelProfile* model : models_) {
    calibration.profile += (calibration.profile.empty() ? "" : ", ") + model->name;
  }
  calibration.device = runs_.runs.front().plan.device;
  calibration.runs = static_cast<int>(runs_.runs.size());
  calibration.executor = executor_;
  calibration.executor.name += "+calibrated";
  calibration.executor.per_action = round_up_to_ns(values[kPerAction] * 1e-9);
  calibration.executor.per_transfer = round_up_to_ns(values[kPerTransfer] * 1e-9);
  calibration.executor.per_step = round_up_to_ns(values[kPerStep] * 1e-9);
  calibration.factors = {six_decimals(values[kCompute]), six_decimals(values[kSmallKernels]),
                         six_decimals(1.0 + values[kTransfer]),
                         six_decimals(1.0 + values[kReduction]),
                         six_decimals(values[kPerReducedByte])};
  return calibration;
}

std::vector<double> CalibrationRuns::step_times(const CalibrationValues& values) const {
  const Calibration calibration = calibration_of(values);
  const ClusterSpec cluster = calibrated_cluster(cluster_, calibration);
  std::vector<ModelProfile> profiles;
  profiles.reserve(models_.size());
  for (const ModelProfile* model : models_) {
    profiles.push_back(calibrated_profile(*model, calibration));
  }
  std::vector<double> times;
  times.reserve(cases_.size());
  for (const CalibrationRun& each : cases_) {
    const auto model = std::find(models_.begin(), models_.end(), each.profile) - models_.begin();
    times.push_back(ns(repriced_step(each.neutral, profiles[static_cast<std::size_t>(model)],
                                     cluster, calibration.executor)));
  }
  return times;
}

MeasuredReduction reduction_of(const CalibrationRun& of) {
  MeasuredReduction largest;
  for (int s = 0; s < of.neutral.prices.stages; ++s) {
    const StepPrice& step = of.neutral.prices.step[static_cast<std::size_t>(s)];
    largest.time = std::max(largest.time,
                            ns(price_alone(of.neutral.prices, ActionKind::kReduceGradient, {s})));
    largest.gradient_bytes =
        std::max(largest.gradient_bytes, static_cast<double>(step.gradients.count));
  }
  return largest;
}

}  // namespace penstock
