// All sets of up to so many terms are tried, small ones first; a larger one is taken only where its
// error on runs that are left out is lower by more than rounding. Within a set the terms come from
// iteratively reweighted least squares, runs beyond their repeatability counting less; a set with a
// negative term is none, since the best fit with bounds at zero is the free fit of some other set.
// A term that rests on a single run, or that the others say as well, is not fitted. The covariance
// of the posterior gives the intervals of predictions.
#include "costmodel/fit_terms.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

// Sums are added up in one order, whatever vector units there are.
#define EIGEN_DONT_VECTORIZE
#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "costmodel/assumptions.h"
#include "costmodel/interpolate.h"

namespace penstock {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNever = std::numeric_limits<double>::infinity();
// Columns of unit length whose part across all others is shorter than this say the same.
constexpr double kTellApart = 1e-3;
// A run on which a term rests alone has leverage 1.
constexpr double kMostLeverage = 0.999;
// Improvements of the error below 0.05 % are rounding.
constexpr double kSameError = 5e-4;
// What the runs leave of the prior's deviation, of a term that they identify.
constexpr double kIdentified = 0.5;
constexpr int kIterations = 50;

Index index(std::size_t i) { return static_cast<Index>(i); }

// A set of terms as a linear problem: predicted = constant + slopes * x, x the fitted terms; and
// errors of the terms themselves, prior * x - expected, in the unit of the runs' errors.
struct Linear {
  VectorXd measured, weight, constant,
      scale;  // scale: of the columns of slopes, which have length 1
  MatrixXd slopes;
  MatrixXd prior;
  VectorXd expected;
};

// The fitted term that says what term j is; -1: its neutral value.
int stands_for(const std::vector<FitTerm>& terms, const TermSet& set, std::size_t j) {
  if (set[j]) return static_cast<int>(j);
  const int leader = terms[j].follows;
  return leader >= 0 && set[static_cast<std::size_t>(leader)] ? leader : -1;
}

std::vector<std::size_t> members(const TermSet& set) {
  std::vector<std::size_t> list;
  for (std::size_t j = 0; j < set.size(); ++j) {
    if (set[j]) list.push_back(j);
  }
  return list;
}

// One row for each fitted term that has a prior; the others' rows are 0.
void add_prior(const std::vector<FitTerm>& terms, const TermSet& set,
               const std::vector<std::size_t>& fitted, Linear& linear) {
  const Index p = index(fitted.size());
  linear.prior = MatrixXd::Zero(p, p);
  linear.expected = VectorXd::Zero(p);
  for (Index row = 0; row < p; ++row) {
    const FitTerm& term = terms[fitted[static_cast<std::size_t>(row)]];
    if (term.deviation <= 0.0) continue;
    const double unit = kOneRun / term.deviation;
    linear.prior(row, row) = unit / linear.scale[row];
    const bool leads = term.follows >= 0 && set[static_cast<std::size_t>(term.follows)];
    if (!leads) {
      linear.expected[row] = unit * term.neutral;
      continue;
    }
    const auto leader =
        std::find(fitted.begin(), fitted.end(), static_cast<std::size_t>(term.follows));
    const Index column = leader - fitted.begin();
    linear.prior(row, column) = -unit / linear.scale[column];
  }
}

// In units of the measured times, so that columns compare whatever the runs' sizes.
Linear linear_problem(const std::vector<FitTerm>& terms, const std::vector<FitRun>& runs,
                      const TermSet& set) {
  const std::vector<std::size_t> fitted = members(set);
  const Index n = index(runs.size());
  Linear linear{VectorXd(n),
                VectorXd(n),
                VectorXd(n),
                VectorXd(index(fitted.size())),
                MatrixXd::Zero(n, index(fitted.size())),
                {},
                {}};
  for (Index i = 0; i < n; ++i) {
    const FitRun& run = runs[static_cast<std::size_t>(i)];
    linear.measured[i] = run.measured;
    linear.weight[i] = run.weight;
    linear.constant[i] = run.constant / run.measured;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      const double slope = run.slopes[j] / run.measured;
      const int term = stands_for(terms, set, j);
      if (term < 0) {
        linear.constant[i] += slope * terms[j].neutral;
        continue;
      }
      const auto column = std::find(fitted.begin(), fitted.end(), static_cast<std::size_t>(term));
      linear.slopes(i, column - fitted.begin()) += slope;
    }
  }
  for (Index j = 0; j < linear.slopes.cols(); ++j) {
    linear.scale[j] = linear.slopes.col(j).norm();
    if (linear.scale[j] <= 0.0) linear.scale[j] = 1.0;
    linear.slopes.col(j) /= linear.scale[j];
  }
  add_prior(terms, set, fitted, linear);
  return linear;
}

VectorXd log_errors(const VectorXd& relative) {
  VectorXd errors(relative.size());
  for (Index i = 0; i < relative.size(); ++i) {
    errors[i] = log_error(relative[i], 1.0);
  }
  return errors;
}

double loss_of(const VectorXd& errors, const VectorXd& weight) {
  double loss = 0.0;
  for (Index i = 0; i < errors.size(); ++i) loss += weight[i] * robust_loss(errors[i]);
  return loss;
}

// How much an error still counts: 1 within the repeatability, less beyond.
double influence(double error) {
  return std::abs(error) <= kRunToRun ? 1.0 : kRunToRun / std::abs(error);
}

struct Solution {
  VectorXd x, relative, errors;  // relative: predicted / measured
  double loss = kNever;
};

Solution solution_at(const Linear& linear, VectorXd x) {
  Solution solution;
  solution.relative = linear.constant + linear.slopes * x;
  solution.x = std::move(x);
  solution.errors = log_errors(solution.relative);
  solution.loss = loss_of(solution.errors, linear.weight) +
                  (linear.prior * solution.x - linear.expected).squaredNorm() / 2.0;
  return solution;
}

// The problem around a solution: errors + columns * step, each row as far as it counts; the rows of
// the prior behind those of the runs.
struct Weighted {
  MatrixXd columns;
  VectorXd errors;
};

Weighted weighted_at(const Linear& linear, const Solution& solution) {
  const Index n = linear.slopes.rows(), p = linear.slopes.cols();
  Weighted weighted{MatrixXd(n + p, p), VectorXd(n + p)};
  for (Index i = 0; i < n; ++i) {
    const double root = std::sqrt(linear.weight[i] * influence(solution.errors[i]));
    weighted.columns.row(i) = linear.slopes.row(i) * (root / solution.relative[i]);
    weighted.errors[i] = solution.errors[i] * root;
  }
  weighted.columns.bottomRows(p) = linear.prior;
  weighted.errors.tail(p) = linear.prior * solution.x - linear.expected;
  return weighted;
}

// One reweighted step; halved while it does not lower the loss. False when none does.
bool improve(const Linear& linear, Solution& solution) {
  const Weighted weighted = weighted_at(linear, solution);
  const VectorXd step = weighted.columns.colPivHouseholderQr().solve(-weighted.errors);
  for (double part = 1.0; part > 1e-6; part /= 2.0) {
    Solution next = solution_at(linear, solution.x + part * step);
    if (!(next.loss < solution.loss)) continue;
    solution = std::move(next);
    return true;
  }
  return false;
}

// From plain least squares of relative errors on.
std::optional<Solution> solve(const Linear& linear) {
  const Index n = linear.slopes.rows(), p = linear.slopes.cols();
  if (p == 0) return solution_at(linear, VectorXd(0));
  Eigen::ColPivHouseholderQR<MatrixXd> qr(linear.slopes);
  qr.setThreshold(kTellApart);
  if (qr.rank() < p) return std::nullopt;
  MatrixXd rows(n + p, p);
  rows << linear.slopes, linear.prior;
  VectorXd target(n + p);
  target << VectorXd::Ones(n) - linear.constant, linear.expected;
  Solution solution = solution_at(linear, rows.colPivHouseholderQr().solve(target));
  if (solution.loss == kNever) return std::nullopt;
  for (int i = 0; i < kIterations && improve(linear, solution); ++i) continue;
  return solution;
}

// How far each run decides its own prediction: the diagonal of the hat matrix, row lengths of Q.
VectorXd leverages(const Linear& linear, const Solution& solution) {
  const Index n = linear.slopes.rows(), p = linear.slopes.cols();
  if (p == 0) return VectorXd::Zero(n);
  const auto qr = weighted_at(linear, solution).columns.householderQr();
  const MatrixXd q = qr.householderQ() * MatrixXd::Identity(n + p, p);
  return q.topRows(n).rowwise().squaredNorm();
}

// Of x, in the unit of the runs' errors.
MatrixXd spread_of(const Linear& linear, const Solution& solution) {
  const Index p = linear.slopes.cols();
  const MatrixXd columns = weighted_at(linear, solution).columns;
  return (columns.transpose() * columns).ldlt().solve(MatrixXd::Identity(p, p));
}

// Whether the runs make every term that has a prior much surer than it was.
bool all_identified(const std::vector<FitTerm>& terms, const std::vector<std::size_t>& fitted,
                    const TermSet& exempt, const Linear& linear, const Solution& solution) {
  if (fitted.empty()) return true;
  const MatrixXd spread = spread_of(linear, solution);
  for (std::size_t j = 0; j < fitted.size(); ++j) {
    const FitTerm& term = terms[fitted[j]];
    if (term.deviation <= 0.0 || (!exempt.empty() && exempt[fitted[j]])) continue;
    const double deviation =
        kOneRun * std::sqrt(spread(index(j), index(j))) / linear.scale[index(j)];
    if (deviation > kIdentified * term.deviation) return false;
  }
  return true;
}

// What the loss would be if every run were predicted by a fit to the others.
double left_out_loss(const Linear& linear, const Solution& solution) {
  const VectorXd leverage = leverages(linear, solution);
  if ((leverage.array() > kMostLeverage).any()) return kNever;
  const VectorXd errors = solution.errors.array() / (1.0 - leverage.array());
  return loss_of(errors, linear.weight);
}

TermSet set_of(unsigned bits, std::size_t terms) {
  TermSet set(terms);
  for (std::size_t j = 0; j < terms; ++j) set[j] = (bits >> j & 1U) != 0;
  return set;
}

}  // namespace

double log_error(double predicted, double measured) {
  return predicted > 0.0 ? natural_log(predicted / measured) : -kNever;
}

double robust_loss(double error) {
  const double size = std::abs(error);
  return size <= kRunToRun ? size * size / 2.0 : kRunToRun * (size - kRunToRun / 2.0);
}

namespace {

std::optional<TermFit> identified_fit(const std::vector<FitTerm>& terms,
                                      const std::vector<FitRun>& runs, const TermSet& set,
                                      const TermSet& exempt) {
  const std::vector<std::size_t> fitted = members(set);
  if (fitted.size() > runs.size()) return std::nullopt;
  const Linear linear = linear_problem(terms, runs, set);
  const std::optional<Solution> solution = solve(linear);
  if (!solution || !all_identified(terms, fitted, exempt, linear, *solution)) return std::nullopt;
  TermFit fit{set, {}, solution->loss, left_out_loss(linear, *solution)};
  if (fit.left_out_loss == kNever) return std::nullopt;
  fit.values.reserve(terms.size());
  for (std::size_t j = 0; j < terms.size(); ++j) {
    const int term = stands_for(terms, set, j);
    const auto column =
        std::find(fitted.begin(), fitted.end(), static_cast<std::size_t>(term)) - fitted.begin();
    fit.values.push_back(term < 0 ? terms[j].neutral : solution->x[column] / linear.scale[column]);
    if (fit.values.back() < 0.0) return std::nullopt;
  }
  return fit;
}

}  // namespace

std::optional<TermFit> fit_terms(const std::vector<FitTerm>& terms, const std::vector<FitRun>& runs,
                                 const TermSet& set) {
  return identified_fit(terms, runs, set, TermSet(terms.size(), true));
}

// The fit that none of the terms may leave below 0 has some of them at 0 and is the free fit of the
// others: so the sets whose free fit is not negative hold it, and trying all of them finds it.
TermFit choose_terms(const std::vector<FitTerm>& terms, const std::vector<FitRun>& runs,
                     const TermChoice& choice) {
  assert(terms.size() <= 16);
  double same = choice.least_gain;
  for (const FitRun& run : runs) same += run.weight * kSameError * kSameError / 2.0;
  TermFit best;
  best.fitted.resize(terms.size());
  best.left_out_loss = best.loss = kNever;
  for (const FitTerm& term : terms) best.values.push_back(term.neutral);
  const auto includes = [&](const TermSet& set) {
    for (std::size_t j = 0; j < choice.always.size(); ++j) {
      if (choice.always[j] && !set[j]) return false;
    }
    return true;
  };
  const std::size_t least = members(choice.always).size();
  const std::size_t most = std::min(terms.size(), least + choice.most_terms);
  for (std::size_t size = least; size <= most; ++size) {
    for (unsigned bits = 0; bits < 1U << terms.size(); ++bits) {
      if (static_cast<std::size_t>(std::popcount(bits)) != size) continue;
      const TermSet set = set_of(bits, terms.size());
      if (!includes(set)) continue;
      auto fit = identified_fit(terms, runs, set, choice.always);
      if (fit && fit->left_out_loss < best.left_out_loss - same) best = std::move(*fit);
    }
  }
  return best;
}

std::vector<double> covariance_of(const std::vector<FitTerm>& terms,
                                  const std::vector<FitRun>& runs,
                                  const std::vector<double>& values, double one_run) {
  const TermSet all(terms.size(), true);
  Linear linear = linear_problem(terms, runs, all);
  // Of runs that scatter more, or less, than one run is thought to.
  linear.weight *= kOneRun * kOneRun / (one_run * one_run);
  VectorXd x(index(terms.size()));
  for (std::size_t j = 0; j < terms.size(); ++j) x[index(j)] = values[j] * linear.scale[index(j)];
  const MatrixXd spread = spread_of(linear, solution_at(linear, std::move(x)));
  std::vector<double> covariance;
  covariance.reserve(terms.size() * terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = 0; j < terms.size(); ++j) {
      covariance.push_back(kOneRun * kOneRun * spread(index(i), index(j)) /
                           (linear.scale[index(i)] * linear.scale[index(j)]));
    }
  }
  return covariance;
}

}  // namespace penstock
