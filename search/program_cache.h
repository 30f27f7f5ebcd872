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
#include "simulator/meeting_lists.h"
#include "simulator/steady_program.h"

namespace penstock {

class ProgramCache {
 public:
  explicit ProgramCache(const ExecutorModel& executor) : executor_(executor) {}

  std::shared_ptr<const Program> get(const Plan& plan, const std::vector<PlanTie>& ties,
                                     bool recomputes);
  // What `make` makes of the plan the first time.
  std::shared_ptr<const PreparedProgram> prepared(
      const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
      const std::function<std::shared_ptr<const PreparedProgram>()>& make);
  std::shared_ptr<const MeetingLists> meetings(
      const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
      const std::function<std::shared_ptr<const MeetingLists>()>& make);
  // Whether the plan's transfers deadlock, which `told` tells the first time.
  std::optional<bool> deadlocks(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
                                const std::function<std::optional<bool>()>& told);

 private:
  using Key = std::pair<std::string, std::vector<int>>;
  // Least recently used Programs go when all together hold more actions than this.
  template <class Kept>
  class Shelf {
   public:
    explicit Shelf(std::size_t most_actions) : most_actions_(most_actions) {}
    std::shared_ptr<const Kept> find(const Key& key);
    // The one that is there already, if another thread was faster.
    std::shared_ptr<const Kept> keep(Key key, std::shared_ptr<const Kept> made,
                                     std::size_t actions);

   private:
    struct Entry {
      std::shared_ptr<const Kept> kept;
      std::size_t actions = 0;
      typename std::list<Key>::iterator use;  // place in uses_
    };
    std::size_t most_actions_;
    std::map<Key, Entry> entries_;
    std::list<Key> uses_;  // most recent first
    std::size_t actions_ = 0;
  };
  static constexpr std::size_t kMostActions = std::size_t{1} << 21;   // 16 B each
  static constexpr std::size_t kMostPrepared = std::size_t{1} << 20;  // about 60 B each

  const ExecutorModel& executor_;
  std::mutex mutex_;
  Shelf<Program> programs_{kMostActions};
  Shelf<PreparedProgram> prepared_{kMostPrepared};
  Shelf<MeetingLists> meetings_{kMostActions};
  std::map<Key, std::optional<bool>> deadlocks_;
};

}  // namespace penstock
