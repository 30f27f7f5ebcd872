// One run of the ZB-V heuristic (sail-sg/zero-bubble-pipeline-parallelism, zbv.py; rules in
// docs/schedules.md): lists of F, I and W for two stages per rank on the V, rank r holding stages r
// and 2P - 1 - r. The pattern counts on equal stages.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/schedules/split_lists.h"

namespace penstock {

// Of one chunk.
struct EqualCosts {
  Duration forward, input_gradient, weight_gradient, transfer;
  std::int64_t taken, freed_by_input, freed_by_weight;
};

struct ZbVVariant {
  bool fill_before_inputs;    // a W in every long gap before an I of chunk 1
  bool fill_before_forwards;  // ... before a forward of the steady state
};

class ZbVHeuristic {
 public:
  ZbVHeuristic(const EqualCosts& costs, int ranks, int micro_batches);

  // The most that a rank idles after its first forward; nothing when the pattern does not come out
  // within the limit, or idles more than `most_idle` before later passes could make it better.
  std::optional<Duration> run(const ZbVVariant& variant, std::int64_t limit,
                              Duration most_idle = Duration::max());

  // Of the last run that returned something.
  [[nodiscard]] const SplitLists& lists() const { return best_; }
  // Least limit with which the last run would have gone the same.
  [[nodiscard]] std::int64_t least_limit() const { return most_admitted_; }

 private:
  // F0 and I0 of stage r, F1 and I1 of stage 2P - 1 - r. F0 and I1 travel from rank 0 to P - 1, F1
  // and I0 back.
  enum Op : std::uint8_t { F0, F1, I0, I1 };

  struct Rank {
    Duration clock{0};
    Duration idle{0};         // after the first forward
    Duration idle_before{0};  // in the pass before
    std::int64_t memory = 0;
    std::array<int, 4> done{};         // by Op
    std::vector<std::uint8_t> inputs;  // chunks of the I so far, in order: W follow in the same
    std::size_t weights = 0;
    SplitStep* next = nullptr;  // in the rank's list
    Op input_now = I1;

    [[nodiscard]] int forwards() const { return done[F0] + done[F1]; }
    [[nodiscard]] bool pending() const { return weights < inputs.size(); }
  };

  Duration pass();
  void reset();
  void warm_up(int r);
  void level(int r);
  void round();
  [[nodiscard]] Op next_input(int r) const;
  [[nodiscard]] std::optional<Op> next_forward(int r) const;

  [[nodiscard]] Rank& at(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] const Rank& at(int r) const { return ranks_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] int sender(Op op, int r) const;  // -1: none
  [[nodiscard]] bool arrives(Op op, int r) const;
  [[nodiscard]] bool can_run(Op op, int r) const;
  [[nodiscard]] Duration arrival(Op op, int r) const;
  [[nodiscard]] bool admits(std::int64_t memory);
  void make_room(Rank& rank);
  void fill(Op op, int r, bool partial);
  void put(Op op, int r);
  void put_weight(Rank& rank);
  [[nodiscard]] std::size_t index(Op op, int r, int micro_batch) const;

  EqualCosts costs_;
  int last_, micro_batches_;  // last rank
  std::vector<Rank> ranks_;
  std::vector<Duration> ends_;  // by Op, rank and micro-batch
  SplitLists lists_, best_;

  ZbVVariant variant_{};
  std::int64_t limit_ = 0, most_admitted_ = 0;
  Duration most_idle_{0}, most_idle_before_{0}, bearable_{0};
  bool failed_ = false;
};

}  // namespace penstock
