// Schedules of units need units of every model; schedules of gangs need options, which a model with
// units has as well: one GPU, to the end. So one answer may weigh both.
#include "multi/schedule_models.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "multi/gang_search.h"
#include "multi/priority_search.h"
#include "multi/unit_bound.h"

namespace penstock {
namespace {

// Shorter gaps between units are not drawn: a step has thousands of them.
constexpr std::int64_t kGapsDrawn = 2000;

constexpr const char* kOnOneGpu = "spilled, on one GPU";
constexpr const char* kUnits = "spilled, unit by unit";

struct Found {
  MultiCandidate candidate;
  std::optional<UnitRules> units;  // else a schedule of gangs
  GangSchedule gangs;
};

bool all_have_units(const MultiQuestion& question) {
  return std::all_of(question.models.begin(), question.models.end(),
                     [](const SharedModel& model) { return model.units.has_value(); });
}

bool some_have_options(const MultiQuestion& question) {
  return std::any_of(question.models.begin(), question.models.end(),
                     [](const SharedModel& model) { return !model.options.empty(); });
}

std::vector<UnitTask> unit_tasks(const MultiQuestion& question) {
  std::vector<UnitTask> tasks;
  tasks.reserve(question.models.size());
  for (const SharedModel& model : question.models) tasks.push_back(*model.units);
  return tasks;
}

std::vector<Wishes> wishes_of(const MultiQuestion& question) {
  std::vector<Wishes> wishes;
  wishes.reserve(question.models.size());
  for (const SharedModel& model : question.models) wishes.push_back(model.wishes);
  return wishes;
}

// A model with units computes at least so long on one GPU, however it is scheduled.
Duration bound_of(const MultiQuestion& question) {
  if (all_have_units(question) && !some_have_options(question)) {
    return unit_bound(unit_tasks(question), question.gpus(), question.links).makespan();
  }
  std::vector<GangTask> tasks;
  tasks.reserve(question.models.size());
  for (const SharedModel& model : question.models) {
    GangTask task{model.name, model.options, {}};
    if (model.units) {
      task.options.push_back({1, model.units->units.front().load + model.units->compute(), ""});
    }
    tasks.push_back(std::move(task));
  }
  return gang_bound(tasks, question.nodes);
}

void add_unit_schedules(const MultiQuestion& question, Duration bound, std::vector<Found>& found) {
  const std::vector<UnitTask> tasks = unit_tasks(question);
  const std::vector<Wishes> wishes = wishes_of(question);
  const auto add = [&](std::string name, UnitRules rules) {
    rules.keep_runs = false;
    const UnitReplay replay = replay_units(tasks, question.gpus(), question.links, rules);
    found.push_back({{std::move(name), value_of(replay.ends, replay.makespan, wishes)}, rules, {}});
  };
  add("Sharded-LRTF", {NextTask::kLongestRemaining});
  add("round robin", {NextTask::kRoundRobin});
  add("whole tasks per GPU", {NextTask::kWholeTasks});
  PrioritySearch search;
  search.seed = question.seed;
  search.bound = bound;
  FoundPriorities priorities =
      search_priorities(tasks, question.gpus(), question.links, wishes, search);
  found.push_back(
      {{"LRTF with searched priorities", priorities.value}, std::move(priorities.rules), {}});
}

void add_gang_schedules(const MultiQuestion& question, const std::vector<GangTask>& tasks,
                        std::vector<Found>& found) {
  const auto add = [&](std::string name, const std::vector<GangChoice>& order) {
    GangSchedule schedule = list_gangs(tasks, question.nodes, order);
    const ScheduleValue value = value_of(schedule, tasks);
    found.push_back({{std::move(name), value}, std::nullopt, std::move(schedule)});
  };
  const std::vector<GangChoice> whole = whole_tasks(tasks);
  if (!all_have_units(question) && !whole.empty()) add("whole tasks per GPU", whole);
  add("one after another", one_after_another(tasks));
  add("gangs, largest first", greedy_gangs(tasks, question.nodes));
  GangSearch search;
  search.seed = question.seed;
  add("gangs, searched", search_gangs(tasks, question.nodes, search));
}

std::vector<ModelRun> model_runs(const std::vector<UnitRun>& runs, std::size_t models) {
  std::vector<ModelRun> out(models);
  std::vector<std::set<int>> gpus(models);
  for (const UnitRun& run : runs) {
    const auto t = static_cast<std::size_t>(run.task);
    ModelRun& model = out[t];
    model.start = gpus[t].empty() ? run.start : std::min(model.start, run.start);
    model.end = std::max(model.end, run.end);
    gpus[t].insert(run.gpu);
  }
  for (std::size_t t = 0; t < models; ++t) {
    out[t].gpus.assign(gpus[t].begin(), gpus[t].end());
    out[t].words = kUnits;
  }
  return out;
}

}  // namespace

int MultiQuestion::gpus() const { return std::accumulate(nodes.begin(), nodes.end(), 0); }

std::vector<GangTask> as_gangs(const MultiQuestion& question) {
  std::vector<GangTask> tasks;
  tasks.reserve(question.models.size());
  for (const SharedModel& model : question.models) {
    GangTask task{model.name, model.options, model.wishes};
    if (model.units) {
      UnitRules rules;
      rules.keep_runs = false;
      const UnitReplay alone = replay_units({*model.units}, 1, question.links, rules);
      task.options.push_back({1, alone.makespan, kOnOneGpu});
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<GpuBlock> blocks_of(const std::vector<UnitRun>& runs, int gpus, Duration least_gap) {
  std::vector<std::vector<GpuBlock>> by_gpu(static_cast<std::size_t>(gpus));
  for (const UnitRun& run : runs) {
    std::vector<GpuBlock>& blocks = by_gpu[static_cast<std::size_t>(run.gpu)];
    if (!blocks.empty() && blocks.back().model == run.task &&
        run.start - blocks.back().end < std::max(least_gap, Duration{1})) {
      blocks.back().end = run.end;
    } else {
      blocks.push_back({run.gpu, run.task, run.start, run.end});
    }
  }
  std::vector<GpuBlock> all;
  for (const auto& blocks : by_gpu) all.insert(all.end(), blocks.begin(), blocks.end());
  return all;
}

std::vector<GpuBlock> blocks_of(const GangSchedule& schedule) {
  std::vector<GpuBlock> blocks;
  for (const GangRun& run : schedule.runs) {
    for (const int gpu : run.gpus) blocks.push_back({gpu, run.task, run.start, run.end});
  }
  std::sort(blocks.begin(), blocks.end(), [](const GpuBlock& a, const GpuBlock& b) {
    return std::tie(a.gpu, a.start, a.model) < std::tie(b.gpu, b.start, b.model);
  });
  return blocks;
}

std::vector<ModelRun> model_runs(const GangSchedule& schedule, const std::vector<GangTask>& tasks) {
  std::vector<ModelRun> models(tasks.size());
  for (const GangRun& run : schedule.runs) {
    const auto t = static_cast<std::size_t>(run.task);
    models[t] = {run.start, run.end, run.gpus,
                 tasks[t].options[static_cast<std::size_t>(run.option)].words};
  }
  return models;
}

MultiAnswer schedule_models(const MultiQuestion& question) {
  MultiAnswer answer;
  answer.bound = bound_of(question);
  std::vector<Found> found;
  const bool has_units = all_have_units(question);
  std::vector<GangTask> tasks;
  if (has_units) add_unit_schedules(question, answer.bound, found);
  if (!has_units || some_have_options(question)) {
    tasks = as_gangs(question);
    add_gang_schedules(question, tasks, found);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    answer.candidates.push_back(found[i].candidate);
    if (found[i].candidate.value.is_better_than(found[answer.best].candidate.value)) {
      answer.best = i;
    }
  }
  const Found& best = found[answer.best];
  if (!best.units) {
    answer.models = model_runs(best.gangs, tasks);
    answer.blocks = blocks_of(best.gangs);
    return answer;
  }
  UnitRules rules = *best.units;
  rules.keep_runs = true;
  const UnitReplay replay =
      replay_units(unit_tasks(question), question.gpus(), question.links, rules);
  answer.models = model_runs(replay.runs, question.models.size());
  answer.blocks = blocks_of(replay.runs, question.gpus(), replay.makespan / kGapsDrawn);
  return answer;
}

}  // namespace penstock
