// What a rank holds of the model and of its optimizer, by section: the same names and shapes for
// every layout (P, V, D, ZeRO-1), so that a checkpoint written by one is read by any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "training/buffer.h"

namespace penstock {

// Elements [begin, end) of a tensor as it lies flat, row by row. Whole where begin is 0 and end its
// number of elements; with ZeRO-1 a holder has a part of each moment.
struct StatePiece {
  std::string name;                 // within the section: "attention.weight", its moments
                                    // "attention.weight.exp_avg"
  std::vector<std::int64_t> shape;  // of the whole tensor; empty: one number
  std::size_t begin = 0, end = 0;
  Buffer buffer;           // end - begin elements, of the type that is to be stored
  bool only_here = false;  // the other holders of this group of shards do not have these elements
};

struct SectionState {
  int section = 0;
  // Which of the holders of these weights this one is (StageSetup): what all hold is written once.
  int holders = 1, holder = 0;
  // What is `only_here` is so in each of these groups of holders, and this one is in that.
  int shard_groups = 1, shard_group = 0;
  std::vector<StatePiece> parameters;
  std::vector<StatePiece> optimizer;  // moments, fp32 master weights
};

class StateHolder {
 public:
  virtual ~StateHolder() = default;
  // Of all sections of the rank, ascending. Weights that sections share are listed with each of
  // them. The buffers stay valid and unchanged until the next call of the RankWork.
  virtual std::vector<SectionState> section_states() = 0;
  // What is the same on every rank: steps that the optimizer took, loss scale.
  virtual std::vector<std::pair<std::string, double>> shared_numbers() = 0;
  // After the buffers of section_states() have been filled from a checkpoint.
  virtual void state_was_loaded(const std::vector<std::pair<std::string, double>>& shared) = 0;
};

}  // namespace penstock
