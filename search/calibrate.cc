#include "search/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "costmodel/assumptions.h"
#include "costmodel/calibrated_profile.h"
#include "costmodel/fit_terms.h"
#include "costmodel/price_stages.h"
#include "search/device_cluster.h"
#include "search/evaluate.h"
#include "search/evaluation.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

// Values by term: factors, and times in ns. The first six are fitted to step times, the last two to
// reductions measured apart: on step times they would take the blame for every other error.
enum Term : std::size_t {
  kCompute,
  kSmallKernels,
  kPerStep,
  kPerAction,
  kPerTransfer,
  kTransfer,  // on top of the links' own time
  kStepTerms,
  kReduction = kStepTerms,  // on top likewise
  kPerReducedByte,          // ps
  kTerms,
};
using Values = std::array<double, kTerms>;

struct TermKind {
  const char* name;
  TermUnit unit;
  FitTerm fit;
  double on_top_of;  // what is reported is the value and this
};
constexpr std::array<TermKind, kTerms> kKinds{{
    {"compute", TermUnit::kFactor, {1.0, -1}, 0.0},
    {"small kernels", TermUnit::kFactor, {1.0, kCompute}, 0.0},
    {"per step", TermUnit::kNanoseconds, {0.0, -1}, 0.0},
    {"per action", TermUnit::kNanoseconds, {0.0, -1}, 0.0},
    {"per transfer", TermUnit::kNanoseconds, {0.0, -1}, 0.0},
    {"transfer", TermUnit::kFactor, {0.0, -1}, 1.0},
    {"reduction", TermUnit::kFactor, {0.0, -1}, 1.0},
    {"reduction per byte", TermUnit::kPicosecondsPerByte, {0.0, -1}, 0.0},
}};

constexpr int kRounds = 30;

std::vector<FitTerm> fit_terms_of(Term first, Term end) {
  std::vector<FitTerm> terms;
  terms.reserve(end - first);
  for (std::size_t t = first; t < end; ++t) terms.push_back(kKinds[t].fit);
  return terms;
}

Values neutral_values() {
  Values values{};
  for (std::size_t t = 0; t < kTerms; ++t) values[t] = kKinds[t].fit.neutral;
  return values;
}

double ns(Duration duration) { return static_cast<double>(duration.count()); }

// Files hold six decimals; so predictions are made with no more.
double rounded(double value) { return std::floor(value * 1e6 + 0.5) / 1e6; }

// A run, and what does not depend on the terms.
struct Case {
  const MeasuredRun* run = nullptr;
  Program program;
  StagePrices prices;       // with neutral terms
  Duration uncalibrated{};  // predicted with those
  double weight = 1.0;
};

// The first-order picture of all runs around some values.
using Picture = std::vector<FitRun>;

class Calibrator {
 public:
  Calibrator(const ModelProfile& profile, const ClusterSpec& cluster, const MeasuredRuns& runs,
             const ExecutorModel& executor, const std::string& file)
      : profile_(profile), cluster_(cluster), runs_(runs), executor_(executor), file_(file) {
    cluster_.calibration.reset();
    cases_.reserve(runs.runs.size());
    for (const MeasuredRun& run : runs.runs) cases_.push_back(case_of(run));
    double sum = 0.0;
    for (const Case& each : cases_) sum += each.weight;
    for (Case& each : cases_) each.weight *= static_cast<double>(cases_.size()) / sum;
  }

  CalibrationResult run() const {
    const Fit fit = fit_without(cases_.size());
    CalibrationResult result;
    result.terms = terms_of(fit);
    std::vector<double> errors;
    errors.reserve(cases_.size());
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      result.runs.push_back(run_fit(i, fit.values));
      errors.push_back(relative_error(result.runs[i].left_out, result.runs[i].measured));
    }
    result.calibration = calibration_of(fit.values);
    result.calibration.error = rounded(summarize_errors(std::move(errors)).root_mean_square);
    return result;
  }

 private:
  struct Fit {
    TermSet fitted;  // of the step terms
    TermSet fitted_reduction;
    Values values{};
  };

  // ---- predictions -----------------------------------------------------------------------------

  [[noreturn]] void refuse(const MeasuredRun& run, const std::string& why) const {
    throw_bad_input(file_ + ": run '" + run.name + "': " + why);
  }

  [[nodiscard]] EvaluatedPlan evaluated(const MeasuredRun& run, const Values& values) const {
    ClusterSpec cluster = cluster_;
    cluster.calibration = calibration_of(values);
    const ModelProfile profile = calibrated_profile(profile_, *cluster.calibration);
    return evaluate_in_full({&profile, &cluster, cluster.calibration->executor, std::nullopt},
                            run.plan);
  }

  [[nodiscard]] Case case_of(const MeasuredRun& run) const {
    const auto sections = static_cast<int>(profile_.sections.size());
    if (run.plan.cuts.front() != 0 || run.plan.cuts.back() != sections) {
      refuse(run, "its cuts run from " + std::to_string(run.plan.cuts.front()) + " to " +
                      std::to_string(run.plan.cuts.back()) + ", but the sections of " +
                      profile_.name + " from 0 to " + std::to_string(sections));
    }
    EvaluatedPlan plan = evaluated(run, neutral_values());
    // Over memory is priced all the same: it did run.
    if (plan.why_not && plan.program.actions.empty()) refuse(run, plan.why_not->reason);
    const double spread = ns(run.step_spread) / ns(run.step_time);
    const double weight = 1.0 / (kRunToRun * kRunToRun + spread * spread / run.count);
    return {&run, std::move(plan.program), std::move(plan.prices), plan.evaluation.step_time,
            weight};
  }

  [[nodiscard]] Calibration calibration_of(const Values& values) const {
    Calibration calibration;
    calibration.profile = profile_.name;
    calibration.device = runs_.runs.front().plan.device;
    calibration.runs = static_cast<int>(runs_.runs.size());
    calibration.executor = executor_;
    calibration.executor.name += "+calibrated";
    calibration.executor.per_action = round_up_to_ns(values[kPerAction] * 1e-9);
    calibration.executor.per_transfer = round_up_to_ns(values[kPerTransfer] * 1e-9);
    calibration.executor.per_step = round_up_to_ns(values[kPerStep] * 1e-9);
    calibration.factors = {rounded(values[kCompute]), rounded(values[kSmallKernels]),
                           rounded(1.0 + values[kTransfer]), rounded(1.0 + values[kReduction]),
                           rounded(values[kPerReducedByte])};
    return calibration;
  }

  // Of every run.
  [[nodiscard]] std::vector<double> step_times(const Values& values) const {
    const Calibration calibration = calibration_of(values);
    const ModelProfile profile = calibrated_profile(profile_, calibration);
    ClusterSpec cluster = cluster_;
    cluster.calibration = calibration;
    std::vector<double> times;
    times.reserve(cases_.size());
    for (const Case& each : cases_) {
      times.push_back(ns(step_time(each, profile, cluster, calibration.executor)));
    }
    return times;
  }

  [[nodiscard]] static Duration step_time(const Case& of, const ModelProfile& profile,
                                          const ClusterSpec& cluster,
                                          const ExecutorModel& executor) {
    const Plan& plan = of.run->plan;
    const std::vector<int> samples_of_shape = micro_batch_shapes(plan);
    std::vector<SectionTable> tables;
    tables.reserve(samples_of_shape.size());
    for (const int samples : samples_of_shape) {
      tables.push_back(price_sections(profile, cluster, plan.device, plan.tensor, samples,
                                      plan.sequence_length, plan.recompute));
    }
    std::vector<const SectionTable*> shapes;
    shapes.reserve(tables.size());
    for (const SectionTable& table : tables) shapes.push_back(&table);
    const StagePrices prices = price_stages(profile, cluster, plan, shapes).prices;
    return step_time_of(simulate_summary(of.program, prices, executor), executor);
  }

  // ---- the fit ---------------------------------------------------------------------------------

  // Step times are piecewise linear in the terms: replays with each term moved a little give the
  // slopes. Terms outside `moved` stay where they are.
  [[nodiscard]] Picture picture_at(const Values& values, const TermSet& moved) const {
    const std::vector<double> here = step_times(values);
    Picture picture;
    picture.reserve(cases_.size());
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      picture.push_back({ns(cases_[i].run->step_time), cases_[i].weight, here[i],
                         std::vector<double>(kStepTerms)});
    }
    for (std::size_t t = 0; t < kStepTerms; ++t) {
      if (!moved[t]) continue;
      Values there = values;
      const double distance = kKinds[t].unit == TermUnit::kFactor ? 1e-3 : 1e4;
      there[t] += distance;
      const std::vector<double> times = step_times(there);
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

  [[nodiscard]] double loss(const Values& values, std::size_t left_out) const {
    const std::vector<double> times = step_times(values);
    double sum = 0.0;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (i == left_out) continue;
      sum += cases_[i].weight * robust_loss(log_error(times[i], ns(cases_[i].run->step_time)));
    }
    return sum;
  }

  // Chooses terms twice, the second time around the first answer, then settles them with the chosen
  // ones: a round that would raise the loss is halved until it does not.
  [[nodiscard]] Fit fit_without(std::size_t left_out) const {
    Fit fit;
    fit.values = neutral_values();
    fit_reductions(left_out, fit);
    const std::vector<FitTerm> terms = fit_terms_of(kCompute, kStepTerms);
    const TermSet all(kStepTerms, true);
    for (int i = 0; i < 2; ++i) {
      const TermFit chosen = choose_terms(terms, without(picture_at(fit.values, all), left_out));
      fit.fitted = chosen.fitted;
      std::copy(chosen.values.begin(), chosen.values.end(), fit.values.begin());
    }
    TermSet moved = fit.fitted;
    for (std::size_t t = 0; t < kStepTerms; ++t) {
      if (terms[t].follows >= 0) moved[t] = true;
    }
    double now = loss(fit.values, left_out);
    for (int round = 0; round < kRounds; ++round) {
      const auto next =
          fit_terms(terms, without(picture_at(fit.values, moved), left_out), fit.fitted);
      if (!next || !move_towards(next->values, left_out, fit.values, now)) break;
    }
    return fit;
  }

  // False when no part of the way lowers the loss.
  [[nodiscard]] bool move_towards(const std::vector<double>& target, std::size_t left_out,
                                  Values& values, double& now) const {
    for (double part = 1.0; part > 0.05; part /= 2.0) {
      Values next = values;
      for (std::size_t t = 0; t < kStepTerms; ++t) next[t] += part * (target[t] - values[t]);
      const double there = loss(next, left_out);
      if (!(there < now * (1.0 - 1e-9))) continue;
      values = next;
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
      const Reduction reduction = reduction_of(cases_[i]);
      picture.push_back({ns(*measured),
                         cases_[i].weight,
                         reduction.time,
                         {reduction.time, reduction.gradient_bytes / 1000.0}});
    }
    fit.fitted_reduction.resize(kTerms - kStepTerms);
    if (picture.empty()) return;
    const TermFit chosen = choose_terms(fit_terms_of(kReduction, kTerms), picture);
    fit.fitted_reduction = chosen.fitted;
    std::copy(chosen.values.begin(), chosen.values.end(), fit.values.begin() + kReduction);
  }

  struct Reduction {
    double time = 0.0, gradient_bytes = 0.0;
  };
  [[nodiscard]] static Reduction reduction_of(const Case& of) {
    Reduction largest;
    for (const StepPrice& step : of.prices.step) {
      largest.time = std::max(largest.time, ns(step.reduce_gradient.duration));
      largest.gradient_bytes =
          std::max(largest.gradient_bytes, static_cast<double>(step.gradients.count));
    }
    return largest;
  }

  // ---- the answer ------------------------------------------------------------------------------

  [[nodiscard]] RunFit run_fit(std::size_t i, const Values& values) const {
    const MeasuredRun& run = *cases_[i].run;
    const EvaluatedPlan plan = evaluated(run, values);
    RunFit fit;
    fit.name = run.name;
    fit.plan = run.plan;
    fit.measured = run.step_time;
    fit.predicted = plan.evaluation.step_time;
    fit.left_out = evaluated(run, fit_without(i).values).evaluation.step_time;
    fit.uncalibrated = cases_[i].uncalibrated;
    fit.measured_memory = run.peak_memory;
    fit.predicted_memory = plan.evaluation.peak_memory();
    fit.measured_reduction = run.reduce_gradients;
    if (run.reduce_gradients) {
      const Reduction reduction = reduction_of(cases_[i]);
      fit.predicted_reduction =
          round_up_to_ns(1e-9 * ((1.0 + values[kReduction]) * reduction.time +
                                 values[kPerReducedByte] * reduction.gradient_bytes / 1000.0));
    }
    return fit;
  }

  [[nodiscard]] std::vector<FittedTerm> terms_of(const Fit& fit) const {
    const Picture picture = picture_at(fit.values, TermSet(kStepTerms, true));
    std::vector<FittedTerm> terms;
    for (std::size_t t = 0; t < kTerms; ++t) {
      const bool of_step = t < kStepTerms;
      FittedTerm term;
      term.name = kKinds[t].name;
      term.unit = kKinds[t].unit;
      term.value = term.unit == TermUnit::kNanoseconds
                       ? ns(round_up_to_ns(fit.values[t] * 1e-9))
                       : rounded(fit.values[t] + kKinds[t].on_top_of);
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
  [[nodiscard]] static bool depends_on(std::size_t term, const Case& of) {
    if (!of.run->reduce_gradients) return false;
    return term == kPerReducedByte || reduction_of(of).time > 0.0;
  }

  const ModelProfile& profile_;
  ClusterSpec cluster_;
  const MeasuredRuns& runs_;
  const ExecutorModel& executor_;
  const std::string& file_;
  std::vector<Case> cases_;
};

}  // namespace

CalibrationResult calibrate(const ModelProfile& profile, const ClusterSpec& cluster,
                            const MeasuredRuns& runs, const ExecutorModel& executor,
                            const std::string& file) {
  if (runs.runs.size() < 2) {
    throw_bad_input(file + ": /runs: expected at least 2 runs, got " +
                    std::to_string(runs.runs.size()) +
                    "; what is fitted to one run says nothing about its error");
  }
  return Calibrator(profile, cluster, runs, executor, file).run();
}

}  // namespace penstock
