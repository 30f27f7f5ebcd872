// Lists of compute and transfer actions per rank in issue order, for runtimes whose receives do not
// stand where the sender produced them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/schedule.h"

namespace penstock {

// A compute or transfer action of one rank in issue order, before it has an index.
struct Issue {
  ActionKind kind = ActionKind::kForward;
  int stage = 0;
  std::uint32_t micro_batch = 0;
};

// DeepSpeed's PipelineEngine: a forward step is SEND_B of the step before, RECV_F, F; a backward
// step is RECV_B, SEND_F of the step before, B. When there is an idle slot between the two steps,
// the send leaves in it. A REDUCE_GRAD marks where the gradients of a stage are complete.
std::vector<std::vector<Issue>> deepspeed_lists(const Schedule& schedule, bool transfers);

}  // namespace penstock
