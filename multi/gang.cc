// Behind what was placed a GPU is free from some time on, and earlier gaps are not used again. No
// schedule is lost by that: place the gangs of any schedule in the order of their starts, and none
// starts later than there, since GPUs that are free before the start of the last gang are all alike
// to those that follow.
#include "multi/gang.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/values/error.h"

namespace penstock {

Duration GangSchedule::makespan() const {
  Duration last{};
  for (const GangRun& run : runs) last = std::max(last, run.end);
  return last;
}

GangPlacer::GangPlacer(const NodeSizes& nodes) {
  int first = 0;
  for (const int gpus : nodes) {
    free_.emplace_back(static_cast<std::size_t>(gpus), Duration{});
    first_gpu_.push_back(first);
    first += gpus;
  }
}

bool GangPlacer::fits_a_node(int gpus) const {
  return std::any_of(free_.begin(), free_.end(), [&](const std::vector<Duration>& node) {
    return gpus <= static_cast<int>(node.size());
  });
}

Duration GangPlacer::start_in(std::size_t node, int gpus) const {
  std::vector<Duration> free = free_[node];
  const auto last = free.begin() + (gpus - 1);
  std::nth_element(free.begin(), last, free.end());
  return *last;
}

// Of the GPUs that are free by then those that have been so for the shortest time.
void GangPlacer::take(std::size_t node, int gpus, Duration start, Duration end,
                      std::vector<int>& taken) {
  std::vector<Duration>& free = free_[node];
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(free.size()); ++i) {
    if (free[static_cast<std::size_t>(i)] <= start) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return free[static_cast<std::size_t>(a)] > free[static_cast<std::size_t>(b)];
  });
  for (int k = 0; k < gpus; ++k) {
    const int gpu = order[static_cast<std::size_t>(k)];
    free[static_cast<std::size_t>(gpu)] = end;
    taken.push_back(first_gpu_[node] + gpu);
  }
}

GangRun GangPlacer::place_in(int node, const GangTask& task, const GangChoice& choice) {
  const GangOption& option = task.options[static_cast<std::size_t>(choice.option)];
  GangRun run{choice.task, choice.option, {}, {}, {}};
  run.start = start_in(static_cast<std::size_t>(node), option.gpus);
  run.end = run.start + option.runtime;
  take(static_cast<std::size_t>(node), option.gpus, run.start, run.end, run.gpus);
  std::sort(run.gpus.begin(), run.gpus.end());
  return run;
}

GangRun GangPlacer::place(const GangTask& task, const GangChoice& choice) {
  const int gpus = task.options[static_cast<std::size_t>(choice.option)].gpus;
  if (!fits_a_node(gpus)) return spread(task, choice);
  std::optional<std::tuple<Duration, std::int64_t, std::size_t>> best;
  for (std::size_t node = 0; node < free_.size(); ++node) {
    if (gpus > static_cast<int>(free_[node].size())) continue;
    const Duration start = start_in(node, gpus);
    const auto idle = std::count_if(free_[node].begin(), free_[node].end(),
                                    [&](Duration free) { return free <= start; });
    const std::tuple key(start, std::int64_t{idle}, node);
    if (!best || key < *best) best = key;
  }
  return place_in(static_cast<int>(std::get<2>(*best)), task, choice);
}

GangRun GangPlacer::spread(const GangTask& task, const GangChoice& choice) {
  const GangOption& option = task.options[static_cast<std::size_t>(choice.option)];
  std::vector<std::size_t> order(free_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto all_free = [&](std::size_t node) {
    return *std::max_element(free_[node].begin(), free_[node].end());
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all_free(a) < all_free(b); });
  int left = option.gpus;
  Duration start{};
  std::vector<std::pair<std::size_t, int>> parts;  // node, GPUs of it
  std::vector<std::size_t> others;
  for (const std::size_t node : order) {
    const int size = static_cast<int>(free_[node].size());
    if (left < size || left == 0) {
      others.push_back(node);
      continue;
    }
    parts.emplace_back(node, size);
    start = std::max(start, all_free(node));
    left -= size;
  }
  if (left > 0) {
    std::optional<std::pair<Duration, std::size_t>> best;
    for (const std::size_t node : others) {
      const std::pair key(start_in(node, left), node);
      if (!best || key < *best) best = key;
    }
    if (!best) throw Error(ErrorKind::kInternal, "a gang of more GPUs than there are");
    parts.emplace_back(best->second, left);
    start = std::max(start, best->first);
  }
  GangRun run{choice.task, choice.option, {}, start, start + option.runtime};
  for (const auto& [node, gpus] : parts) take(node, gpus, run.start, run.end, run.gpus);
  std::sort(run.gpus.begin(), run.gpus.end());
  return run;
}

GangRun GangPlacer::keep(const RunningGang& running, int task) {
  GangRun run{task, running.option, running.gpus, Duration{}, running.left};
  std::size_t node = 0;
  for (const int gpu : running.gpus) {
    while (node + 1 < first_gpu_.size() && first_gpu_[node + 1] <= gpu) ++node;
    free_[node][static_cast<std::size_t>(gpu - first_gpu_[node])] = running.left;
  }
  return run;
}

GangSchedule list_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                        const std::vector<GangChoice>& order,
                        const std::vector<std::optional<RunningGang>>& running) {
  GangPlacer placer(nodes);
  GangSchedule schedule;
  for (const GangChoice& choice : order) {
    if (choice.option != kStays) continue;
    const auto task = static_cast<std::size_t>(choice.task);
    schedule.runs.push_back(placer.keep(*running[task], choice.task));
  }
  for (const GangChoice& choice : order) {
    if (choice.option == kStays) continue;
    schedule.runs.push_back(placer.place(tasks[static_cast<std::size_t>(choice.task)], choice));
  }
  return schedule;
}

ScheduleValue value_of(const GangSchedule& schedule, const std::vector<GangTask>& tasks) {
  std::vector<Duration> ends(tasks.size());
  std::vector<Wishes> wishes;
  wishes.reserve(tasks.size());
  for (const GangTask& task : tasks) wishes.push_back(task.wishes);
  for (const GangRun& run : schedule.runs) ends[static_cast<std::size_t>(run.task)] = run.end;
  return value_of(ends, schedule.makespan(), wishes);
}

Duration gang_bound(const std::vector<GangTask>& tasks, const NodeSizes& nodes) {
  Duration longest{}, gpu_time{};
  for (const GangTask& task : tasks) {
    Duration shortest = task.options.front().runtime;
    Duration least = shortest * task.options.front().gpus;
    for (const GangOption& option : task.options) {
      shortest = std::min(shortest, option.runtime);
      least = std::min(least, option.runtime * option.gpus);
    }
    longest = std::max(longest, shortest);
    gpu_time += least;
  }
  const int gpus = std::accumulate(nodes.begin(), nodes.end(), 0);
  return std::max(longest, Duration{(gpu_time.count() + gpus - 1) / gpus});
}

}  // namespace penstock
