// What a pipeline holds takes time: a micro-batch's activations lie on its ranks from each forward
// to its backward, and all ranks together have only so much room. So memory bounds the step, no
// matter how the sections are cut and in what order ranks work.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/units.h"
#include "search/section_sums.h"

namespace penstock {

struct StashRoom {
  std::int64_t micro_batches = 0;  // of full size, of one replica
  int ranks = 0;
  Bytes each;  // for activations, on the mean rank
};

// Every section keeps its stash, and every backward waits for its recompute.
Duration stash_bound(const SectionSums& sums, BackwardKind backward, const StashRoom& room);

// Every section keeps the smaller stash of two modes for the shorter of their times, recomputes not
// counted: it holds whichever stages use which.
Duration stash_bound_of_either(const SectionSums& a, const SectionSums& b, BackwardKind backward,
                               const StashRoom& room);

// For any room: every section may hold what `kept` says, or what `recomputed` does for the time
// that this takes more; of the choices the fastest counts, parts of sections included. It bounds
// the mean work of a rank and what all ranks hold, together.
class StashCurve {
 public:
  StashCurve(const SectionSums& kept, const SectionSums& recomputed, BackwardKind backward);
  [[nodiscard]] Duration least(const StashRoom& room) const;

 private:
  struct Piece {
    double taken = 0.0;  // ns, where nothing may be held
    double slope = 0.0;  // ns that a byte-nanosecond spares
  };
  double work_ = 0.0;  // ns, where all may be held
  double left_ = 0.0;  // byte-nanoseconds, where all recompute
  std::vector<Piece> pieces_;
};

}  // namespace penstock
