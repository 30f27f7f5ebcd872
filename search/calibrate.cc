// Gauss-Newton on the terms of the cost model: around the present values the step time of every run
// is taken to be linear in the terms (replays with each term moved a little give the slopes), the
// linear problem is solved with robust weights and priors (costmodel/fit_terms.h), and the way
// there is halved until the true loss falls. Which terms are fitted at all is chosen by what they
// gain (choose_terms()), so that few runs do not fit many terms. Reductions are fitted apart, to
// reductions that were measured apart.
//
// Invariant: the error that is told is one of runs that a fit did not see: each run is predicted
// once more by a fit to the others. Values are rounded to what files hold before they predict.
#include "search/calibrate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "search/calibration_runs.h"
#include "search/calibration_terms.h"
#include "search/fit_memory.h"

namespace penstock {
namespace {

constexpr int kRounds = 30;
// Beside the first, every term needs two runs, and all must be worth half the loss of one standard
// deviation of one run.
constexpr std::size_t kRunsPerTerm = 2;
constexpr double kLeastGain = 0.5 * kOneRun * kOneRun;
// What is thought of the scatter of runs counts as much as so many of them.
constexpr int kPriorRuns = 4;

double ns(Duration duration) { return static_cast<double>(duration.count()); }

// The first-order picture of all runs around some values.
using Picture = std::vector<FitRun>;

class Calibrator {
 public:
  Calibrator(const std::vector<const ModelProfile*>& profiles, const ClusterSpec& cluster,
             const MeasuredRuns& runs, const ExecutorModel& executor, const std::string& file)
      : runs_(profiles, cluster, runs, executor, file),
        cases_(runs_.cases()),
        executor_(executor),
        terms_(fit_terms_of(kCompute, kStepTerms, executor)) {}

  CalibrationResult run() const {
    const Fit fit = fit_without(cases_.size());
    const MemoryFactors memory = memory_without(cases_.size());
    CalibrationResult result;
    std::vector<double> errors;
    errors.reserve(cases_.size());
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      result.runs.push_back(run_fit(i, fit.values, memory));
      errors.push_back(relative_error(result.runs[i].left_out, result.runs[i].measured));
    }
    result.calibration = runs_.calibration_of(fit.values);
    result.calibration.memory = memory;
    result.calibration.error = six_decimals(summarize_errors(std::move(errors)).root_mean_square);
    result.calibration.posterior = posterior_of(fit.values, result.runs);
    result.terms = terms_of(fit, result.calibration.posterior->covariance);
    return result;
  }

 private:
  struct Fit {
    TermSet fitted;  // of the step terms
    TermSet fitted_reduction;
    CalibrationValues values{};
  };

  // ---- the fit ---------------------------------------------------------------------------------

  // Step times are piecewise linear in the terms: replays with each term moved a little give the
  // slopes. Terms outside `moved` stay where they are.
  [[nodiscard]] Picture picture_at(const CalibrationValues& values, const TermSet& moved) const {
    const std::vector<double> here = runs_.step_times(values);
    Picture picture;
    picture.reserve(cases_.size());
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      picture.push_back({ns(cases_[i].run->step_time), cases_[i].weight, here[i],
                         std::vector<double>(kStepTerms)});
    }
    for (std::size_t t = 0; t < kStepTerms; ++t) {
      if (!moved[t]) continue;
      CalibrationValues there = values;
      const double distance = calibration_terms()[t].unit == TermUnit::kFactor ? 1e-3 : 1e4;
      there[t] += distance;
      const std::vector<double> times = runs_.step_times(there);
      for (std::size_t i = 0; i < cases_.size(); ++i) {
        picture[i].slopes[t] = (times[i] - here[i]) / distance;
        picture[i].constant -= picture[i].slopes[t] * values[t];
      }
    }
    return picture;
  }

  [[nodiscard]] static Picture without(Picture picture, std::size_t left_out) {
    if (left_out < picture.size()) {
      picture.erase(picture.begin() + static_cast<std::ptrdiff_t>(left_out));
    }
    return picture;
  }

  [[nodiscard]] double loss(const CalibrationValues& values, const TermSet& fitted,
                            std::size_t left_out) const {
    const std::vector<double> times = runs_.step_times(values);
    double sum = 0.0;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (i == left_out) continue;
      sum += cases_[i].weight * robust_loss(log_error(times[i], ns(cases_[i].run->step_time)));
    }
    for (std::size_t t = 0; t < kStepTerms; ++t) {
      if (!fitted[t]) continue;
      const FitTerm& term = terms_[t];
      const bool leads = term.follows >= 0 && fitted[static_cast<std::size_t>(term.follows)];
      const double mean = leads ? values[static_cast<std::size_t>(term.follows)] : term.neutral;
      const double error = kOneRun * (values[t] - mean) / term.deviation;
      sum += error * error / 2.0;
    }
    return sum;
  }

  // Where all runs have the same stages, nothing else can be told from compute: it is fitted,
  // alone. Else it must earn its place as any other term: a degree of freedom that the runs do not
  // need costs the others theirs.
  [[nodiscard]] TermChoice choice_without(std::size_t left_out) const {
    std::set<std::tuple<const ModelProfile*, std::string, int, int, int>> kinds;
    std::size_t count = 0;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (i == left_out) continue;
      const Plan& plan = cases_[i].run->plan;
      kinds.insert(
          {cases_[i].profile, plan.schedule, plan.pipeline, plan.chunks, plan.micro_batch_size});
      ++count;
    }
    TermChoice choice;
    choice.always.resize(kStepTerms);
    const bool all_alike = kinds.size() < 2;
    choice.always[kCompute] = all_alike;
    choice.most_terms = all_alike ? 0 : (count + 1) / kRunsPerTerm;
    choice.least_gain = kLeastGain;
    return choice;
  }

  // Chooses terms twice, the second time around the first answer, then settles them with the chosen
  // ones: a round that would raise the loss is halved until it does not.
  [[nodiscard]] Fit fit_without(std::size_t left_out) const {
    Fit fit;
    fit.fitted.resize(kStepTerms);
    fit.values = neutral_values();
    fit_reductions(left_out, fit);
    if (cases_.size() == 1 && left_out == 0) return fit;  // nothing is left to fit to
    const std::vector<FitTerm>& terms = terms_;
    const TermChoice choice = choice_without(left_out);
    const TermSet all(kStepTerms, true);
    for (int i = 0; i < 2; ++i) {
      const TermFit chosen =
          choose_terms(terms, without(picture_at(fit.values, all), left_out), choice);
      fit.fitted = chosen.fitted;
      std::copy(chosen.values.begin(), chosen.values.end(), fit.values.begin());
    }
    TermSet moved = fit.fitted;
    for (std::size_t t = 0; t < kStepTerms; ++t) {
      if (terms[t].follows >= 0) moved[t] = true;
    }
    double now = loss(fit.values, fit.fitted, left_out);
    for (int round = 0; round < kRounds; ++round) {
      const auto next =
          fit_terms(terms, without(picture_at(fit.values, moved), left_out), fit.fitted);
      if (!next || !move_towards(next->values, left_out, fit, now)) break;
    }
    return fit;
  }

  // False when no part of the way lowers the loss.
  [[nodiscard]] bool move_towards(const std::vector<double>& target, std::size_t left_out, Fit& fit,
                                  double& now) const {
    for (double part = 1.0; part > 0.05; part /= 2.0) {
      CalibrationValues next = fit.values;
      for (std::size_t t = 0; t < kStepTerms; ++t) next[t] += part * (target[t] - fit.values[t]);
      const double there = loss(next, fit.fitted, left_out);
      if (!(there < now * (1.0 - 1e-9))) continue;
      fit.values = next;
      now = there;
      return true;
    }
    return false;
  }

  // per byte * gradient bytes + factor * all-reduce, of the fullest stage; with one replica there
  // is nothing but the first.
  void fit_reductions(std::size_t left_out, Fit& fit) const {
    Picture picture;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const auto& measured = cases_[i].run->reduce_gradients;
      if (i == left_out || !measured) continue;
      const MeasuredReduction reduction = reduction_of(cases_[i]);
      picture.push_back({ns(*measured),
                         cases_[i].weight,
                         reduction.time,
                         {reduction.time, reduction.gradient_bytes / 1000.0}});
    }
    fit.fitted_reduction.resize(kTerms - kStepTerms);
    if (picture.empty()) return;
    const TermFit chosen = choose_terms(fit_terms_of(kReduction, kTerms, executor_), picture);
    fit.fitted_reduction = chosen.fitted;
    std::copy(chosen.values.begin(), chosen.values.end(), fit.values.begin() + kReduction);
  }

  // ---- the answer ------------------------------------------------------------------------------

  // Of the fullest device: bytes per parameter, activations, reserve.
  [[nodiscard]] MemoryFactors memory_without(std::size_t left_out) const {
    std::vector<MemoryRun> runs;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (i != left_out && cases_[i].memory.measured > 0.0) runs.push_back(cases_[i].memory);
    }
    return fit_memory(runs);
  }

  // How sure the terms are, by how far the runs scatter: each by the fit, and by one to the others.
  [[nodiscard]] Posterior posterior_of(const CalibrationValues& values,
                                       const std::vector<RunFit>& runs) const {
    double sum = kPriorRuns * kOneRun * kOneRun;
    for (const RunFit& run : runs) {
      sum += std::abs(log_error(ns(run.predicted), ns(run.measured)) *
                      log_error(ns(run.left_out), ns(run.measured)));
    }
    const int degrees = kPriorRuns + static_cast<int>(runs.size());
    Posterior posterior;
    posterior.degrees = degrees;
    posterior.run_to_run = six_decimals(std::sqrt(sum / degrees));
    posterior.covariance = covariance_of(
        terms_, picture_at(values, TermSet(kStepTerms, true)),
        std::vector<double>(values.begin(), values.begin() + kStepTerms), posterior.run_to_run);
    for (double& value : posterior.covariance) value = five_digits(value);
    for (const CalibrationRun& each : cases_) note(each, posterior.fitted_on);
    return posterior;
  }

  static void note(const CalibrationRun& of, std::vector<CalibratedOn>& fitted_on) {
    const Plan& plan = of.run->plan;
    CalibratedOn on{of.profile->name,
                    plan.schedule,
                    plan.pipeline,
                    plan.chunks,
                    plan.tensor,
                    plan.micro_batch_size,
                    1};
    for (CalibratedOn& known : fitted_on) {
      on.runs = known.runs;
      if (known != on) continue;
      ++known.runs;
      return;
    }
    on.runs = 1;
    fitted_on.push_back(std::move(on));
  }

  [[nodiscard]] RunFit run_fit(std::size_t i, const CalibrationValues& values,
                               const MemoryFactors& memory) const {
    const MeasuredRun& run = *cases_[i].run;
    const ModelProfile& model = *cases_[i].profile;
    const EvaluatedPlan plan = runs_.evaluated(run, model, values, memory);
    const EvaluatedPlan left_out =
        runs_.evaluated(run, model, fit_without(i).values, memory_without(i));
    RunFit fit;
    fit.name = run.name;
    fit.plan = run.plan;
    fit.measured = run.step_time;
    fit.predicted = plan.evaluation.step_time;
    fit.left_out = left_out.evaluation.step_time;
    fit.uncalibrated = cases_[i].neutral.evaluation.step_time;
    fit.measured_memory = run.peak_memory;
    fit.predicted_memory = plan.evaluation.peak_memory();
    fit.left_out_memory = left_out.evaluation.peak_memory();
    fit.uncalibrated_memory = {static_cast<std::int64_t>(cases_[i].memory.predicted())};
    fit.measured_reduction = run.reduce_gradients;
    if (run.reduce_gradients) {
      const MeasuredReduction reduction = reduction_of(cases_[i]);
      fit.predicted_reduction =
          round_up_to_ns(1e-9 * ((1.0 + values[kReduction]) * reduction.time +
                                 values[kPerReducedByte] * reduction.gradient_bytes / 1000.0));
    }
    return fit;
  }

  [[nodiscard]] std::vector<FittedTerm> terms_of(const Fit& fit,
                                                 const std::vector<double>& covariance) const {
    const Picture picture = picture_at(fit.values, TermSet(kStepTerms, true));
    std::vector<FittedTerm> terms;
    for (std::size_t t = 0; t < kTerms; ++t) {
      const bool of_step = t < kStepTerms;
      FittedTerm term;
      term.name = calibration_terms()[t].name;
      term.unit = calibration_terms()[t].unit;
      term.value = term.unit == TermUnit::kNanoseconds
                       ? ns(round_up_to_ns(fit.values[t] * 1e-9))
                       : six_decimals(fit.values[t] + calibration_terms()[t].on_top_of);
      if (of_step) term.deviation = std::sqrt(std::max(0.0, covariance[t * (kStepTerms + 1)]));
      for (std::size_t i = 0; i < cases_.size(); ++i) {
        const bool depends = of_step ? picture[i].slopes[t] != 0.0 : depends_on(t, cases_[i]);
        if (depends) ++term.runs;
      }
      const bool fitted = of_step ? fit.fitted[t] : fit.fitted_reduction[t - kStepTerms];
      term.state = fitted           ? TermState::kFitted
                   : term.runs == 0 ? TermState::kNoEffect
                                    : TermState::kNotIdentified;
      terms.push_back(std::move(term));
    }
    return terms;
  }

  // Whether a measured reduction of the run says something about the term.
  [[nodiscard]] static bool depends_on(std::size_t term, const CalibrationRun& of) {
    if (!of.run->reduce_gradients) return false;
    return term == kPerReducedByte || reduction_of(of).time > 0.0;
  }

  const CalibrationRuns runs_;
  const std::vector<CalibrationRun>& cases_;
  const ExecutorModel& executor_;
  const std::vector<FitTerm> terms_;  // of steps
};

}  // namespace

CalibrationResult calibrate(const std::vector<const ModelProfile*>& profiles,
                            const ClusterSpec& cluster, const MeasuredRuns& runs,
                            const ExecutorModel& executor, const std::string& file) {
  if (runs.runs.empty() || profiles.size() != runs.runs.size()) {
    throw_bad_input(file + ": /runs: expected at least one run, got none");
  }
  return Calibrator(profiles, cluster, runs, executor, file).run();
}

CalibrationResult calibrate(const ModelProfile& profile, const ClusterSpec& cluster,
                            const MeasuredRuns& runs, const ExecutorModel& executor,
                            const std::string& file) {
  const std::vector<const ModelProfile*> profiles(runs.runs.size(), &profile);
  return calibrate(profiles, cluster, runs, executor, file);
}

}  // namespace penstock
