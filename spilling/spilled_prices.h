// What sections cost as shards, and a spilled plan worked out for given shards. Private to
// spilling/.
#pragma once

#include <optional>
#include <vector>

#include "costmodel/price_stages.h"
#include "search/device_cluster.h"
#include "search/section_sums.h"
#include "spilling/spilled_plan.h"

namespace penstock {

// What is decided before the shards are.
struct SpillChoice {
  int micro_batch_size = 1;
  int micro_batches = 1;  // of one pass
  int passes = 1;
  UpdatePlace update = UpdatePlace::kHost;
};

class SpillPrices {
 public:
  SpillPrices(const SpillQuestion& question, int micro_batch_size);

  // Empty when there are prices.
  [[nodiscard]] const std::string& why_not() const { return sums_.why_not; }
  [[nodiscard]] int sections() const { return sums_.sections(); }

  // Of a pass.
  [[nodiscard]] ShardTime time_of(const SpillChoice& choice, int first, int end) const;
  // What a shard takes of its slot, and of what is beside the slots while it computes. What all of
  // them keep of their boundaries is apart.
  [[nodiscard]] std::int64_t slot_of(const SpillChoice& choice, int first, int end) const;
  [[nodiscard]] std::int64_t activations_of(int first, int end) const;
  [[nodiscard]] std::int64_t boundaries(const SpillChoice& choice, int shards) const;
  // Of the device, beyond its reserve.
  [[nodiscard]] std::int64_t capacity() const;

  // Replayed; `over`: by how many bytes it does not fit, if it does not.
  struct Worked {
    SpilledPlan plan;
    std::int64_t over = 0;
  };
  [[nodiscard]] Worked work_out(const SpillChoice& choice, const ShardCuts& cuts) const;

 private:
  struct State {
    std::int64_t parameters = 0, gradients = 0, optimizer = 0;  // bytes
    std::int64_t count = 0;                                     // of parameters
  };
  [[nodiscard]] State state_of(int first, int end) const;
  [[nodiscard]] Duration copy_time(std::int64_t bytes) const;
  [[nodiscard]] Duration update_time(const State& state) const;
  [[nodiscard]] Duration behind_of(int first, int section) const;
  // With the optimizer on the device: all that a shard keeps from pass to pass, or step to step.
  [[nodiscard]] static std::int64_t kept_bytes(const SpillChoice& choice, const State& state);
  [[nodiscard]] Duration store_time(const SpillChoice& choice, int first, int end) const;
  [[nodiscard]] std::int64_t largest_boundary() const;
  void set_shard(const SpillChoice& choice, const ShardCuts& cuts, int shard,
                 StagePrices& prices) const;
  [[nodiscard]] Duration behind_norm(const SpilledPlan& plan) const;
  void set_totals(const SpillChoice& choice, SpilledPlan& plan) const;

  const SpillQuestion& question_;
  DeviceCluster device_;
  SectionSums sums_;
  TiedParameters ties_;
  std::vector<Duration> copied_, behind_;  // by section: its gradient, and what follows on the host
};

}  // namespace penstock
