// Whether transfers can be carried out where every rank issues its actions through one blocking
// queue: the strictest runtime there is. Judges lists of any origin, not only Programs.
#pragma once

#include <string>
#include <vector>

#include "core/values/batch.h"
#include "core/values/program.h"

namespace penstock {

// An action of a rank: compute of a micro-batch, or one end of a transfer.
struct StreamAction {
  ActionKind kind = ActionKind::kForward;
  int stage = 0;  // that owns the action, as in a Program: a send's sender, a receive's receiver
  int micro_batch = 0;
  int peer = -1;          // of a transfer: the rank at the other end
  MicroBatchShape shape;  // of a transfer: what both ends must agree on
  bool operator==(const StreamAction&) const = default;
};

// One list per rank, in issue order.
using TransferStreams = std::vector<std::vector<StreamAction>>;

// Of all pipelines of a Program; stages, micro-batches and ranks are numbered as there.
TransferStreams streams_of(const Program& program);

// Removes compute actions whose input has been removed, and sends and receives that are heads of
// their lists at once and agree in peer, kind, stage, micro-batch and shape. Empty when that
// empties all lists; else the heads of two ranks that wait for each other, or of one that waits for
// what no list holds. `stages_per_copy`: after so many stages a copy of the model ends; 0: at the
// last stage that the lists name.
std::string why_stuck(const TransferStreams& streams, int stages_per_copy = 0);

}  // namespace penstock
