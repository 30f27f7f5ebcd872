// The summary of lower() and simulate_summary() in one, without making the Program: works on the
// rolled-up lists, so that its cost is flat in the number of micro-batches once there is a steady
// state. Exact, to the nanosecond.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/executor_model.h"
#include "core/values/stage_prices.h"
#include "simulator/analyze.h"
#include "simulator/liveness.h"
#include "simulator/lower.h"

namespace penstock {

// `count` consecutive micro-batches of a pipeline that are equal.
struct MicroBatchRun {
  std::int64_t count = 0;
  MicroBatch each;
};

struct ReplaySteps;  // replay_steps.h

// One distinct pipeline.
struct RolledInput {
  const Schedule* schedule = nullptr;
  std::vector<MicroBatchRun> micro_batches;
  int replicas = 1;
  std::shared_ptr<const ReplaySteps> steps{};  // kept_steps(), or nothing: made for every replay
};

// What the replays of a pipeline have in common, whatever the prices: for who replays it often.
std::shared_ptr<const ReplaySteps> kept_steps(const RolledInput& pipeline);

// Whether it can: transfers are issued at once and occupy nothing or their sender, and no rule
// changes the order while the step runs.
bool can_simulate_schedule(const ExecutorModel& executor);
bool can_simulate_schedule(const Schedule& schedule, const ExecutorModel& executor);

// Memory of replays that run one after the other, so that thousands of them ask for it once.
class ReplayBuffers {
 public:
  ReplayBuffers();
  ~ReplayBuffers();
  ReplayBuffers(const ReplayBuffers&) = delete;
  ReplayBuffers& operator=(const ReplayBuffers&) = delete;

  struct Contents;  // rolled_replay.h
  [[nodiscard]] Contents& contents() { return *contents_; }

 private:
  std::unique_ptr<Contents> contents_;
};

// Error{kBadInput} as lower() and simulate() give it.
TimelineSummary simulate_schedule(const std::vector<RolledInput>& pipelines,
                                  const LoweringOptions& options, const StagePrices& prices,
                                  const ExecutorModel& executor, ReplayBuffers& buffers);
TimelineSummary simulate_schedule(const std::vector<RolledInput>& pipelines,
                                  const LoweringOptions& options, const StagePrices& prices,
                                  const ExecutorModel& executor);

// How a replay went: compute actions that ran one by one, those that jumps went over; where ranks
// meet, at each end of a transfer one more.
struct ReplayWork {
  std::int64_t steps = 0, skipped = 0, jumps = 0;
};

// The same with attribute_idle() of the Program's replay: idle time by cause of the ranks of the
// first `attributed` pipelines.
struct AttributedSimulation {
  TimelineSummary summary;
  std::vector<RankTime> ranks;
  ReplayWork work{};
};
AttributedSimulation simulate_schedule_attributed(const std::vector<RolledInput>& pipelines,
                                                  const LoweringOptions& options,
                                                  const StagePrices& prices,
                                                  const ExecutorModel& executor,
                                                  ReplayBuffers& buffers, int attributed = 1);

// The same with what the compute of every stage takes of the chain of actions that the length of
// the step comes from (time_on_chain.h).
struct TracedSimulation {
  TimelineSummary summary;
  std::vector<Duration> on_chain;
  ReplayWork work{};
};
TracedSimulation simulate_schedule_traced(const std::vector<RolledInput>& pipelines,
                                          const LoweringOptions& options, const StagePrices& prices,
                                          const ExecutorModel& executor, ReplayBuffers& buffers);

// The same of schedules whose rule changes the order while the step runs, and what the ranks of the
// first `told` pipelines hold in the order that comes about (liveness() of as_executed()). Nothing
// where lower() and simulate() have to say it: lists that are not Varuna's, a forward or a backward
// that takes no time, transfers that occupy something.
struct RuledSimulation {
  TimelineSummary summary;
  std::vector<RankLiveness> held;
  std::vector<Bytes> stash;  // peak_stash_bytes() of the same ranks
};
std::optional<RuledSimulation> simulate_by_rule(const std::vector<RolledInput>& pipelines,
                                                const LoweringOptions& options,
                                                const StagePrices& prices,
                                                const ExecutorModel& executor,
                                                ReplayBuffers& buffers, int told = 1);

struct CountedSimulation {
  TimelineSummary summary;
  ReplayWork work;  // of all pipelines
};
// The same with the work. `jumps` off: the plain replay of every repetition, for comparison.
CountedSimulation simulate_schedule_counted(const std::vector<RolledInput>& pipelines,
                                            const LoweringOptions& options,
                                            const StagePrices& prices,
                                            const ExecutorModel& executor, ReplayBuffers& buffers,
                                            bool jumps = true);

// The same where ranks meet for their transfers (ranks_meet()), by the lists of these pipelines'
// Program. Nothing where transfers wait for each other for ever.
struct MeetingLists;  // meeting_lists.h
std::optional<CountedSimulation> simulate_meetings(const std::vector<RolledInput>& pipelines,
                                                   const LoweringOptions& options,
                                                   const MeetingLists& lists,
                                                   const StagePrices& prices,
                                                   const ExecutorModel& executor,
                                                   bool jumps = true);

}  // namespace penstock
