// Replays the rolled-up lists of one pipeline without lowering them, in rounds: in each, every rank
// runs one repetition of its block (all of a short one), unless it must wait. Once every rank
// repeats its block and all times grow by constants, the rest of the steady state is jumped over,
// exactly (jump.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/values/program.h"
#include "core/values/schedule.h"
#include "simulator/arrivals.h"
#include "simulator/price_table.h"
#include "simulator/replay_log.h"
#include "simulator/replay_steps.h"
#include "simulator/resolved_steps.h"
#include "simulator/round_history.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

// What the end of a step follows from.
struct PipelineTimes {
  struct Rank {
    std::int64_t first = -1;  // start of its first action; -1 when it has none
    std::int64_t busy = 0;
    std::int64_t free = 0;  // from when on: the end of its last action or of what that sends
  };
  struct Stage {
    std::int64_t last = 0;      // end of the last W or B
    std::int64_t position = 0;  // of that action in its rank's list, from 1
  };
  std::vector<Rank> ranks;
  std::vector<Stage> stages;
};

// What makes up a replay; jump.cc looks at it.
//
// A step ends when its rank is free again. Where senders block that is the end of what it sends:
// then what it writes arrives just then, and a send is no more than a longer step. Of an OVERLAP's
// two sends the first member's goes first.
struct RolledReplay {
  using Step = ReplaySteps::Step;
  struct Costs {
    std::int64_t duration = 0;  // until the rank is free
    std::int64_t sending = 0;   // of it, after the compute
    std::int64_t lead = 0;      // of an OVERLAP's second member: the recompute before the pair
    std::int64_t gain = 0;      // of an OVERLAP's first member
    std::int64_t delay = 0;     // from then on until what it writes arrives
    [[nodiscard]] std::int64_t compute() const { return duration - sending; }
    // Of an OVERLAP.
    [[nodiscard]] std::int64_t compute_with(const Costs& second) const {
      const std::int64_t own = compute(), other = second.compute();
      return std::max({own, other, own + other - gain});
    }
    [[nodiscard]] std::int64_t together_with(const Costs& second) const {
      return compute_with(second) + sending + second.sending;
    }
  };
  struct Rank {
    std::int64_t now = 0;  // end of the last step that ran
    const ScheduleBlock* block = nullptr;
    const ScheduleBlock* end = nullptr;
    std::uint32_t at = 0;            // next step
    std::uint32_t repetition = 0;    // of the block
    std::int64_t shift = 0;          // repetition * advance
    std::uint32_t goal = 0;          // repetitions it may have run when the round ends
    std::uint32_t resolved = 0;      // repetitions for which its steps are looked up
    std::size_t first_resolved = 0;  // where those begin
    std::uint32_t at_before = 0, repetition_before = 0;  // when the round began
    bool waits = false;                                  // for an arrival
    bool stays = false;  // in the block that it was in when the round began

    [[nodiscard]] bool done() const { return block == end; }
    // In the last round it ran one whole repetition and did not leave the block.
    [[nodiscard]] bool loops() const {
      return stays && at == at_before && repetition == repetition_before + 1;
    }
  };

  // What a step that sends does meanwhile.
  enum class Sends { kAtOnce, kInBackground, kBlocking };

  // `recompute`: every backward recomputes first; sent kAtOnce, what another rank needs is there
  // when it is computed. `program` holds the pipeline's stages and one micro-batch per run;
  // `of_schedule` was made from the schedule, for as many runs.
  RolledReplay(const Schedule& schedule, std::shared_ptr<const ReplaySteps> of_schedule,
               const std::vector<MicroBatchRun>& runs, const Program& program, std::size_t pipeline,
               const PriceTable& prices, bool recompute, Sends sends,
               ReplayBuffers::Contents& buffers);

  // False when the lists wait for each other.
  [[nodiscard]] bool run();
  [[nodiscard]] PipelineTimes times() const;
  // Compute actions of all ranks.
  [[nodiscard]] std::int64_t actions() const;

  // Room for the arrival of a micro-batch; its place.
  std::int64_t make_room(std::size_t row, std::int64_t m);

  // Of micro-batch m.
  [[nodiscard]] std::size_t run_of(std::int64_t m) const {
    std::size_t run = 0;
    while (m >= run_end[run]) ++run;
    return run;
  }
  [[nodiscard]] const Costs& costs_of(std::size_t step, std::int64_t m) const {
    return costs[steps[step].costs + run_of(m)];
  }
  // How many further micro-batches at a distance of `advance` cost what m costs.
  [[nodiscard]] std::int64_t alike_after(std::int64_t m, std::int64_t advance) const;
  // The micro-batch that the rank's step `at` works on next.
  [[nodiscard]] std::int64_t next_of(const Rank& rank, std::uint32_t at) const {
    const std::int64_t ran = at < rank.at ? rank.block->advance : 0;
    return steps[at].micro_batch + rank.shift + ran;
  }
  // Of what step `at` reads, 0 when it reads nothing; negative while it has not arrived.
  [[nodiscard]] std::int64_t arrival(std::uint32_t at, std::int64_t shift) const {
    if (steps[at].read < 0) return 0;
    const auto row = static_cast<std::size_t>(steps[at].read);
    return arrivals.get(row, arrivals.place_of(row, steps[at].micro_batch + shift));
  }
  // Of step `at`, with the other member of an OVERLAP, on a rank that is free from `now` on;
  // negative while it must wait.
  [[nodiscard]] std::int64_t end_of(std::uint32_t at, std::int64_t shift, std::int64_t now) const {
    if (steps[at].pair) return end_of_pair(at, shift, now);
    const std::int64_t read = arrival(at, shift);
    if (read < 0) return read;
    return std::max(now, read) + costs_of(at, steps[at].micro_batch + shift).duration;
  }
  // How long the rank computes for it, and then sends.
  [[nodiscard]] std::int64_t busy_of(std::uint32_t at, std::int64_t shift) const;
  [[nodiscard]] std::int64_t sending_of(std::uint32_t at, std::int64_t shift) const;

  std::shared_ptr<const ReplaySteps> made;
  const std::vector<Step>& steps;     // of `made`
  std::vector<Costs> costs;           // Step::costs, then the other runs
  std::vector<std::int64_t> run_end;  // cumulated
  std::vector<std::int64_t>& ends;    // [step], of its last repetition so far
  std::vector<Rank> ranks;
  Arrivals arrivals;         // one row per boundary
  bool inserts_recompute;    // every backward recomputes first, which its costs hold
  bool jumps = true;         // off: the plain replay, for comparison
  ReplayLog* log = nullptr;  // where to keep when every step ended, if anywhere
  ReplayWork work;

 private:
  bool round();
  void begin_round();
  bool end_round();
  void run_to_goal(std::uint32_t index);
  bool repeat_block(Rank& rank);
  void run_resolved(Rank& rank);
  void run_step_by_step(Rank& rank);
  void note_ends(const Rank& rank, std::uint32_t first);
  void next_repetition(Rank& rank);
  void enter_block(Rank& rank);
  void await(std::uint32_t at, std::int64_t shift);
  void finish(std::uint32_t at, std::int64_t shift, std::int64_t end, std::int64_t sent);
  void wake_reader(std::int32_t boundary);
  [[nodiscard]] std::int64_t end_of_pair(std::uint32_t at, std::int64_t shift,
                                         std::int64_t now) const;
  [[nodiscard]] std::int64_t busy_in(const ScheduleBlock& block) const;

  const Schedule& schedule_;
  RoundHistory& history_;
  std::vector<ResolvedStep>& resolved_;  // rank by rank
  std::vector<std::uint32_t> order_;     // in which ranks run: the one in which they reached their
                                         // goals last time, so that few must wait
  std::vector<std::uint32_t> next_order_;
  std::vector<std::uint32_t> woken_;
};

struct ReplayBuffers::Contents {
  std::shared_ptr<ReplaySteps> steps;
  std::vector<std::int64_t> ends, cells;
  std::vector<std::int64_t> arrivals_by_rule;
  std::vector<ResolvedStep> resolved;
  RoundHistory history;
};

}  // namespace penstock
