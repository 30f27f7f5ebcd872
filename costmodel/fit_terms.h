// Few terms, none negative, fitted to measured times by robust weighted least squares in log error,
// and the choice of those that the runs can tell apart. Times are linear in the terms here; who
// calls this takes care of the bends.
#pragma once

#include <optional>
#include <vector>

namespace penstock {

struct FitTerm {
  double neutral = 0.0;  // its value while it is not fitted
  int follows = -1;      // instead: this term's value, when that one is fitted
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

// The set whose terms, fitted to all runs but one, predict that one best; among equally good ones
// the smallest, then the first. At least the empty set is one. At most 16 terms.
TermFit choose_terms(const std::vector<FitTerm>& terms, const std::vector<FitRun>& runs);

}  // namespace penstock
