// List scheduling: jobs are placed one by one. Starts are the greedy order, in which each takes
// the option that ends first; one job after another, each with its fastest option; and for every
// number of GPUs each job on at most so many. Local search (improve_gangs.h) goes on from the best
// of them.
#include "multi/gang_search.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "multi/improve_gangs.h"

namespace penstock {
namespace {

Duration gpu_time(const GangOption& option) { return option.runtime * option.gpus; }

template <class Key>
int best_option(const GangTask& task, const Key& key) {
  int best = 0;
  for (int o = 1; o < static_cast<int>(task.options.size()); ++o) {
    if (key(task.options[static_cast<std::size_t>(o)]) <
        key(task.options[static_cast<std::size_t>(best)])) {
      best = o;
    }
  }
  return best;
}

const GangOption& option_of(const std::vector<GangTask>& tasks, const GangChoice& choice) {
  return tasks[static_cast<std::size_t>(choice.task)]
      .options[static_cast<std::size_t>(choice.option)];
}

// By what `key` says of the chosen option, the largest first, then by number.
template <class Key>
void sort_descending(std::vector<GangChoice>& order, const std::vector<GangTask>& tasks,
                     const Key& key) {
  std::stable_sort(order.begin(), order.end(), [&](const GangChoice& a, const GangChoice& b) {
    return key(option_of(tasks, a)) > key(option_of(tasks, b));
  });
}

// Each with the fastest option of at most so many GPUs, or with its smallest one.
std::vector<GangChoice> at_most(const std::vector<GangTask>& tasks, int gpus) {
  std::vector<GangChoice> order;
  order.reserve(tasks.size());
  for (int t = 0; t < static_cast<int>(tasks.size()); ++t) {
    order.push_back({t, best_option(tasks[static_cast<std::size_t>(t)], [&](const GangOption& o) {
                       return std::pair(std::max(o.gpus, gpus), o.runtime);
                     })});
  }
  sort_descending(order, tasks, [](const GangOption& o) { return o.runtime; });
  return order;
}

}  // namespace

std::vector<GangChoice> greedy_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes) {
  std::vector<GangChoice> order;
  order.reserve(tasks.size());
  for (int t = 0; t < static_cast<int>(tasks.size()); ++t) {
    order.push_back({t, best_option(tasks[static_cast<std::size_t>(t)], gpu_time)});
  }
  sort_descending(order, tasks, gpu_time);
  GangPlacer placer(nodes);
  for (GangChoice& choice : order) {
    const GangTask& task = tasks[static_cast<std::size_t>(choice.task)];
    std::optional<std::tuple<Duration, Duration, int>> best;
    for (int o = 0; o < static_cast<int>(task.options.size()); ++o) {
      GangPlacer trial = placer;
      const GangRun run = trial.place(task, {choice.task, o});
      const std::tuple key(run.end, gpu_time(task.options[static_cast<std::size_t>(o)]), o);
      if (!best || key < *best) best = key;
    }
    choice.option = std::get<2>(*best);
    placer.place(task, choice);
  }
  return order;
}

std::vector<GangChoice> whole_tasks(const std::vector<GangTask>& tasks) {
  std::vector<GangChoice> order = at_most(tasks, 1);
  const bool possible = std::all_of(order.begin(), order.end(), [&](const GangChoice& choice) {
    return option_of(tasks, choice).gpus == 1;
  });
  return possible ? order : std::vector<GangChoice>{};
}

std::vector<GangChoice> one_after_another(const std::vector<GangTask>& tasks) {
  std::vector<GangChoice> order;
  order.reserve(tasks.size());
  for (int t = 0; t < static_cast<int>(tasks.size()); ++t) {
    order.push_back({t, best_option(tasks[static_cast<std::size_t>(t)], [](const GangOption& o) {
                       return std::pair(o.runtime, o.gpus);
                     })});
  }
  return order;
}

std::vector<GangChoice> search_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                                     const GangSearch& search) {
  std::vector<std::vector<GangChoice>> starts = {greedy_gangs(tasks, nodes),
                                                 one_after_another(tasks)};
  std::set<int> counts;
  for (const GangTask& task : tasks) {
    for (const GangOption& option : task.options) counts.insert(option.gpus);
  }
  for (const int gpus : counts) starts.push_back(at_most(tasks, gpus));
  const auto value = [&](const std::vector<GangChoice>& order) {
    return value_of(list_gangs(tasks, nodes, order), tasks);
  };
  std::size_t best = 0;
  ScheduleValue best_value = value(starts.front());
  for (std::size_t i = 1; i < starts.size(); ++i) {
    const ScheduleValue found = value(starts[i]);
    if (!found.is_better_than(best_value)) continue;
    best = i;
    best_value = found;
  }
  return improve_gangs(tasks, nodes, std::move(starts[best]), {}, search);
}

}  // namespace penstock
