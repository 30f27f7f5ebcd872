// One fused step and, where the backward can be split, one split step are run with the allocator's
// counters read around every action. Inputs and outputs of a stage belong to one figure each by a
// rule that is written below, so that the figures of neighbours add up to what was counted.
// Negative differences, from blocks that the allocator gives back late, count as zero.
#include "profiler/measure_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "profiler/run_chain.h"

namespace penstock {
namespace {

// What was held before and after an action, and the most while it ran.
struct MemoryStep {
  Bytes before, peak, after;
};

using MemorySteps = std::map<std::pair<ActionKind, int>, MemoryStep>;

class MemoryObserver {
 public:
  MemoryObserver(RankWork& work, Device& device, std::size_t stages)
      : outputs(stages), work_(work), device_(device) {}

  template <class Call>
  void action(ActionKind kind, int stage, const Call& call) {
    last_ = &steps[{kind, stage}];
    last_->before = device_.held_memory();
    device_.reset_peak_memory();
    call();
    last_->peak = device_.peak_memory();
    last_->after = device_.held_memory();
  }
  void leaves(int stage, int micro_batch) {
    outputs[static_cast<std::size_t>(stage)] =
        Bytes{static_cast<std::int64_t>(work_.activation_to_send(stage, micro_batch).bytes())};
  }
  void left(int) { last_->after = device_.held_memory(); }

  MemorySteps steps;
  std::vector<Bytes> outputs;  // per stage; of the last one nothing

 private:
  RankWork& work_;
  Device& device_;
  MemoryStep* last_ = nullptr;
};

Bytes not_negative(Bytes bytes) { return std::max(bytes, Bytes{}); }

// Before a stage runs forward its input is there already, and after it its output is; both belong
// to a neighbour's figure or to this one's by one rule: a stage's stash has its input, not its
// output. So
//   stash = after - before + input - output.
// The input gradient takes the stash and the output's gradient away, and leaves what W needs and
// the input's gradient:
//   weight stash = stash + after - before + output - input.
class StageMemory {
 public:
  StageMemory(int stage, Bytes in, Bytes out) : stage_(stage), in_(in), out_(out) {
    memory_.boundary = out;
  }

  void add_fused(const MemorySteps& steps) {
    const MemoryStep& forward = steps.at({ActionKind::kForward, stage_});
    memory_.stash = not_negative(forward.after - forward.before + in_ - out_);
    memory_.weight_stash = memory_.stash;
    raise_peak(forward.peak - forward.before + in_ - memory_.stash);
    add_backward(steps, ActionKind::kFusedBackward);
  }

  void add_split(const MemorySteps& steps) {
    const Bytes left = add_backward(steps, ActionKind::kInputGradient);
    memory_.weight_stash = not_negative(memory_.stash + left + out_ - in_);
    const MemoryStep& weight = steps.at({ActionKind::kWeightGradient, stage_});
    raise_peak(weight.peak - weight.before);
  }

  [[nodiscard]] const SectionMemory& memory() const { return memory_; }

 private:
  void raise_peak(Bytes bytes) { memory_.working_peak = std::max(memory_.working_peak, bytes); }

  // With the recompute before it: what that brings back is on top of the stash, too. Returns what
  // is held after it more than before.
  Bytes add_backward(const MemorySteps& steps, ActionKind kind) {
    const MemoryStep& backward = steps.at({kind, stage_});
    Bytes before = backward.before;
    if (const auto again = steps.find({ActionKind::kRecompute, stage_}); again != steps.end()) {
      before = again->second.before;
      raise_peak(again->second.peak - before);
    }
    raise_peak(backward.peak - before);
    return backward.after - before;
  }

  int stage_;
  Bytes in_, out_;
  SectionMemory memory_;
};

}  // namespace

std::vector<SectionMemory> measure_memory(const ChainToMeasure& chain, RankWork& work,
                                          Device& device) {
  const auto stages = static_cast<std::size_t>(chain.stages());
  MemoryObserver fused(work, device, stages), split(work, device, stages);
  work.begin_step(0);
  ChainRun(chain, work, fused).fused();
  if (chain.splits) ChainRun(chain, work, split).split();
  std::vector<SectionMemory> memory;
  memory.reserve(stages);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    StageMemory of_stage(static_cast<int>(stage), stage == 0 ? Bytes{} : fused.outputs[stage - 1],
                         fused.outputs[stage]);
    of_stage.add_fused(fused.steps);
    if (chain.splits) of_stage.add_split(split.steps);
    memory.push_back(of_stage.memory());
  }
  return memory;
}

}  // namespace penstock
