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

std::shared_ptr<const Program> ProgramCache::get(const Plan& plan, const std::vector<PlanTie>& ties,
                                                 bool recomputes) {
  Key key{plan.schedule, numbers_of(plan, ties, recomputes)};
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      uses_.splice(uses_.begin(), uses_, found->second.use);
      return found->second.program;
    }
  }
  auto program = std::make_shared<const Program>(
      program_of(schedules_of(plan), lowering_of(plan, ties, recomputes, executor_)));
  const std::scoped_lock lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(key);
  if (!fresh) return entry->second.program;
  uses_.push_front(key);
  entry->second = {program, uses_.begin()};
  actions_ += program->actions.size();
  while (actions_ > kMostActions && uses_.size() > 1) {
    const auto oldest = entries_.find(uses_.back());
    actions_ -= oldest->second.program->actions.size();
    entries_.erase(oldest);
    uses_.pop_back();
  }
  return program;
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
