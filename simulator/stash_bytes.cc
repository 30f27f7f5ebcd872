// A Schedule is walked block by block. Between two repetitions in which an action comes to the next
// shape, each changes what is held by the same, so that the most is held in the first or in the
// last.
#include "simulator/stash_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/values/durations.h"

namespace penstock {
namespace {

class RolledWalk {
 public:
  RolledWalk(const RolledInput& pipeline, const StagePrices& prices)
      : schedule_(*pipeline.schedule), prices_(prices) {
    std::int64_t end = 0;
    for (const MicroBatchRun& run : pipeline.micro_batches) {
      ends_.push_back(end += run.count);
      shapes_.push_back(run.each.shape);
    }
  }

  std::int64_t peak_of(std::size_t rank) {
    held_ = peak_ = 0;
    for (std::size_t b = schedule_.begin[rank]; b < schedule_.begin[rank + 1]; ++b) {
      const ScheduleBlock& block = schedule_.blocks[b];
      std::int64_t from = 0;
      for (const std::int64_t end : changes_of_shape(block)) {
        repeat(block, from, end);
        from = end;
      }
    }
    return peak_;
  }

 private:
  // The repetitions before which an action comes to another shape, and the end of all.
  [[nodiscard]] std::vector<std::int64_t> changes_of_shape(const ScheduleBlock& block) const {
    const std::int64_t repeat = block.repeat, advance = block.advance;
    std::vector<std::int64_t> changes{repeat};
    for (std::uint32_t at = block.begin; at < block.end && advance != 0; ++at) {
      const std::int64_t first = schedule_.actions[at].micro_batch.value;
      for (std::size_t run = 0; run + 1 < ends_.size(); ++run) {
        const std::int64_t way = advance > 0 ? ends_[run] - first : first - ends_[run] + 1;
        const std::int64_t step = advance > 0 ? advance : -advance;
        const std::int64_t change = way <= 0 ? 0 : (way + step - 1) / step;
        if (change > 0 && change < repeat) changes.push_back(change);
      }
    }
    std::sort(changes.begin(), changes.end());
    changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
    return changes;
  }

  void repeat(const ScheduleBlock& block, std::int64_t from, std::int64_t end) {
    const std::int64_t before = held_;
    if (from < end) once(block, from);
    if (end - from < 2) return;
    held_ += (held_ - before) * (end - from - 2);
    once(block, end - 1);
  }
  void once(const ScheduleBlock& block, std::int64_t repetition) {
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const ComputeAction& action = schedule_.actions[at];
      const PricedPlace place{action.stage.value,
                              shape_of(action.micro_batch.value + repetition * block.advance)};
      held_ += stash_change(prices_, action.kind, place).count;
      peak_ = std::max(peak_, held_);
    }
  }
  [[nodiscard]] int shape_of(std::int64_t micro_batch) const {
    const auto run = std::upper_bound(ends_.begin(), ends_.end(), micro_batch);
    return shapes_[static_cast<std::size_t>(run - ends_.begin())];
  }

  const Schedule& schedule_;
  const StagePrices& prices_;
  std::vector<std::int64_t> ends_;  // of the runs of micro-batches
  std::vector<int> shapes_;
  std::int64_t held_ = 0, peak_ = 0;
};

}  // namespace

std::vector<Bytes> peak_stash_bytes(const RolledInput& pipeline, const StagePrices& prices) {
  RolledWalk walk(pipeline, prices);
  std::vector<Bytes> peaks;
  peaks.reserve(static_cast<std::size_t>(pipeline.schedule->ranks));
  for (int rank = 0; rank < pipeline.schedule->ranks; ++rank) {
    peaks.push_back(Bytes{walk.peak_of(static_cast<std::size_t>(rank))});
  }
  return peaks;
}

std::vector<Bytes> peak_stash_bytes(const Program& program, const StagePrices& prices) {
  const auto ranks = static_cast<std::size_t>(program.ranks());
  std::vector<std::int64_t> held(ranks, 0);
  std::vector<Bytes> peaks(ranks);
  for (const Action& action : program.actions) {
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    held[rank] += stash_change(prices, action.kind, priced_place(program, action)).count;
    peaks[rank].count = std::max(peaks[rank].count, held[rank]);
  }
  return peaks;
}

}  // namespace penstock
