// Each reduction begins when the last gradient it needs is there and is waited for by whoever reads
// its result. Stages of one rank that share weights add up in memory first, and one of them takes
// part for all. Invariant: every rank of a group begins the group's collectives in the order of the
// plan, which is the same on all of them.
#include "runtime_bridge/step_reductions.h"

#include <algorithm>
#include <cstddef>

#include "core/values/action_rules.h"
#include "core/values/error.h"
#include "runtime_bridge/stage_groups.h"
#include "runtime_bridge/step_transfers.h"

namespace penstock {

void StepReductions::begin(StepRecord& record) {
  record_ = &record;
  ties_.clear();
  ties_.resize(program_.ties.size());
  gradients_.clear();
  gathers_.clear();
  norm_begun_ = false;
}

void StepReductions::issue(int index) {
  const CollectiveRule& rule = rule_of(action(index).kind).collective;
  switch (rule.group) {
    case GroupOf::kTie:
      return reduce_tied(index);
    case GroupOf::kJob:
      return norm(index);
    case GroupOf::kHolders:
      return rule.gathers ? gather(index) : reduce_gradients(index);
    case GroupOf::kNobody:
      break;
  }
}

// Stages of one rank add up first; then one of them stands for all.
void StepReductions::reduce_tied(int index) {
  const int tie = action(index).tie;
  const TieGroups& groups = program_.ties[static_cast<std::size_t>(tie)];
  Pending& pending = ties_[static_cast<std::size_t>(tie)];
  start(index);
  pending.actions.push_back(index);
  if (pending.actions.size() < groups.own_stages.size()) return;
  const int first = groups.own_stages.front();
  for (const int stage : groups.own_stages) {
    if (stage != first) work_.add_tied_gradient(tie, stage, first);
  }
  if (groups.communicator != kNone) {
    pending.transfers.push_back(
        transport_.all_reduce(communicator(groups.communicator), work_.tied_gradient(tie, first)));
  }
}

void StepReductions::wait_for_tie(int tie) {
  Pending& pending = ties_[static_cast<std::size_t>(tie)];
  if (pending.actions.empty()) return;
  wait_for(pending);
  const std::vector<int>& stages = program_.ties[static_cast<std::size_t>(tie)].own_stages;
  for (const int stage : stages) {
    if (stage != stages.front()) work_.copy_tied_gradient(tie, stages.front(), stage);
  }
}

void StepReductions::reduce_gradients(int index) {
  const int stage = action(index).stage;
  const StageGroups& groups = groups_of(program_, stage);
  for (const int tie : groups.ties) wait_for_tie(tie);
  start(index);
  Pending& pending = gradients_.emplace_back();
  pending.stage = stage;
  pending.actions = {index};
  if (groups.holders != kNone) {
    const bool shards = program_.setup.zero1;
    const CommunicatorId members = communicator(shards ? groups.shards : groups.holders);
    for (const Buffer& bucket : work_.gradients(stage)) {
      pending.transfers.push_back(shards ? transport_.reduce_scatter(members, bucket)
                                         : transport_.all_reduce(members, bucket));
      if (!shards || groups.copies == kNone) continue;
      pending.parts.push_back(own_part(program_, stage, bucket));
    }
  }
  if (groups.replicas == kNone) return;
  for (const int tie : groups.ties) {
    pending.transfers.push_back(
        transport_.all_reduce(communicator(groups.replicas), work_.tied_gradient(tie, stage)));
  }
}

void StepReductions::wait_for_stage(int stage) {
  for (const int tie : groups_of(program_, stage).ties) wait_for_tie(tie);
  for (Pending& pending : gradients_) {
    if (pending.stage == stage) wait_for(pending);
  }
}

// Once; later calls find nothing to wait for.
void StepReductions::wait_for(Pending& pending) {
  SteadyTime end = wait_for_all(pending.transfers, transport_, {});
  for (const Buffer& part : std::exchange(pending.parts, {})) {
    const int copies = groups_of(program_, pending.stage).copies;
    pending.transfers.push_back(transport_.all_reduce(communicator(copies), part));
  }
  end = wait_for_all(pending.transfers, transport_, end);
  for (const int index : pending.actions) {
    const auto i = static_cast<std::size_t>(index);
    record_->end[i] = std::max(end, record_->start[i]);
  }
  pending.actions.clear();
}

bool StepReductions::is_reduced() {
  const auto has_ended = [](Pending& pending) {
    return pending.parts.empty() &&
           std::all_of(pending.transfers.begin(), pending.transfers.end(),
                       [](const auto& transfer) { return transfer->done(); });
  };
  return std::all_of(ties_.begin(), ties_.end(), has_ended) &&
         std::all_of(gradients_.begin(), gradients_.end(), has_ended);
}

void StepReductions::try_norm(int index) {
  if (!norm_begun_ && is_reduced()) begin_norm(index);
}

void StepReductions::begin_norm(int index) {
  for (const StageSetup& stage : program_.setup.stages) wait_for_stage(stage.stage);
  start(index);
  begin_sum(work_.norm_share());
  norm_begun_ = true;  // not before its share is given: last_step.h counts on it
}

void StepReductions::norm(int index) {
  if (!norm_begun_) begin_norm(index);
  const SteadyTime end = end_sum();
  work_.set_global_norm(record_->all);
  record_->end[static_cast<std::size_t>(index)] = program_.job == kNone ? transport_.now() : end;
}

void StepReductions::sum_loss() {
  NormShare share;
  share.loss = work_.norm_share().loss;
  begin_sum(share);
  (void)end_sum();
}

void StepReductions::begin_sum(const NormShare& share) {
  sums_ = {share.squared_norm, share.loss, share.not_finite};
  if (program_.job == kNone) return;
  const Buffer buffer{reinterpret_cast<std::byte*>(sums_.data()), sums_.size(),
                      ElementType::kFloat64};
  sum_ = transport_.all_reduce(communicator(program_.job), buffer);
}

SteadyTime StepReductions::end_sum() {
  SteadyTime end = transport_.now();
  if (sum_ != nullptr) {
    sum_->wait();
    end = end_of(*sum_, transport_);
    sum_.reset();
  }
  record_->all = {sums_[0], sums_[1], sums_[2]};
  return end;
}

void StepReductions::wait_for_action(int index) {
  const auto has = [index](const Pending& pending) {
    return std::find(pending.actions.begin(), pending.actions.end(), index) !=
           pending.actions.end();
  };
  for (std::size_t tie = 0; tie < ties_.size(); ++tie) {
    if (has(ties_[tie])) wait_for_tie(static_cast<int>(tie));
  }
  for (Pending& pending : gradients_) {
    if (has(pending)) wait_for(pending);
  }
  for (Pending& pending : gathers_) {
    if (has(pending)) wait_for(pending);
  }
}

void StepReductions::gather(int index) {
  const bool has_begun = std::any_of(gathers_.begin(), gathers_.end(), [&](const Pending& pending) {
    return pending.stage == action(index).stage;
  });
  if (has_begun) return;
  const int stage = action(index).stage;
  start(index);
  Pending& pending = gathers_.emplace_back();
  pending.stage = stage;
  pending.actions = {index};
  const StageGroups& groups = groups_of(program_, stage);
  if (!program_.setup.zero1 || groups.shards == kNone) return;
  for (const Buffer& parameters : work_.parameters_to_gather(stage)) {
    pending.transfers.push_back(transport_.all_gather(communicator(groups.shards), parameters));
  }
}

void StepReductions::wait_for_gathers() {
  for (Pending& pending : gathers_) {
    wait_for(pending);
    work_.gathered(pending.stage);
  }
  gathers_.clear();
}

}  // namespace penstock
