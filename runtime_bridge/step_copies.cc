// Each lane is a list of copies that were not begun yet. Whenever something ends, every lane is
// looked at again from its head: a lane that takes time begins its first copy as soon as that is
// ready, and no later one before it, which is the order in which the simulator's copy lanes run.
// What takes no time (RESHARD) begins in any order.
#include "runtime_bridge/step_copies.h"

#include <algorithm>

namespace penstock {

StepCopies::StepCopies(const RankProgram& program, RankWork& work,
                       const std::vector<bool>& has_ended)
    : program_(program), work_(work), has_ended_(has_ended) {
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (!is_copy(static_cast<int>(i))) continue;
    listed_[lane_of(program.actions[i].kind)].push_back(static_cast<int>(i));
  }
}

std::size_t StepCopies::lane_of(ActionKind kind) const {
  const Lane lane = rule_of(kind).lane;
  if (lane == Lane::kAtOnce) return kAtOnce;
  return lane == Lane::kCopyIn || program_.host_link == HostLink::kSimplex ? kIn : kOut;
}

bool StepCopies::is_copy(int action) const {
  const ActionKind kind = program_.actions[static_cast<std::size_t>(action)].kind;
  return penstock::is_copy(kind) || rule_of(kind).lane == Lane::kAtOnce;
}

void StepCopies::begin(StepRecord& record, SteadyTime now) {
  record_ = &record;
  step_begins_ = now;
  waiting_ = listed_;
  last_ = {};
  begun_.clear();
  begun_.resize(program_.actions.size());
}

// Of copies it is enough that they were begun: the device knows when they end.
bool StepCopies::is_ready(int copy) const {
  if (program_.signalled(copy)) return false;
  const auto waits = program_.waits_of(copy);
  return std::all_of(waits.begin(), waits.end(), [this](const RankWait& wait) {
    return is_copy(wait.needs) ? was_begun(wait.needs)
                               : has_ended_[static_cast<std::size_t>(wait.needs)];
  });
}

void StepCopies::look_ahead() {
  bool has_begun = true;
  while (has_begun) {
    has_begun = false;
    for (const std::size_t lane : {kIn, kOut, kAtOnce}) has_begun |= begin_ready(lane);
  }
}

// A lane that takes time keeps its order.
bool StepCopies::begin_ready(std::size_t lane) {
  std::vector<int>& waiting = waiting_[lane];
  bool has_begun = false;
  for (auto copy = waiting.begin(); copy != waiting.end();) {
    if (!is_ready(*copy)) {
      if (lane != kAtOnce) break;
      ++copy;
      continue;
    }
    begin_copy(*copy, step_begins_);
    has_begun = true;
    copy = waiting.erase(copy);
  }
  return has_begun;
}

std::vector<int> StepCopies::waiting_up_to(int copy) const {
  const std::size_t lane = lane_of(program_.actions[static_cast<std::size_t>(copy)].kind);
  if (lane == kAtOnce) return {copy};
  const std::vector<int>& waiting = waiting_[lane];
  return {waiting.begin(), std::upper_bound(waiting.begin(), waiting.end(), copy)};
}

void StepCopies::hand_over(int copy, SteadyTime ready) {
  std::vector<int>& waiting =
      waiting_[lane_of(program_.actions[static_cast<std::size_t>(copy)].kind)];
  begin_copy(copy, std::max(ready, step_begins_));
  waiting.erase(std::find(waiting.begin(), waiting.end(), copy));
}

void StepCopies::begin_copy(int copy, SteadyTime ready) {
  const auto i = static_cast<std::size_t>(copy);
  const RankAction& action = program_.actions[i];
  const std::size_t lane = lane_of(action.kind);
  std::vector<const SlotCopy*> after;
  for (const RankWait& wait : program_.waits_of(copy)) {
    const auto needs = static_cast<std::size_t>(wait.needs);
    if (begun_[needs] != nullptr) {
      after.push_back(begun_[needs].get());
    } else {
      ready = std::max(ready, record_->end[needs]);
    }
  }
  if (lane != kAtOnce && last_[lane] != nullptr) after.push_back(last_[lane]);
  begun_[i] = work_.copy(action.kind, action.stage, ready, after);
  if (lane != kAtOnce) last_[lane] = begun_[i].get();
}

void StepCopies::wait_for(int copy) {
  const auto i = static_cast<std::size_t>(copy);
  begun_[i]->wait();
  record_->start[i] = begun_[i]->started();
  record_->end[i] = begun_[i]->ended();
}

void StepCopies::wait_for_all() {
  for (std::size_t i = 0; i < begun_.size(); ++i) {
    if (begun_[i] != nullptr) wait_for(static_cast<int>(i));
  }
}

}  // namespace penstock
