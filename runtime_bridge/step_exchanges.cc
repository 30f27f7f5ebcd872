#include "runtime_bridge/step_exchanges.h"

#include <cstddef>

#include "core/values/action_rules.h"
#include "runtime_bridge/stage_groups.h"
#include "runtime_bridge/step_transfers.h"

namespace penstock {

void StepExchanges::begin_step(StepRecord& record) {
  record_ = &record;
  pending_.clear();
}

int StepExchanges::begin(ActionKind kind, int stage, int section, std::vector<Buffer> buffers) {
  const StageGroups& groups = groups_of(program_, stage);
  const auto number = static_cast<int>(pending_.size());
  Pending& pending = pending_.emplace_back();
  record_->sections.push_back({kind, section, transport_.now(), {}});
  const bool gathers = rule_of(kind).collective.gathers;
  for (const Buffer& buffer : buffers) {
    const CommunicatorId shards = communicator_(groups.shards);
    pending.transfers.push_back(gathers ? transport_.all_gather(shards, buffer)
                                        : transport_.reduce_scatter(shards, buffer));
  }
  if (!gathers && groups.copies != kNone) {
    pending.copies = groups.copies;
    for (const Buffer& buffer : buffers) pending.parts.push_back(own_part(program_, stage, buffer));
  }
  return number;
}

void StepExchanges::finish(int number) {
  Pending& pending = pending_[static_cast<std::size_t>(number)];
  SteadyTime end = wait_for_all(pending.transfers, transport_,
                                record_->sections[static_cast<std::size_t>(number)].start);
  for (const Buffer& part : pending.parts) {
    pending.transfers.push_back(transport_.all_reduce(communicator_(pending.copies), part));
  }
  end = wait_for_all(pending.transfers, transport_, end);
  record_->sections[static_cast<std::size_t>(number)].end = end;
}

}  // namespace penstock
