// What every action of a Program costs, in nanoseconds and bytes, keyed by (kind, stage, shape).
// A value: it exists before the Program, and a plan file stores it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct Price {
  Duration duration{};
  Duration spread{};  // standard deviation of one execution
  bool operator==(const Price&) const = default;
};

// One stage and one micro-batch shape.
struct ComputePrice {
  Price forward;            // F
  Price input_gradient;     // I
  Price weight_gradient;    // W
  Price fused_backward;     // B
  Price recompute;          // R; a Program of a mode that recomputes has R actions
  Duration overlap_gain{};  // OVERLAP(F;B) of this forward takes F + B less this
  // What F and B hold beside compute, where sections are sharded: waits for their gathers and
  // reductions, and copies into and out of the buffers of those.
  Duration forward_sharded{}, backward_sharded{};
  // What F, B and R hold of tokens on their way to experts and back; of B its I.
  Duration forward_experts{}, backward_experts{}, recompute_experts{};
  Bytes stash;         // F takes it, I or B frees it
  Bytes weight_stash;  // I takes it, W frees it
  Bytes working_peak;  // on top, during any of the actions
  Bytes boundary;      // the activation sent to the next stage; its gradient has the same size
  bool operator==(const ComputePrice&) const = default;
};

// The way from stage s to stage s + 1, for one shape. Zero when both live on one rank.
struct TransferPrice {
  Price activation;  // s -> s + 1
  Price gradient;    // s + 1 -> s
  bool operator==(const TransferPrice&) const = default;
};

// What one stage keeps and does once per step, whatever the micro-batches.
struct StepPrice {
  Bytes parameters, gradients, optimizer_state;
  Bytes section_buffers;  // where sections are gathered or reduced one by one: what that takes most
  Price reduce_gradient;  // over the replicas and copies: the longest of the copies counts
  Price optimizer;
  Price unshard;  // ZeRO-1: all-gather of the updated parameters
  // Where the rank keeps its stages in slots: from the host into one, and back.
  Price load, store;
  Bytes loaded, stored;  // what those move
  Bytes only_on_host;    // and never on the device: what an optimizer keeps that runs on the host
  bool operator==(const StepPrice&) const = default;
};

// One tied group whose sections lie on several stages.
struct TiedPrice {
  std::string name;  // of the tie; its groups in a Program are called tied_group_name(name)
  Price reduce;
  bool operator==(const TiedPrice&) const = default;
};

struct StagePrices {
  int stages = 0;  // of one pipeline: S
  int shapes = 1;
  std::vector<ComputePrice> compute;    // [stage * shapes + shape]
  std::vector<TransferPrice> transfer;  // [stage * shapes + shape], stage s: from s to s + 1;
                                        // the last stage's entries are zero
  std::vector<StepPrice> step;          // [stage]
  std::vector<TiedPrice> tied_reduce;
  Price norm;  // of all ranks together, from when the last of them is ready
  bool operator==(const StagePrices&) const = default;

  [[nodiscard]] const ComputePrice& compute_of(int stage, int shape) const {
    return compute[static_cast<std::size_t>(stage) * static_cast<std::size_t>(shapes) +
                   static_cast<std::size_t>(shape)];
  }
  [[nodiscard]] const TransferPrice& transfer_of(int stage, int shape) const {
    return transfer[static_cast<std::size_t>(stage) * static_cast<std::size_t>(shapes) +
                    static_cast<std::size_t>(shape)];
  }
};

}  // namespace penstock
