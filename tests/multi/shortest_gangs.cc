// Gangs in the order of their starts, every option and every node of each: a schedule that is
// shortest is among them (gang.cc says why). A branch ends where its GPU-time, spread over all
// GPUs, or the next gang's runtime cannot beat the best.
#include "tests/multi/shortest_gangs.h"

#include <algorithm>
#include <numeric>

#include "core/values/error.h"
#include "multi/gang_search.h"

namespace penstock::testing {
namespace {

class Branches {
 public:
  Branches(const std::vector<GangTask>& tasks, const NodeSizes& nodes)
      : tasks_(tasks),
        gpus_(std::accumulate(nodes.begin(), nodes.end(), 0)),
        placed_(tasks.size(), false) {
    best_ = list_gangs(tasks, nodes, greedy_gangs(tasks, nodes));
  }

  void search(const GangPlacer& placer) {
    if (current_.runs.size() == tasks_.size()) {
      if (current_.makespan() < best_.makespan()) best_ = current_;
      return;
    }
    if (bound(placer) >= best_.makespan()) return;
    for (int t = 0; t < static_cast<int>(tasks_.size()); ++t) {
      if (!placed_[static_cast<std::size_t>(t)]) place(placer, t);
    }
  }

  [[nodiscard]] GangSchedule best() const { return best_; }

 private:
  void place(const GangPlacer& placer, int t) {
    const GangTask& task = tasks_[static_cast<std::size_t>(t)];
    placed_[static_cast<std::size_t>(t)] = true;
    for (int o = 0; o < static_cast<int>(task.options.size()); ++o) {
      const int gpus = task.options[static_cast<std::size_t>(o)].gpus;
      for (std::size_t node = 0; node < placer.free().size(); ++node) {
        if (gpus > static_cast<int>(placer.free()[node].size())) continue;
        GangPlacer next = placer;
        const GangRun run = next.place_in(static_cast<int>(node), task, {t, o});
        const Duration last = current_.runs.empty() ? Duration{} : current_.runs.back().start;
        if (run.start < last || run.end >= best_.makespan()) continue;
        current_.runs.push_back(run);
        search(next);
        current_.runs.pop_back();
      }
    }
    placed_[static_cast<std::size_t>(t)] = false;
  }

  // GPUs that are free before the last start stay idle until then: later gangs do not start before.
  Duration bound(const GangPlacer& placer) const {
    const Duration last = current_.runs.empty() ? Duration{} : current_.runs.back().start;
    Duration busy{}, longest = current_.makespan();
    for (const std::vector<Duration>& node : placer.free()) {
      for (const Duration free : node) busy += std::max(free, last);
    }
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (placed_[t]) continue;
      Duration shortest = Duration::max(), least = Duration::max();
      for (const GangOption& option : tasks_[t].options) {
        shortest = std::min(shortest, option.runtime);
        least = std::min(least, option.runtime * option.gpus);
      }
      longest = std::max(longest, last + shortest);
      busy += least;
    }
    return std::max(longest, Duration{(busy.count() + gpus_ - 1) / gpus_});
  }

  const std::vector<GangTask>& tasks_;
  int gpus_;
  std::vector<bool> placed_;
  GangSchedule current_, best_;
};

}  // namespace

GangSchedule shortest_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes) {
  const int least = *std::min_element(nodes.begin(), nodes.end());
  for (const GangTask& task : tasks) {
    for (const GangOption& option : task.options) {
      if (option.gpus > least) throw Error(ErrorKind::kInternal, "a gang larger than a node");
    }
  }
  Branches branches(tasks, nodes);
  branches.search(GangPlacer(nodes));
  return branches.best();
}

}  // namespace penstock::testing
