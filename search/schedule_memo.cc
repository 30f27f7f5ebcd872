// Others are made as fast as they are copied, and would push these out. What is kept is 32 MB at
// most by default: with a quarter of it a search of 1,024 GPUs makes nearly all of them again.
#include "search/schedule_memo.h"

#include <utility>

namespace penstock {

bool ScheduleMemo::keeps(const ScheduleKind& kind, const ScheduleShape& shape) {
  const bool is_squeezed = kind.name == "v-half" || kind.name == "v-min";
  return is_squeezed && shape.chunks == 2 && shape.group == 0 && shape.slices == 1;
}

std::shared_ptr<const Schedule> ScheduleMemo::get(const ScheduleKind& kind,
                                                  const ScheduleShape& shape) {
  const auto make = [&] {
    return std::make_shared<const Schedule>(make_schedule(kind.name, shape));
  };
  if (!keeps(kind, shape)) return make();
  const Key key{&kind, shape.ranks, shape.micro_batches};
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      uses_.splice(uses_.begin(), uses_, found->second.use);
      return found->second.schedule;
    }
  }
  return keep(key, make());
}

std::shared_ptr<const Schedule> ScheduleMemo::keep(const Key& key,
                                                   std::shared_ptr<const Schedule> schedule) {
  const std::scoped_lock lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(key);
  if (!fresh) return entry->second.schedule;
  uses_.push_front(key);
  entry->second = {schedule, uses_.begin()};
  actions_ += schedule->actions.size();
  while (actions_ > most_actions_ && uses_.size() > 1) {
    const auto oldest = entries_.find(uses_.back());
    actions_ -= oldest->second.schedule->actions.size();
    entries_.erase(oldest);
    uses_.pop_back();
  }
  return schedule;
}

}  // namespace penstock
