// Better cuts for a plan, by replays: a local search that begins at the plan's cuts, at those that
// balance the ranks and at equal ones. The same answer every time: its random numbers have a fixed
// seed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/plan.h"
#include "search/asked_to_stop.h"
#include "search/evaluate.h"
#include "search/incumbents.h"
#include "search/recompute_as_needed.h"
#include "search/trainers.h"

namespace penstock {

struct CutBudget {
  int replays = 200;  // at most; with nothing to beat 5 times as many more on the way to an optimum
  std::optional<Bytes> memory{};  // no rank may hold more, whatever its device has
  RecomputeRule recompute = RecomputeRule::kPerStage;  // of a plan whose recompute is divided
  // Of a plan of mode "none": those that it may use in some sections where it does not fit.
  std::vector<std::string> modes_to_divide{};
  // Only plans that are faster count: what is so far from it that cuts cannot make up for it is
  // given up early.
  std::optional<Duration> to_beat{};
  // More than 0: the search ends once a few replays have made the step shorter by less than this
  // part of it.
  double least_gain = 0.0;
  const Trainer* trainer = nullptr;      // only cuts and recompute that its files can say
  AskedToStop* asked_to_stop = nullptr;  // asked before every replay: the search ends where it says
};

// The best that was found: never slower than `plan` with its own cuts, which are kept unless others
// are faster, nor than with equal cuts where those fit. Nothing when no cuts that were tried fit,
// or the plan cannot be replayed at all.
std::optional<Found> improve_cuts(const PlanInputs& inputs, const Plan& plan,
                                  const CutBudget& budget = {});

}  // namespace penstock
