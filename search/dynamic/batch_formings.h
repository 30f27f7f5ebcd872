// All ways to form the micro-batches of a batch that the planner weighs: one exact split for every
// recompute mode and every rung of a ladder of memory limits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "search/dynamic/form_micro_batches.h"
#include "search/dynamic/list_replay.h"
#include "search/dynamic/plan_batch.h"
#include "search/dynamic/shape_table.h"

namespace penstock {

// A recompute mode with all that was priced for it.
struct BatchMode {
  BatchMode(const BatchQuestion& question, const RecomputeChoice& choice);

  const RecomputeChoice& choice;
  ShapeTable shapes;
  bool recomputes = false;
  // What one micro-batch of the sample that is hardest to hold needs; rungs begin there.
  std::int64_t least_need = 0;
  std::string why_not;  // a sample that fits nowhere
};

// Limits of memory, ascending, up to the mode's: the first is what the hardest sample needs alone,
// and of the room that it takes beyond what a rank keeps each has 2^(1 / per_octave) times as much
// as the one before. They do not depend on how much memory there is, so that more of it only adds
// rungs.
std::vector<std::int64_t> rungs_of(const BatchMode& mode, int per_octave);

struct Forming {
  // Whichever comes first in this order is preferred among equals; more memory only adds entries.
  std::tuple<std::size_t, std::size_t, std::size_t> key;  // rung, mode, held at once
  std::size_t origin = 0;  // 0: the question's method; else its rival with this number, from 1 on
  BatchMode* mode = nullptr;
  std::int64_t rung = 0;  // the limit that it was formed for
  FormedBatch formed;
};

struct Formings {
  std::vector<std::unique_ptr<BatchMode>> modes;
  std::vector<Forming> list;  // no two of a mode and an origin alike
  std::string why_not;        // the list is empty
  std::int64_t splits = 0, evaluations = 0;
};

Formings form_batch(const BatchQuestion& question, const LengthBatch& batch);

}  // namespace penstock
