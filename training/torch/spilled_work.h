// The RankWork of stages that live in slots of the rank's device: TorchWork computes with those
// that are there, this brings them, takes their gradients or state back to the host, and has them
// updated there or on the device, as the plan says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "training/rank_setup.h"
#include "training/rank_work.h"
#include "training/slot_schedule.h"
#include "training/token_source.h"
#include "training/torch/spilled_state.h"

namespace penstock {

// In bytes.
struct SpilledMemory {
  std::size_t slot = 0;  // of each slot
  std::size_t host = 0;  // pools of all stages, and room for gradients on their way
};

class SpilledWork : public RankWork {
 public:
  // `state` is laid out for `setup` and filled; both outlive it, and so does `data`.
  // Error{kBadInput} for weights that two stages share, where these are all that there are.
  SpilledWork(const RankSetup& setup, SpilledState& state, const TokenSource& data,
              SlotSchedule schedule);
  ~SpilledWork() override;

  [[nodiscard]] SpilledMemory memory() const;

  void begin_step(std::int64_t step) override;
  void compute(ActionKind kind, int stage, int micro_batch) override;
  void synchronize() override;
  Buffer activation_to_receive(int stage, int micro_batch) override;
  Buffer gradient_to_receive(int stage, int micro_batch) override;
  Buffer activation_to_send(int stage, int micro_batch) override;
  Buffer gradient_to_send(int stage, int micro_batch) override;
  void sent_activation(int stage, int micro_batch) override;
  void sent_gradient(int stage, int micro_batch) override;
  void hand_on_activation(int stage, int micro_batch) override;
  void hand_on_gradient(int stage, int micro_batch) override;
  std::vector<Buffer> gradients(int stage) override;
  Buffer tied_gradient(int tie, int stage) override;
  void add_tied_gradient(int tie, int from_stage, int to_stage) override;
  void copy_tied_gradient(int tie, int from_stage, int to_stage) override;
  NormShare norm_share() override;
  void set_global_norm(const NormShare& all) override;
  void optimize(int stage) override;
  std::vector<Buffer> parameters_to_gather(int stage) override;
  void gathered(int stage) override;
  std::unique_ptr<SlotCopy> copy(ActionKind kind, int stage, SteadyTime ready,
                                 const std::vector<const SlotCopy*>& after) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
