// The Program of a plan's own schedule as a plan file holds it, lists as blocks, without writing
// all actions out: so that reading, replaying and writing a file costs as much for a million
// micro-batches as for a thousand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/json.h"
#include "core/values/plan_file.h"
#include "search/plan_program.h"
#include "simulator/analyze.h"

namespace penstock {

// What write_program() makes of the Program of `plan`. Made from the Programs of three smaller
// numbers of micro-batches: where block by block the third differs from the second as the second
// from the first, so do all that follow. Nothing where they do not, where micro-batches are few, or
// where the order is not the schedule's alone (automatic ones, run-time rules).
struct RolledProgram {
  Json json;
  std::int64_t actions = 0;  // that it stands for
};
std::optional<RolledProgram> rolled_program(const Plan& plan, const std::vector<PlanTie>& ties,
                                            bool recomputes, const ExecutorModel& executor);

// Whether the file's Program was left out (PlanFile::program has no actions) since it is that of
// its schedule, and what follows from the rolled-up lists: evaluate() and replay_plan_file() do.
[[nodiscard]] inline bool is_rolled_up(const PlanFile& file) {
  return file.program.actions.empty();
}

// read_plan(), but a Program that is large (by the plan and its actions) stays rolled up where that
// tells as much.
using IsLarge = std::function<bool(const Plan& plan, std::int64_t actions)>;
PlanFile read_plan_rolled_up(const Json& json, const std::string& file, const IsLarge& is_large);
// Of a file that was read so.
std::int64_t rolled_actions(const PlanFile& file);
// Of any file.
std::int64_t actions_of(const PlanFile& file);
// With other prices and another executor that issues in the same order.
TimelineSummary rolled_summary(const PlanFile& file, const StagePrices& prices,
                               const ExecutorModel& executor);
// Of any plan whose order is its schedule's.
TimelineSummary rolled_summary(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
                               const StagePrices& prices, const ExecutorModel& executor);
// The same plan with so few micro-batches that its Program is there, in the same order, and with
// the next number of them; `steps` from the first it is back at its own.
PlanFile with_few_micro_batches(const PlanFile& file);
struct FewMicroBatches {
  PlanFile first, second;
  std::int64_t steps = 0;
};
FewMicroBatches few_micro_batches(const PlanFile& file);

// Whether a file of these may be left without its Program and be written all the same.
bool can_be_rolled_up(const PlanFile& without_program, bool recomputes);
// write_plan(), with the Program of its schedule where the file has none.
Json write_plan_rolled_up(const PlanFile& file);

// As schedules_of(), under the file's executor. Recomputes are there where they take time.
struct RolledFile {
  PlanSchedules schedules;
  LoweringOptions options;
};
RolledFile rolled_file(const PlanFile& file);

}  // namespace penstock
