// What a rank computes, behind an interface that knows no tensors: the executor decides when, the
// RankWork how. Implementations: TorchWork (training/torch) and VirtualWork, which sleeps.
//
// Calls come from one thread, in the order of the rank's Program. Buffers that are handed out stay
// valid until the call that ends their life. Stages and micro-batches as in RankSetup.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/error.h"
#include "training/buffer.h"
#include "training/section_exchange.h"
#include "training/steady_time.h"

namespace penstock {

// The rank's part in the global norm, summed over all ranks by the executor.
struct NormShare {
  double squared_norm = 0.0;  // of the weights that this rank counts (holder 0, ties once)
  double loss = 0.0;          // sum over the rank's micro-batches, each already weighted
  double not_finite = 0.0;    // 1 when a gradient is infinite or not a number
  bool operator==(const NormShare&) const = default;
};

// A LOAD, STORE or RESHARD that may still be under way.
class SlotCopy {
 public:
  virtual ~SlotCopy() = default;
  virtual void wait() = 0;
  // Known once wait() has returned.
  [[nodiscard]] virtual SteadyTime started() const = 0;
  [[nodiscard]] virtual SteadyTime ended() const = 0;
};

class RankWork {
 public:
  virtual ~RankWork() = default;

  // Before anything is exchanged: does each kind of work once on nothing, where the first time is
  // special. On a GPU it loads kernels and allocates, which may wait for an idle device, and that a
  // device with an open receive is not: ranks would wait for each other.
  virtual void warm_up() {}
  // By what sections that are sharded one by one gather and reduce from now on (RankSetup); until
  // then they do not. It outlives its use.
  virtual void exchange_through(SectionExchange* /*exchange*/) {}
  // A new step: gradients are zero, the step's samples are chosen (the same for any layout).
  virtual void begin_step(std::int64_t step) = 0;
  // Batch `batch` of the data that are not trained on, forward only: nothing is kept for a
  // backward, modules are in evaluation mode, and the next norm_share() holds the loss and nothing
  // else. Until the next begin_step().
  virtual void begin_evaluation(std::int64_t /*batch*/) {
    throw Error(ErrorKind::kInternal, "this rank judges no model");
  }

  // F, I, W, B or R of one micro-batch. On a GPU the work may only have been queued.
  virtual void compute(ActionKind kind, int stage, int micro_batch) = 0;
  // Returns when everything computed so far is really there.
  virtual void synchronize() {}
  // The most bytes that tensors have taken in this step, up to its last compute, beyond what they
  // took when it began; nothing where nobody counts.
  [[nodiscard]] virtual std::optional<std::int64_t> peak_bytes() { return std::nullopt; }

  // Where the boundary tensors of F(stage) and of its backward are received. Asked for once, before
  // that action; the tensor lives until the RankWork no longer needs it.
  virtual Buffer activation_to_receive(int stage, int micro_batch) = 0;
  virtual Buffer gradient_to_receive(int stage, int micro_batch) = 0;
  // What F(stage) and its backward made for the neighbours on other ranks; until sent_...() is
  // called.
  virtual Buffer activation_to_send(int stage, int micro_batch) = 0;
  virtual Buffer gradient_to_send(int stage, int micro_batch) = 0;
  virtual void sent_activation(int stage, int micro_batch) = 0;
  virtual void sent_gradient(int stage, int micro_batch) = 0;
  // From `stage` to stage + 1, or gradient from `stage` to stage - 1, where both are on this rank.
  virtual void hand_on_activation(int stage, int micro_batch) = 0;
  virtual void hand_on_gradient(int stage, int micro_batch) = 0;

  // Gradients of the stage to be summed over the holders of its weights, in buckets, without those
  // of ties. With ZeRO-1 each bucket divides evenly by the number of shards, and part h belongs to
  // shard h. None of those that sections reduce themselves.
  virtual std::vector<Buffer> gradients(int stage) = 0;
  // The gradient of weights that several stages share, as held by `stage`. Not part of
  // gradients(): summed over the stages of the tie first, then over the replicas.
  virtual Buffer tied_gradient(int tie, int stage) = 0;
  // Adds the gradient of another stage of this rank to that of `stage`, or copies it there.
  virtual void add_tied_gradient(int tie, int from_stage, int to_stage) = 0;
  virtual void copy_tied_gradient(int tie, int from_stage, int to_stage) = 0;

  virtual NormShare norm_share() = 0;
  // With the sums over all ranks: clips, skips the step (fp16 overflow), adapts the loss scale.
  virtual void set_global_norm(const NormShare& all) = 0;
  virtual void optimize(int stage) = 0;
  // ZeRO-1: the updated weights, each buffer in as many parts as there are shards.
  virtual std::vector<Buffer> parameters_to_gather(int stage) = 0;
  // After the gather has ended.
  virtual void gathered(int stage) = 0;

  // Where stages live in slots: LOAD, STORE or RESHARD of one, beside what is computed. It begins
  // once all of `after` have ended; what else it needs ended at `ready`, which may be past: streams
  // of a device wait for events, and not for the thread that calls this.
  [[nodiscard]] virtual std::unique_ptr<SlotCopy> copy(
      ActionKind kind, int /*stage*/, SteadyTime /*ready*/,
      const std::vector<const SlotCopy*>& /*after*/) {
    throw Error(ErrorKind::kInternal, std::string(name_of(kind)) + ": this rank has no slots");
  }
};

}  // namespace penstock
