// Replays the rolled-up lists of one pipeline without lowering them, in rounds: in each, every rank
// runs as many steps as its block has, unless it must wait. Once every rank repeats its block and
// all times grow by constants, the rest of the steady state is jumped over, exactly (jump.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/program.h"
#include "core/schedule.h"
#include "simulator/arrivals.h"
#include "simulator/price_table.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

// What the end of a step follows from.
struct PipelineTimes {
  struct Rank {
    std::int64_t first = -1;  // start of its first action; -1 when it has none
    std::int64_t now = 0;     // end of its last
    std::int64_t busy = 0;
    std::int64_t actions = 0;  // how many ran
  };
  struct Stage {
    std::int64_t last = 0;      // end of the last W or B
    std::int64_t position = 0;  // how many actions its rank had run then
  };
  std::vector<Rank> ranks;
  std::vector<Stage> stages;
};

// What makes up a replay; jump.cc looks at it.
struct RolledReplay {
  // A compute action of a block. Boundary 2s brings the activation to stage s, 2s + 1 the gradient.
  struct Step {
    std::int32_t read = -1, write = -1;  // boundaries; -1: none
    std::uint32_t micro_batch = 0;       // of the block's first repetition
    std::uint16_t stage = 0;
    bool completes_gradient = false;
    bool pair = false;  // OVERLAP: the next step is its second member
  };
  struct Costs {
    std::int64_t duration = 0;
    std::int64_t lead = 0;   // of an OVERLAP's second member: the recompute before the pair
    std::int64_t gain = 0;   // of an OVERLAP's first member
    std::int64_t delay = 0;  // until what it writes arrives
    // Of an OVERLAP.
    [[nodiscard]] std::int64_t together_with(const Costs& second) const {
      return std::max({duration, second.duration, duration + second.duration - gain});
    }
  };
  struct Boundary : Arrivals {
    std::int64_t origin = 0;   // the micro-batch at place 0
    std::int64_t sign = 1;     // -1: micro-batches run downwards
    std::uint32_t reader = 0;  // rank
    [[nodiscard]] std::int64_t place_of(std::int64_t m) const { return (m - origin) * sign; }
  };
  struct Rank : PipelineTimes::Rank {
    const ScheduleBlock* block = nullptr;
    const ScheduleBlock* end = nullptr;
    std::uint32_t at = 0;          // next step
    std::uint32_t repetition = 0;  // of the block
    std::int64_t shift = 0;        // repetition * advance
    std::int64_t goal = 0;         // how many actions it may have run when the round ends
    std::int64_t before = 0;       // and how many it had run when the round began
    bool loops =
        false;  // in the last round it ran one whole repetition and did not leave the block
    // What the rank waits for; boundary -1 when for nothing.
    std::int32_t waits_for = -1;
    std::int64_t waits_for_place = 0;
    // Ends of the steps of this block, as far back as the last jump. Members of a pair have one
    // each.
    std::vector<std::int64_t> ends;

    [[nodiscard]] bool done() const { return block == end; }
    [[nodiscard]] std::uint32_t size() const { return block->end - block->begin; }
  };

  // `recompute`: every backward recomputes first; without `transfers` what another rank needs is
  // there at once. `program` holds the pipeline's stages and one
  // micro-batch per run.
  RolledReplay(const Schedule& schedule, const std::vector<MicroBatchRun>& runs,
               const Program& program, std::size_t pipeline, const PriceTable& prices,
               bool recompute, bool transfers);

  // False when the lists wait for each other.
  [[nodiscard]] bool run();
  [[nodiscard]] PipelineTimes times() const;

  // Of micro-batch m.
  [[nodiscard]] std::size_t run_of(std::int64_t m) const {
    std::size_t run = 0;
    while (m >= run_end[run]) ++run;
    return run;
  }
  [[nodiscard]] const Costs& costs_of(std::size_t step, std::int64_t m) const {
    return costs[step * run_end.size() + run_of(m)];
  }

  std::vector<Step> steps;            // one per action of the schedule
  std::vector<Costs> costs;           // [step][run]
  std::vector<std::int64_t> run_end;  // cumulated
  std::vector<Rank> ranks;
  std::vector<PipelineTimes::Stage> stages;
  std::vector<Boundary> boundaries;
  bool jumps = true;  // off: the plain replay, for comparison

 private:
  bool round();
  void run_to_goal(Rank& rank);
  bool perform(Rank& rank);
  bool arrived(Rank& rank, const Step& step, std::int64_t m, std::int64_t& time);
  void finish(Rank& rank, const Step& step, std::int64_t m, std::int64_t time, std::int64_t delay);

  std::vector<std::uint32_t> runnable_;  // ranks, the next one last
};

}  // namespace penstock
