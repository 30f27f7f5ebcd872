#include "search/program_cache.h"

#include "search/plan_program.h"

namespace penstock {
namespace {

// Everything that program_of() looks at, but for the number of replicas.
std::vector<int> numbers_of(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes) {
  std::vector<int> key{plan.pipeline,
                       plan.chunks,
                       plan.group,
                       plan.weight_copies() > 1,
                       plan.zero1,
                       plan.offload_optimizer,
                       recomputes,
                       plan.reduces_by_section(),
                       plan.gathers_by_section()};
  for (const ReplicaLoad& load : replica_loads(plan)) {
    key.push_back(load.micro_batches);
    key.push_back(load.rest == 0 ? 0 : 1);
  }
  for (const PlanTie& tie : ties) {
    key.push_back(-1);
    key.insert(key.end(), tie.stages.begin(), tie.stages.end());
  }
  return key;
}

}  // namespace

template <class Kept>
std::shared_ptr<const Kept> ProgramCache::Shelf<Kept>::find(const Key& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return found->second.kept;
}

template <class Kept>
std::shared_ptr<const Kept> ProgramCache::Shelf<Kept>::keep(Key key,
                                                            std::shared_ptr<const Kept> made,
                                                            std::size_t actions) {
  const auto [entry, fresh] = entries_.try_emplace(key);
  if (!fresh) return entry->second.kept;
  uses_.push_front(std::move(key));
  entry->second = {made, actions, uses_.begin()};
  actions_ += actions;
  while (actions_ > most_actions_ && uses_.size() > 1) {
    const auto oldest = entries_.find(uses_.back());
    actions_ -= oldest->second.actions;
    entries_.erase(oldest);
    uses_.pop_back();
  }
  return made;
}

std::shared_ptr<const Program> ProgramCache::get(const Plan& plan, const std::vector<PlanTie>& ties,
                                                 bool recomputes) {
  Key key{plan.schedule, numbers_of(plan, ties, recomputes)};
  {
    const std::scoped_lock lock(mutex_);
    if (auto kept = programs_.find(key)) return kept;
  }
  auto program = std::make_shared<const Program>(
      program_of(schedules_of(plan), lowering_of(plan, ties, recomputes, executor_)));
  const std::size_t actions = program->actions.size();
  const std::scoped_lock lock(mutex_);
  return programs_.keep(std::move(key), std::move(program), actions);
}

std::shared_ptr<const PreparedProgram> ProgramCache::prepared(
    const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
    const std::function<std::shared_ptr<const PreparedProgram>()>& make) {
  Key key{plan.schedule, numbers_of(plan, ties, recomputes)};
  {
    const std::scoped_lock lock(mutex_);
    if (auto kept = prepared_.find(key)) return kept;
  }
  auto made = make();
  const std::size_t actions = actions_of(*made);
  const std::scoped_lock lock(mutex_);
  return prepared_.keep(std::move(key), std::move(made), actions);
}

// Where there are none, empty lists are kept in their place.
std::shared_ptr<const MeetingLists> ProgramCache::meetings(
    const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
    const std::function<std::shared_ptr<const MeetingLists>()>& make) {
  Key key{plan.schedule, numbers_of(plan, ties, recomputes)};
  const auto unless_empty = [](std::shared_ptr<const MeetingLists> lists) {
    return lists->ranks() > 0 ? std::move(lists) : nullptr;
  };
  {
    const std::scoped_lock lock(mutex_);
    if (auto kept = meetings_.find(key)) return unless_empty(std::move(kept));
  }
  auto made = make();
  if (made == nullptr) made = std::make_shared<const MeetingLists>();
  // An empty one takes room, too: its key.
  const std::size_t entries = 1 + made->steps.size() + made->blocks.size() + made->costs.size();
  const std::scoped_lock lock(mutex_);
  return unless_empty(meetings_.keep(std::move(key), std::move(made), entries));
}

std::optional<bool> ProgramCache::deadlocks(const Plan& plan, const std::vector<PlanTie>& ties,
                                            bool recomputes,
                                            const std::function<std::optional<bool>()>& told) {
  Key key{plan.schedule, numbers_of(plan, ties, recomputes)};
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = deadlocks_.find(key); found != deadlocks_.end()) return found->second;
  }
  const std::optional<bool> answer = told();
  const std::scoped_lock lock(mutex_);
  deadlocks_.emplace(std::move(key), answer);
  return answer;
}

}  // namespace penstock
