// How a runtime carries out a Program: what a transfer occupies, in which order transfers run, and
// the fixed costs that a bare replay lacks. `ideal` is all zeros: transfers take their time, occupy
// nothing and wait for nothing but their producer.
#pragma once

#include <optional>
#include <string>

#include "core/values/units.h"

namespace penstock {

enum class TransferMode {
  kAsync,         // arrival = producer's end + c; nobody is occupied
  kSenderBlocks,  // the sender's compute stream is busy for c; the data has arrived when it is free
  kRendezvous,    // both ranks meet, and both compute streams are busy for c
};
// Transfers of one queue run one after the other, in issue order. A transfer belongs to a queue of
// its sender and to a queue of its receiver, and starts when it heads both.
enum class QueueLayout {
  kNone,          // no queues
  kPerDirection,  // per rank one for each (peer, direction)
  kPerPeer,       // per rank one for each peer
  kPerRank,       // per rank one
};
// Where lowering puts the transfers (shared by all ranks of a Program).
enum class IssueOrder {
  kEager,      // a send right after its compute, its receive where the sender produced it (PyTorch)
  kDeepSpeed,  // sends wait for the next step of the rank; receives just before their consumer
};
enum class OptimizerGate {
  kGlobalBarrier,   // a norm over the whole job precedes every optimizer step
  kPostValidation,  // a rank updates as soon as its own gradients are reduced
  kRolledBack,      // likewise, and the check of the norm then fails: every rank takes its update
                    // back and does it again
};
// What LOAD and STORE of a rank share.
enum class HostLink {
  kDuplex,   // nothing: each direction has its own lane
  kSimplex,  // one lane, in issue order
};

struct ExecutorModel {
  std::string name = "ideal";
  TransferMode transfer = TransferMode::kAsync;
  QueueLayout queues = QueueLayout::kNone;
  // A transfer may not start before the receiver has reached its receive.
  bool receive_must_be_posted = false;
  IssueOrder issue = IssueOrder::kEager;
  OptimizerGate optimizer = OptimizerGate::kGlobalBarrier;
  HostLink host_link = HostLink::kDuplex;
  Duration per_action{};    // added to every compute action
  Duration per_transfer{};  // added to every transfer
  Duration per_step{};      // added once
  bool operator==(const ExecutorModel&) const = default;
};

}  // namespace penstock
