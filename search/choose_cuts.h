// Where a plan is cut: exact for one stage per rank, by a labelled heuristic for several.
#pragma once

#include <optional>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/plan.h"
#include "search/memory.h"
#include "search/section_sums.h"

namespace penstock {

// The same number of sections per stage (the first stages one more when it does not divide).
std::vector<int> equal_cuts(int sections, int stages);

// All cuts of so many sections, one after the other: each stage but the last has one section at
// first; then the next in lexicographic order. False behind the last.
std::vector<int> first_cuts(int sections, int stages);
bool next_cuts(std::vector<int>& cuts);

// The best cuts when memory is no object: into so many stages of one speed, or for the stages of a
// plan, each at the speed of its rank.
std::optional<std::vector<int>> balanced_cuts(const SectionSums& sums, int stages,
                                              BackwardKind backward);
std::optional<std::vector<int>> balanced_cuts(const RankSums& sums, const Plan& plan,
                                              BackwardKind backward);

struct Cuts {
  std::vector<int> cuts;             // empty when no partition fits
  std::optional<Rejection> why_not;  // which stage of the balanced cuts is over, by how much
  Bytes fullest;                     // of the fullest rank, by full-size micro-batches
  bool none_is_proven = true;        // where there are none: that no others fit
  std::vector<Bytes> as_balanced{};  // of every rank under the balanced cuts, if one is over
};
// V = 1: the exact optimum under each stage's own memory. V > 1: the balanced cuts, or, where they
// do not fit but would on average, the best ones in which every chunk keeps to its share of the
// device (heuristic).
// `only_balanced`: it is known that other cuts do not fit either.
Cuts choose_cuts(const RankSums& sums, const StageMemory& memory, const Plan& plan,
                 BackwardKind backward, const std::vector<int>& balanced,
                 bool only_balanced = false);

// What every rank holds under these cuts.
std::vector<Bytes> totals_of(const StageMemory& memory, const Plan& plan,
                             const std::vector<int>& cuts);

// A reason that speaks only of the cuts that were tried.
Rejection not_proven(Rejection reason);

// The rank that is over its capacity by most, counted by its role, in a mixed plan with its device
// type; nothing when all fit.
std::optional<Rejection> over_memory(const std::vector<Bytes>& totals, const Plan& plan,
                                     const PerRank<Bytes>& capacity);

// "stage 0", "the last stage", "a middle stage", "the only stage" (or "rank"): reasons are counted
// by role.
std::string role(const std::string& noun, int index, int count);

}  // namespace penstock
