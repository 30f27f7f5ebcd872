// The straight replay: one pass over the actions in stored order. Exact for every executor model in
// which transfers occupy nothing (asynchronous, no queues, no gates); fixed costs are allowed.
#pragma once

#include "core/values/executor_model.h"
#include "core/values/timeline.h"
#include "simulator/analyze.h"
#include "simulator/price_table.h"

namespace penstock {

bool straight_replay_is_exact(const ExecutorModel& executor);
// Whether the streams of a rank say all: the same, or sends that keep their own rank alone busy.
bool transfers_occupy_senders_at_most(const ExecutorModel& executor);

Timeline replay(const Program& program, const StagePrices& prices, const ExecutorModel& executor);

// Only the summary: what a search needs, without storing starts.
TimelineSummary replay_summary(const Program& program, const StagePrices& prices,
                               const ExecutorModel& executor);

// The end of a step whose first actions have run: `known` holds their ends. A send among them keeps
// its rank busy until then.
struct RunSoFar {
  std::vector<SimTime> known;
  std::vector<SimTime> first;  // per rank, SimTime::max() when it has computed nothing
  std::vector<Duration> busy;
};
// `timeline`, if any, gets the times of all actions; the starts of those that have run are not
// known.
TimelineSummary replay_rest(const Program& program, const PriceTable& prices, HostLink link,
                            RunSoFar so_far, Timeline* timeline = nullptr);

}  // namespace penstock
