// Few terms, none negative, fitted to measured times by robust weighted least squares in log error
// and by what was thought of them before (maximum a posteriori), the choice of those that the runs
// can tell apart, and how sure they are then. Times are linear in the terms here; who calls this
// takes care of the bends.
#pragma once

#include <optional>
#include <vector>

namespace penstock {

// Of one run's step time, relative: the mean difference of two runs of one plan is 5 % (kRunToRun),
// which of normal errors is 2 / sqrt(pi) standard deviations.
inline constexpr double kOneRun = 0.0443;

struct FitTerm {
  double neutral = 0.0;    // its value while it is not fitted
  int follows = -1;        // instead: this term's value, when that one is fitted
  double deviation = 0.0;  // of the prior around the neutral value, or the followed term's; 0: flat
};

// predicted = constant + sum of slopes * terms.
struct FitRun {
  double measured = 0.0;  // > 0
  double weight = 1.0;
  double constant = 0.0;
  std::vector<double> slopes;  // one per term
};

using TermSet = std::vector<bool>;  // one per term: whether it is fitted

struct TermFit {
  TermSet fitted;
  std::vector<double> values;
  double loss = 0.0;           // of the runs
  double left_out_loss = 0.0;  // of each run by the others, by leverage
};

// Huber's loss: errors within what two runs of one plan differ by (kRunToRun) count squared, larger
// ones linearly.
double robust_loss(double log_error);

// The natural logarithm of predicted / measured; minus infinity when nothing is predicted.
double log_error(double predicted, double measured);

// Nothing when the runs cannot tell the terms of the set apart, when one of them rests on a single
// run alone, or when one comes out negative.
std::optional<TermFit> fit_terms(const std::vector<FitTerm>& terms, const std::vector<FitRun>& runs,
                                 const TermSet& set);

// The sets to choose from.
struct TermChoice {
  TermSet always;               // empty: none
  std::size_t most_terms = 16;  // of those that are not always there
  double least_gain = 0.0;      // of the left-out loss, for one term more
};

// The set whose terms, fitted to all runs but one, predict that one best; among equally good ones
// the smallest, then the first. Terms with a prior that the runs do not make at least twice as sure
// are left out. The smallest set is always one. At most 16 terms.
TermFit choose_terms(const std::vector<FitTerm>& terms, const std::vector<FitRun>& runs,
                     const TermChoice& choice = {});

// Of all terms, fitted or not, around these values: row by row. `one_run`: the standard deviation
// of a run of weight 1. Every term needs a prior.
std::vector<double> covariance_of(const std::vector<FitTerm>& terms,
                                  const std::vector<FitRun>& runs,
                                  const std::vector<double>& values, double one_run);

}  // namespace penstock
