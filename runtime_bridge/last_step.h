// Which finished step the ranks that are left have in common when a peer is lost in the middle of
// one, so that none that was finished need be done again. Pure values; survivors.h brings them
// together, emergency_checkpoint.h writes the state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "training/rank_work.h"

namespace penstock {

inline constexpr std::int64_t kNotMirrored = -1;

// How far one rank is in its step, as far as its weights and optimizer state show it.
struct StepStanding {
  std::int64_t step = 0;  // that is under way, or the last one that ended
  bool reduced = false;   // it has the step's reduced gradients: it has given its share of the norm
  // The sums over all ranks: nobody gets them before everybody has given a share.
  std::optional<NormShare> norm;
  bool norm_first = false;          // updates wait for the norm
  int updates = 0, updated = 0;     // of weights in the step; those done
  bool can_finish = true;           // with the norm and without any other rank: not with ZeRO-1
  bool changed_by_forward = false;  // forwards of the step have changed buffers that are kept
  std::string plan;                 // hash of the plan's state: which rank holds what
  std::int64_t mirrored = kNotMirrored;  // finished steps of its newest copy (mirror.h)
  bool operator==(const StepStanding&) const = default;
};
std::string write_standing(const StepStanding& standing);
// Nothing when it is malformed.
std::optional<StepStanding> read_standing(const std::string& text);

struct LastStep {
  std::int64_t next_step = 0;     // steps [0, next_step) are finished
  std::vector<int> ranks;         // those that have them in common, ascending
  std::optional<NormShare> norm;  // of step next_step - 1, for ranks that have to finish it
  std::string why_not;            // when there is none
  bool mirrored = false;          // the state is that of copies in memory, not the ranks' own
  bool operator==(const LastStep&) const = default;
};
std::string write_last_step(const LastStep& last);
std::optional<LastStep> read_last_step(const std::string& text);

// Of the survivors, by rank; there is at least one.
LastStep last_common_step(const std::map<int, StepStanding>& survivors);

}  // namespace penstock
