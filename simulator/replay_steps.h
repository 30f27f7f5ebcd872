// The compute actions of one pipeline's rolled lists as a replay runs them: what follows from the
// schedule alone. Who replays one schedule with many prices makes them once.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/values/program.h"
#include "core/values/schedule.h"

namespace penstock {

struct ReplaySteps {
  // An action of a block. Boundary 2s brings the activation to stage s, 2s + 1 the gradient.
  struct Step {
    std::int32_t read = -1, write = -1;  // boundaries; -1: none
    std::uint32_t micro_batch = 0;       // of the block's first repetition
    std::uint32_t costs = 0;             // of the first run
    bool pair = false;                   // OVERLAP: the next step is its second member
  };
  // What takes as long whatever the micro-batch.
  struct Kind {
    ActionKind kind = ActionKind::kForward;
    StageId stage;
    bool second_of_pair = false;
    bool sends = false;  // to another rank
  };
  // The steps of one block that write one boundary, by their micro-batch modulo the advance.
  struct Writer {
    std::int64_t key = 0;
    std::uint32_t step = 0;
    auto operator<=>(const Writer&) const = default;
  };
  struct Writers {
    std::uint32_t block = 0;
    std::vector<Writer> steps;
  };

  // For so many runs of equal micro-batches.
  void make(const Schedule& schedule, std::size_t runs);
  // What only those need who ask what a step waited for.
  void note_writers(const Schedule& schedule);
  // What the micro-batches of one step have in common over the repetitions of its block.
  static std::int64_t key_of(const ScheduleBlock& block, std::int64_t micro_batch);

  std::vector<Step> steps;                    // one per action of the schedule
  std::vector<Kind> kinds;                    // n costs what Step::costs = n times the runs says
  std::vector<bool> sent_downwards;           // [boundary]: the last micro-batch goes first
  bool recomputes = false;                    // the lists have recomputes of their own
  std::vector<std::vector<Writers>> writers;  // [boundary]
};

}  // namespace penstock
