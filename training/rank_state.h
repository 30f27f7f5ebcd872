// What a rank keeps from one step to the next, whatever plan the next step runs under: weights and
// optimizer state, by section. A RankWork (rank_work.h) is what one plan asks of the rank; it works
// on the state of its sections and keeps nothing itself, so plans may change between any two steps.
//
// Random numbers need no state: they follow from seed, step and sample (StagePass).
#pragma once

#include <vector>

#include "training/rank_setup.h"
#include "training/section_state.h"

namespace penstock {

class RankState : public StateHolder {
 public:
  // What a rank of this setup holds, without memory (Buffer::data is null). Pure: asked about other
  // ranks and other plans too. Looks at stages, ties and ZeRO-1 of the setup only.
  [[nodiscard]] virtual std::vector<SectionState> pieces_of(const RankSetup& setup) const = 0;

  // Whether forwards change what is kept (running means of a batch norm), so that in the middle of
  // a step the state is not that of a finished one, even where no weight has been updated.
  [[nodiscard]] virtual bool changes_in_forward() const { return false; }

  // From now on the rank holds what `setup` says. What is laid out as before stays where it is; the
  // rest is new memory: with initial values the first time, later without any, to be filled by
  // rebind(). Buffers that section_states() gave before stay valid until let_go(). No RankWork of
  // an earlier setup may be used any more. Error{kBadInput} when it cannot be trained like this.
  virtual void lay_out(const RankSetup& setup) = 0;
  // Of as many bytes, between buffers of this state.
  virtual void copy(const Buffer& from, const Buffer& to) = 0;
  // Frees what was held before the last lay_out() and is not held now.
  virtual void let_go() = 0;
};

}  // namespace penstock
