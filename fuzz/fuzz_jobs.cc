// penstock.jobs/1: units are replayed by every rule to their end, and nobody beats the bound;
// options are placed as gangs.
#include "fuzz/fuzz.h"
#include "multi/gang_search.h"
#include "multi/jobs_file.h"
#include "multi/schedule_models.h"
#include "multi/unit_bound.h"

namespace penstock {
namespace {

using fuzz::require;

constexpr std::int64_t kMostRuns = 2000;
constexpr int kMostOptions = 20, kGpus = 3;

std::vector<UnitTask> tasks_of(const JobsFile& file) {
  std::vector<UnitTask> tasks;
  std::int64_t runs = 0;
  for (const Job& job : file.jobs) {
    if (job.units.empty()) continue;
    const UnitTask task{job.name, job.units, job.steps - job.done_steps};
    runs += task.executions();
    if (runs > kMostRuns || task.shards() > kMostRuns) return {};
    tasks.push_back(task);
  }
  return tasks;
}

void check_units(const std::vector<UnitTask>& tasks) {
  for (const HostLinks& links : {HostLinks{1, true}, HostLinks{2, false}}) {
    const Duration bound = unit_bound(tasks, kGpus, links).makespan();
    for (const NextTask rule :
         {NextTask::kLongestRemaining, NextTask::kRoundRobin, NextTask::kWholeTasks}) {
      const UnitReplay replay = replay_units(tasks, kGpus, links, {rule});
      std::int64_t all = 0;
      for (const UnitTask& task : tasks) all += task.executions();
      require(static_cast<std::int64_t>(replay.runs.size()) == all, "a unit was forgotten");
      require(replay.makespan >= bound, "a schedule beats the bound");
    }
  }
}

void check_gangs(const JobsFile& file) {
  std::vector<GangTask> tasks;
  for (const Job& job : file.jobs) {
    GangTask task{job.name, {}, job.wishes};
    for (const JobStepTime& time : job.step_times) {
      if (time.gpus <= kGpus) {
        task.options.push_back({time.gpus, time.step * (job.steps - job.done_steps), ""});
      }
    }
    if (!task.options.empty()) tasks.push_back(std::move(task));
  }
  if (tasks.empty() || tasks.size() > kMostOptions) return;
  GangSearch search;
  search.most_tries = 20;
  const NodeSizes nodes{2, 1};
  const GangSchedule schedule = list_gangs(tasks, nodes, search_gangs(tasks, nodes, search));
  require(schedule.makespan() >= gang_bound(tasks, nodes), "gangs beat their bound");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto file = fuzz::accepted(text, [](const std::string& jobs) {
    return read_jobs_file(parse_json(jobs, fuzz::kFile), fuzz::kFile);
  });
  if (!file) return 0;
  fuzz::remember(text);
  const std::vector<UnitTask> tasks = tasks_of(*file);
  if (!tasks.empty()) check_units(tasks);
  check_gangs(*file);
  return 0;
}
