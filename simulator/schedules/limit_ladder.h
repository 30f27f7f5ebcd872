// Memory limits that an automatic schedule tries: rungs of whole or half or quarter activations.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/schedules/stage_costs.h"

namespace penstock {

// How a rung becomes a limit per rank.
enum class RungShape {
  kEven,     // as much everywhere
  kTapered,  // one activation less from every second rank on: the end has less in flight
};

// A rung is a number of parts of an activation, the same for all ranks; a rank that holds less than
// the rung has its own limit, rounded down to whole parts. Where the ranks admit the same number of
// parts, what is tried does not depend on the limits beyond how far the ladder goes: so raising
// them only adds rungs, and never makes a schedule longer. Where they do not, short pipelines also
// try the rungs of all limits that are lower by as many bytes on every rank: then as many bytes
// more on every rank, as a device type with more memory has, only add to what is tried.
class LimitLadder {
 public:
  // Per rank an activation is the largest of its chunks; every limit must hold one of each.
  LimitLadder(const StageCosts& costs, int chunks, int micro_batches);

  // Parts of an activation: 4 on short pipelines, where a fraction of an activation matters and a
  // run takes little; 1 on long ones, and of a chunk's.
  [[nodiscard]] int parts() const { return parts_; }
  [[nodiscard]] std::int64_t lowest() const { return lowest_; }
  [[nodiscard]] std::int64_t highest() const { return highest_; }
  // Whether other shapes than the even one are worth their time too.
  [[nodiscard]] bool tries_tapered() const { return parts_ == 4; }
  // Whether the rungs of lower limits are worth their time too.
  [[nodiscard]] bool tries_lowered() const;
  // Takes as many bytes from all limits as make some rank admit a part less. False when a rank
  // would no longer hold one activation of each chunk.
  bool lower();
  // The most parts that a rank admits now.
  [[nodiscard]] std::int64_t highest_now() const;
  // Whether the limit of some rank is less than the rung asks for; if not, it is the same rung for
  // all limits.
  [[nodiscard]] bool is_limited(std::int64_t rung, RungShape shape) const;
  // One limit per rank.
  void set_limits(std::int64_t rung, RungShape shape, std::vector<std::int64_t>& limits) const;

 private:
  [[nodiscard]] std::int64_t asked_of(std::size_t rank, std::int64_t rung, RungShape shape) const;
  [[nodiscard]] std::int64_t parts_in(std::size_t rank) const;

  int parts_;
  std::int64_t most_parts_;  // all activations of the step
  std::int64_t lowest_, highest_;
  std::vector<std::int64_t> taken_;  // per rank, by one activation
  std::vector<std::int64_t> least_;  // per rank, by one activation of each chunk
  std::vector<std::int64_t> limit_;  // per rank
  std::vector<std::int64_t> held_;   // per rank, parts that its limit admits
};

}  // namespace penstock
