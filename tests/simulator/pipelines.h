// What the tests of the simulator share: prices of equal and of random stages, Programs from
// schedules, lists as docs/schedules.md prints them, and random Programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/schedule.h"
#include "core/values/stage_prices.h"
#include "simulator/analyze.h"
#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"

namespace penstock::testing {

// Durations of a whole rank in nanoseconds, as in docs/schedules.md: a chunk takes a V-th of them.
struct RankCosts {
  std::int64_t forward = 0, input_gradient = 0, weight_gradient = 0;
  std::int64_t transfer = 0;  // c, per hop
};

// Equal stages: every chunk costs the rank's divided by `chunks`, which must divide them.
StagePrices equal_prices(int stages, int chunks, const RankCosts& costs);

PipelineInput input_of(Schedule schedule);
// Compute and transfers only.
Program lowered(std::string_view schedule, const ScheduleShape& shape);
TimelineSummary summary_of(std::string_view schedule, const ScheduleShape& shape,
                           const RankCosts& costs);
Duration makespan_of(std::string_view schedule, const ScheduleShape& shape, const RankCosts& costs);

// "0F0 0F1 0B0" of one rank; with one chunk per rank "F0 F1 B0", as the text prints it. An OVERLAP
// is "(0F1;0B0)".
std::string text_of(const Schedule& schedule, int rank);
// With names of the test's own.
std::string text_of(const Schedule& schedule, int rank,
                    const std::function<std::string(const ComputeAction&)>& name);
// Megatron's way: chunk + 1, negative for backwards: "1 1 2 -2".
std::string signed_text_of(const Schedule& schedule, int rank);
// The actions of one rank of a Program in issue order: "0F0 0SEND_F0 ...".
std::string text_of(const Program& program, int rank);

// A generator whose numbers are the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // From `low` to `high`, both included.
  int between(int low, int high);
  bool coin() { return between(0, 1) == 1; }

 private:
  std::uint64_t state_;
};

// What a step does besides compute and transfers.
void add_random_step_actions(Random& random, int stages, LoweringOptions& options);

// Any schedule that can be generated with at most the given sizes.
Schedule random_schedule(Random& random, int most_ranks, int most_micro_batches);
// A Program of anything lowering offers, with prices for it.
struct PricedProgram {
  Program program;
  StagePrices prices;
};
struct RandomProgramOptions {
  bool one_pipeline = false;
  IssueOrder issue = IssueOrder::kEager;
};
PricedProgram random_program(Random& random, const RandomProgramOptions& options = {});
StagePrices random_prices(Random& random, int stages, int shapes,
                          const std::vector<std::string>& ties = {});
template <class Tie>
std::vector<std::string> names_of(const std::vector<Tie>& ties) {
  std::vector<std::string> names;
  for (const Tie& tie : ties) names.push_back(tie.name);
  return names;
}

}  // namespace penstock::testing
