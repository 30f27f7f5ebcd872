// --slow: a named scenario, "what if this GPU or that link is slow".
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "report/uncertainty.h"
#include "simulator/scenario.h"

namespace penstock {

struct SlowOptions {
  std::vector<std::string> texts;

  void declare(Options& options);
  [[nodiscard]] bool given() const { return !texts.empty(); }
  // Error{kBadInput} for anything but rank=R:FACTOR and link=R-R:FACTOR, a factor below 1, and a
  // part that is named twice.
  [[nodiscard]] Scenario scenario() const;
  // Of a plan, of which a GPU may be named, or a node of so many: gpu=G:FACTOR, node=N:FACTOR.
  [[nodiscard]] Scenario scenario(const Plan& plan, int node_size = 8) const;
  // "; GPU 17 of the job is of rank 1", for each that is named; the scenario must be valid.
  [[nodiscard]] std::string gpus_in_words(const Plan& plan, int node_size = 8) const;
};

// "rank 3 computes 1.3 times as long; transfers between ranks 2 and 3 take 2 times as long"
std::string words_of(const Scenario& scenario);

// Gives the prices the scenario, and says what that does to the step.
ScenarioResult slow_down(const Scenario& scenario, const Program& program,
                         const ExecutorModel& executor, StagePrices& prices);

}  // namespace penstock
