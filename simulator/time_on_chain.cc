#include "simulator/time_on_chain.h"

#include <cstddef>
#include <cstdint>

#include "simulator/binding_walk.h"

namespace penstock {
namespace {

constexpr int kFirstCheckpoint = 16;  // nodes walked before the first look for a cycle

// Behind a jump the chain comes to the same step again, some windows earlier, and what lies between
// repeats in each of as many windows before (rolled_attribution.cc): it is walked once.
class ChainWalk {
 public:
  explicit ChainWalk(const RolledTimeline& timeline)
      : timeline_(timeline), time_(static_cast<std::size_t>(timeline.stages())) {}

  std::vector<Duration> from(RolledNode node) {
    int walked = 0, next_checkpoint = kFirstCheckpoint;
    while (!node.none()) {
      const auto skipped = timeline_.skipped(node.rank, node.position);
      if (skipped.jump < 0 || skipped.window >= timeline_.windows(skipped.jump)) {
        checkpoint_.node = {};
      } else if (comes_again(node, skipped)) {
        go_over_cycles(node, skipped);
        checkpoint_.node = {};
      } else if (++walked >= next_checkpoint) {
        checkpoint_ = {node, skipped, time_};
        next_checkpoint *= 2;
      }
      timeline_.add_compute(node, time_);
      node = timeline_.bound_by(node);
    }
    return time_;
  }

 private:
  // A place that the walk may come to again, some windows earlier.
  struct Checkpoint {
    RolledNode node;
    RolledTimeline::Skipped skipped;
    std::vector<Duration> time;
  };

  [[nodiscard]] bool comes_again(const RolledNode& node,
                                 const RolledTimeline::Skipped& skipped) const {
    return !checkpoint_.node.none() && checkpoint_.node.rank == node.rank &&
           checkpoint_.node.lead == node.lead && checkpoint_.skipped.jump == skipped.jump &&
           checkpoint_.skipped.in_window == skipped.in_window &&
           checkpoint_.skipped.window > skipped.window;
  }

  void go_over_cycles(RolledNode& node, const RolledTimeline::Skipped& skipped) {
    const std::int64_t windows = checkpoint_.skipped.window - skipped.window;
    const std::int64_t cycles = (skipped.window - 1) / windows;
    for (std::size_t s = 0; s < time_.size(); ++s) {
      time_[s] += cycles * (time_[s] - checkpoint_.time[s]);
    }
    node.position -= cycles * windows * timeline_.steps_per_window(skipped.jump, node.rank);
  }

  const RolledTimeline& timeline_;
  std::vector<Duration> time_;
  Checkpoint checkpoint_;
};

}  // namespace

std::vector<Duration> time_on_chain(const std::vector<RolledTimeline>& pipelines,
                                    const StepEnd& step_end) {
  const BindingWalk tail(step_end.program, step_end.timeline, step_end.copies);
  std::uint32_t last = tail.last();
  while (last != BindingWalk::kNone && last >= step_end.stand_ins.size()) {
    last = tail.bound_by(last);
  }
  if (last == BindingWalk::kNone) return {};
  const StepEnd::StandIn& at = step_end.stand_ins[last];
  return ChainWalk(pipelines[at.pipeline]).from(at.node);
}

}  // namespace penstock
