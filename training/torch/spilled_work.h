// The RankWork of stages that live in slots of the rank's device: TorchWork computes with those
// that are there, this brings them, takes their gradients or state back to the host, and has them
// updated there or on the device, as the plan says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "training/slot_schedule.h"
#include "training/token_source.h"
#include "training/torch/spilled_state.h"
#include "training/torch/torch_work.h"

namespace penstock {

// In bytes.
struct SpilledMemory {
  std::size_t slot = 0;  // of each slot
  std::size_t host = 0;  // pools of all stages, and room for gradients on their way
};

// On one rank, which reduces and gathers nothing (runtime_bridge/plan_support.cc refuses others).
class SpilledWork : public TorchWork {
 public:
  // `state` is laid out for `setup` and filled; both outlive it, and so does `data`.
  // Error{kBadInput} for weights that two stages share, where these are all that there are.
  SpilledWork(const RankSetup& setup, SpilledState& state, const TokenSource& data,
              SlotSchedule schedule);
  ~SpilledWork() override;

  [[nodiscard]] SpilledMemory memory() const;

  void begin_step(std::int64_t step) override;
  NormShare norm_share() override;
  void optimize(int stage) override;
  std::unique_ptr<SlotCopy> copy(ActionKind kind, int stage, SteadyTime ready,
                                 const std::vector<const SlotCopy*>& after) override;

  // What stages outside of slots could not do, or is not asked of one rank.
  void warm_up() override {}
  void exchange_through(SectionExchange* /*exchange*/) override {}
  void begin_evaluation(std::int64_t batch) override { RankWork::begin_evaluation(batch); }
  std::optional<std::int64_t> peak_bytes() override { return std::nullopt; }

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
