// The points at which a section was measured or ran out of memory, and what follows for the shapes
// between them. A shape lies in a cell of the grid (micro-batch size, length, decoder length):
//
// - its least corner ran out of memory: so would the shape;
// - a corner was neither measured nor ran out of memory: not measured;
// - else it has a price, also where another corner ran out of memory, because whether it fits there
//   is for the memory of a plan to say.
//
// Below the grid the nearest point holds: a shape is clamped before it is looked up.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/values/batch.h"
#include "core/values/profile.h"
#include "costmodel/price_stages.h"

namespace penstock {

class ShapeNodes {
 public:
  ShapeNodes(const SectionType& type, const std::string& device, int tensor_degree,
             const std::string& recompute);

  // No size and no length below the least that was tried.
  [[nodiscard]] MicroBatchShape clamped(MicroBatchShape shape) const;
  // Of a clamped shape.
  [[nodiscard]] ShapeStatus status_of(const MicroBatchShape& shape) const;

 private:
  enum class Node { kMeasured, kOutOfMemory, kUntried };
  struct Row {
    std::vector<int> sizes;  // measured, ascending
    int out_of_memory = 0;   // the least such size above all measured ones; 0: none
  };
  using Plane = std::map<int, Row>;  // by length

  static Node below(const Row& row, int size);
  static Node above(const Row& row, int size);
  [[nodiscard]] int decoder_of(const MicroBatchShape& shape) const;

  std::map<int, Plane> planes_;  // by decoder length
};

}  // namespace penstock
