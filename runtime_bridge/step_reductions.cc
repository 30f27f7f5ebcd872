#include "runtime_bridge/step_reductions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/step_transfers.h"

namespace penstock {

const StageGroups& StepReductions::groups_of(int stage) const {
  const auto& stages = program_.setup.stages;
  const auto found = std::find_if(stages.begin(), stages.end(), [stage](const StageSetup& setup) {
    return setup.stage == stage;
  });
  return program_.stages[static_cast<std::size_t>(found - stages.begin())];
}

void StepReductions::begin(StepRecord& record) {
  record_ = &record;
  ties_.clear();
  ties_.resize(program_.ties.size());
  gradients_.clear();
  gathers_.clear();
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
  const StageGroups& groups = groups_of(stage);
  for (const int tie : groups.ties) wait_for_tie(tie);
  start(index);
  Pending& pending = gradients_.emplace_back();
  pending.stage = stage;
  pending.actions = {index};
  if (groups.holders != kNone) {
    const CommunicatorId holders = communicator(groups.holders);
    for (const Buffer& bucket : work_.gradients(stage)) {
      pending.transfers.push_back(program_.setup.zero1 ? transport_.reduce_scatter(holders, bucket)
                                                       : transport_.all_reduce(holders, bucket));
    }
  }
  if (groups.replicas == kNone) return;
  for (const int tie : groups.ties) {
    pending.transfers.push_back(
        transport_.all_reduce(communicator(groups.replicas), work_.tied_gradient(tie, stage)));
  }
}

void StepReductions::wait_for_stage(int stage) {
  for (const int tie : groups_of(stage).ties) wait_for_tie(tie);
  for (Pending& pending : gradients_) {
    if (pending.stage == stage) wait_for(pending);
  }
}

// Once; later calls find nothing to wait for.
void StepReductions::wait_for(Pending& pending) {
  SteadyTime end{};
  for (const auto& transfer : pending.transfers) {
    transfer->wait();
    end = std::max(end, end_of(*transfer));
  }
  for (const int index : pending.actions) {
    const auto i = static_cast<std::size_t>(index);
    record_->end[i] = std::max(end, record_->start[i]);
  }
  pending.transfers.clear();
  pending.actions.clear();
}

void StepReductions::norm(int index) {
  for (const StageSetup& stage : program_.setup.stages) wait_for_stage(stage.stage);
  start(index);
  record_->all = sum_over_job(work_.norm_share(), index);
  work_.set_global_norm(record_->all);
}

void StepReductions::sum_loss() {
  NormShare share;
  share.loss = work_.norm_share().loss;
  record_->all = sum_over_job(share, kNone);
}

NormShare StepReductions::sum_over_job(const NormShare& share, int index) {
  std::array<double, 3> sums{share.squared_norm, share.loss, share.not_finite};
  SteadyTime end = steady_now();
  if (program_.job != kNone) {
    const Buffer buffer{reinterpret_cast<std::byte*>(sums.data()), sums.size(),
                        ElementType::kFloat64};
    const auto transfer = transport_.all_reduce(communicator(program_.job), buffer);
    transfer->wait();
    end = end_of(*transfer);
  }
  if (index != kNone) record_->end[static_cast<std::size_t>(index)] = end;
  return {sums[0], sums[1], sums[2]};
}

void StepReductions::gather(int index) {
  const int stage = action(index).stage;
  start(index);
  Pending& pending = gathers_.emplace_back();
  pending.stage = stage;
  pending.actions = {index};
  const StageGroups& groups = groups_of(stage);
  if (groups.holders == kNone) return;
  for (const Buffer& parameters : work_.parameters_to_gather(stage)) {
    pending.transfers.push_back(transport_.all_gather(communicator(groups.holders), parameters));
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
