// One pass over the actions: what a row of action_rules.h takes is added when its action begins,
// what it lets go is subtracted when it ends, and every pool keeps its largest sum. The stash is
// the pool of a whole rank, since its stages share the memory at every moment; of received
// activations and gradients each stage has a pool of its own, as buffers are not handed on.
#include "simulator/pool_peaks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/values/durations.h"
#include "core/values/transfer_room.h"
#include "simulator/stash_bytes.h"

namespace penstock {
namespace {

struct Pool {
  std::int64_t held = 0, most = 0;
  void change(std::int64_t by) { most = std::max(most, held += by); }
};

// The pools of transfers over both boundaries of one stage.
struct StagePools {
  Pool activations, gradients;                          // received
  std::int64_t activation_send = 0, gradient_send = 0;  // the largest of each
  bool receives_activation = false, receives_gradient = false;
  std::int64_t largest_received = 0;
};

class PoolWalk {
 public:
  PoolWalk(const Program& program, const StagePrices& prices)
      : program_(program),
        prices_(prices),
        stages_(program.stages.size()),
        peaks_(static_cast<std::size_t>(program.ranks())),
        overlapped_(peaks_.size(), 0) {}

  std::vector<PoolPeaks> run() {
    for (const Action& action : program_.actions) add(action);
    const std::vector<Bytes> stash = peak_stash_bytes(program_, prices_);
    for (std::size_t r = 0; r < peaks_.size(); ++r) peaks_[r].stash = stash[r];
    std::vector<TransferRoom> room(peaks_.size());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const auto rank = static_cast<std::size_t>(program_.stages[s].rank.value);
      const StagePools& pools = stages_[s];
      peaks_[rank].communication.count += pools.activations.most + pools.gradients.most;
      room[rank].add_send(pools.activation_send);
      room[rank].add_send(pools.gradient_send);
      room[rank].add_receive(pools.largest_received);
    }
    for (std::size_t r = 0; r < peaks_.size(); ++r) {
      peaks_[r].communication.count += room[r].bytes();
    }
    return std::move(peaks_);
  }

 private:
  void add(const Action& action) {
    if (!has_micro_batch(action.kind)) return;
    const PricedPlace place = priced_place(program_, action);
    work(action, prices_.compute_of(place.stage, place.shape).working_peak.count);
    StagePools& pools = stages_[action.stage.value];
    const auto sent = [&](ActionKind send) { return payload_of(prices_, send, place).count; };
    const std::int64_t behind = sent(ActionKind::kSendActivation);
    const std::int64_t before = sent(ActionKind::kSendGradient);
    const Holds& holds = rule_of(action.kind).holds;
    pools.receives_activation |= holds.activation_buffer > 0;
    pools.receives_gradient |= holds.gradient_buffer > 0;
    if (holds.activation_buffer > 0) {
      pools.largest_received = std::max(pools.largest_received, before);
    }
    if (holds.gradient_buffer > 0) {
      pools.largest_received = std::max(pools.largest_received, behind);
    }
    if (pools.receives_activation) pools.activations.change(holds.activation_buffer * before);
    if (pools.receives_gradient) pools.gradients.change(holds.gradient_buffer * behind);
    if (action.kind == ActionKind::kSendActivation) {
      pools.activation_send = std::max(pools.activation_send, behind);
    }
    if (action.kind == ActionKind::kSendGradient) {
      pools.gradient_send = std::max(pools.gradient_send, before);
    }
  }

  // The second member of an OVERLAP follows the first on its rank.
  void work(const Action& action, std::int64_t bytes) {
    if (!is_compute(action.kind)) return;
    const auto rank = static_cast<std::size_t>(program_.rank_of(action).value);
    std::int64_t& working = peaks_[rank].working.count;
    working = std::max(working, bytes + overlapped_[rank]);
    overlapped_[rank] = action.overlaps_next ? bytes : 0;
  }

  const Program& program_;
  const StagePrices& prices_;
  std::vector<StagePools> stages_;
  std::vector<PoolPeaks> peaks_;
  std::vector<std::int64_t> overlapped_;  // by rank: what the member before works in
};

}  // namespace

std::vector<PoolPeaks> pool_peaks(const Program& program, const StagePrices& prices,
                                  int pipelines) {
  std::vector<PoolPeaks> peaks = PoolWalk(program, prices).run();
  const Pipeline& last = program.pipelines[static_cast<std::size_t>(pipelines) - 1];
  peaks.resize(static_cast<std::size_t>(last.first_rank) + static_cast<std::size_t>(last.ranks));
  return peaks;
}

}  // namespace penstock
