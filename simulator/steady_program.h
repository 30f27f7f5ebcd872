// What the general engine says of a Program of many micro-batches, from Programs of few: for
// executors whose transfers occupy ranks or queues in ways that the rolled-up replay does not know.
// Exact, to the nanosecond, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/timeline.h"
#include "simulator/analyze.h"

namespace penstock {

// The Program with so many micro-batches fewer in each of its pipelines.
using LowerFewer = std::function<Program(std::int64_t fewer)>;

struct ManyMicroBatches {
  std::int64_t micro_batches = 0;  // of the pipeline that has least
  int ranks = 1, chunks = 1;
  int unit = 1;  // only whole multiples of so many micro-batches may be left out
  // A period is looked for in no more of them at once, for who would not replay all of them either.
  std::int64_t most_at_once = std::numeric_limits<std::int64_t>::max();
};
// Micro-batches are equal to one another but for the last of a pipeline.
[[nodiscard]] ManyMicroBatches many_micro_batches(std::int64_t micro_batches, int ranks, int chunks,
                                                  int group, int copies);

// Such a Program, with what its replays have in common whatever the prices: for who asks often.
struct PreparedProgram;  // list_phases.h
using PrepareFewer = std::function<std::shared_ptr<const PreparedProgram>(std::int64_t fewer)>;
std::shared_ptr<const PreparedProgram> prepared(Program program, const ManyMicroBatches& many,
                                                std::int64_t fewer, const ExecutorModel& executor);
[[nodiscard]] std::size_t actions_of(const PreparedProgram& prepared);

// Two Programs, the second a window longer. What differs between them differs as often again in the
// wanted one: `windows` windows behind the first.
struct SteadyProgram {
  std::shared_ptr<const PreparedProgram> of_few, of_more;
  Timeline of_first, of_second;
  std::int64_t windows = 0;
  std::int64_t replayed = 0;  // actions, until this was found: what it cost

  [[nodiscard]] const Program& first() const;
  [[nodiscard]] const Program& second() const;
  [[nodiscard]] TimelineSummary summary() const;
  // attribute_idle() of it.
  [[nodiscard]] std::vector<RankTime> idle(const ExecutorModel& executor, int pipelines) const;
  [[nodiscard]] std::int64_t actions() const;
};

// Whether the Program deadlocks, if the Programs of few tell: two of them do, or neither. A circle
// of actions that wait for each other lies in what a window more does not part.
std::optional<bool> deadlocks(const ManyMicroBatches& many, const LowerFewer& lower,
                              const ExecutorModel& executor);

// Nothing where micro-batches are few, or no period shows in as many as are tried. The Program must
// not deadlock.
std::optional<SteadyProgram> steady_program(const ManyMicroBatches& many,
                                            const PrepareFewer& prepare, const StagePrices& prices,
                                            const ExecutorModel& executor);
std::optional<SteadyProgram> steady_program(const ManyMicroBatches& many, const LowerFewer& lower,
                                            const StagePrices& prices,
                                            const ExecutorModel& executor);

}  // namespace penstock
