// Programs shared between candidates: they depend on the shape of a plan, not on its prices.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/plan.h"
#include "core/values/plan_file.h"
#include "core/values/program.h"

namespace penstock {

class ProgramCache {
 public:
  explicit ProgramCache(const ExecutorModel& executor) : executor_(executor) {}

  std::shared_ptr<const Program> get(const Plan& plan, const std::vector<PlanTie>& ties,
                                     bool recomputes);
  // Whether the plan's transfers deadlock, which `told` tells the first time.
  std::optional<bool> deadlocks(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
                                const std::function<std::optional<bool>()>& told);

 private:
  using Key = std::pair<std::string, std::vector<int>>;
  struct Entry {
    std::shared_ptr<const Program> program;
    std::list<Key>::iterator use;  // place in uses_
  };

  // Least recently used Programs go when all together hold more actions than this (16 B each).
  static constexpr std::size_t kMostActions = std::size_t{1} << 21;

  const ExecutorModel& executor_;
  std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::list<Key> uses_;  // most recent first
  std::size_t actions_ = 0;
  std::map<Key, std::optional<bool>> deadlocks_;
};

}  // namespace penstock
