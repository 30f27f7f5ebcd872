#include "cli/reports/spilled_jobs.h"

#include <vector>

#include "cli/reports/spilled_answer.h"
#include "report/words.h"

namespace penstock {
namespace {

// One pass after the other; every shard's copy back follows each of them.
std::vector<TaskUnit> units_of(const SpilledPlan& plan) {
  std::vector<ShardTimes> times;
  times.reserve(plan.shards.size());
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    const ShardTime& time = plan.shards[s].time;
    times.push_back({time.forward, time.back(s + 1 == plan.shards.size()), time.load, time.store});
  }
  const std::vector<TaskUnit> of_pass = units_of_shards(times);
  std::vector<TaskUnit> units;
  for (int pass = 0; pass < plan.passes; ++pass) {
    units.insert(units.end(), of_pass.begin(), of_pass.end());
  }
  return units;
}

}  // namespace

std::optional<SpilledJob> spilled_job(const Question& question, const std::string& name,
                                      std::int64_t steps) {
  const std::optional<HostOfNode> host = host_known(question);
  if (!host) return std::nullopt;
  const std::optional<SpilledPlan> plan = spilled_on(question, *host);
  if (!plan) return std::nullopt;
  SpilledJob job;
  job.task = {name, units_of(*plan), steps, plan->update == UpdatePlace::kHost};
  const MemoryUse& use = plan->file.prediction.ranks.front().memory;
  job.slots = use.parameters + use.gradients + use.optimizer_state;
  job.working = use.total() - job.slots - use.reserve;
  job.capacity = plan->file.prediction.ranks.front().capacity - use.reserve;
  job.host = plan->host;
  job.host_memory = host->memory;
  job.words = "spilled in " + count_of(static_cast<std::int64_t>(plan->shards.size()), "shard");
  return job;
}

}  // namespace penstock
