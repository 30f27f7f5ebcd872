#include "runtime_bridge/held_state.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "runtime_bridge/checkpoint_manifest.h"

namespace penstock {
namespace {

using Range = std::pair<std::size_t, std::size_t>;
using Tensor = std::tuple<int, StateKind, std::string>;  // section, kind, name

// The ranges of every tensor that a rank has.
void add_ranges(const std::vector<SectionState>& states,
                std::map<Tensor, std::vector<Range>>& ranges) {
  for (const SectionState& state : states) {
    for (const StateKind kind : {StateKind::kParameters, StateKind::kOptimizer}) {
      const auto& pieces = kind == StateKind::kParameters ? state.parameters : state.optimizer;
      for (const StatePiece& piece : pieces) {
        ranges[{state.section, kind, piece.name}].emplace_back(piece.begin, piece.end);
      }
    }
  }
}

// How many elements lie in at least one of them.
std::size_t covered(std::vector<Range> ranges) {
  std::ranges::sort(ranges);
  std::size_t count = 0, next = 0;
  for (const auto& [begin, end] : ranges) {
    const std::size_t from = std::max(begin, next);
    if (end > from) count += end - from;
    next = std::max(next, end);
  }
  return count;
}

std::string words_of(const std::set<int>& ranks) {
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (const int rank : ranks) {
    words += (rank == *ranks.begin() ? "" : ", ") + std::to_string(rank);
  }
  return words;
}

}  // namespace

std::string missing_from(const RankState& state, const std::vector<RankSetup>& holdings,
                         const std::vector<int>& ranks) {
  std::map<Tensor, std::vector<Range>> all, held;
  std::map<int, std::set<int>> lost_holders;  // by section
  for (std::size_t r = 0; r < holdings.size(); ++r) {
    const auto rank = static_cast<int>(r);
    const std::vector<SectionState> pieces = state.pieces_of(holdings[r]);
    add_ranges(pieces, all);
    if (std::ranges::find(ranks, rank) != ranks.end()) {
      add_ranges(pieces, held);
    } else {
      for (const SectionState& piece : pieces) lost_holders[piece.section].insert(rank);
    }
  }
  for (const auto& [tensor, ranges] : all) {
    const auto found = held.find(tensor);
    if (found != held.end() && covered(found->second) == covered(ranges)) continue;
    const auto& [section, kind, name] = tensor;
    return words_of(lost_holders[section]) + " alone held " +
           (kind == StateKind::kParameters ? "" : "the optimizer's part of ") + "'" + name +
           "' of section " + std::to_string(section);
  }
  return "";
}

std::vector<SectionState> shared_among(std::vector<SectionState> states, const RankState& state,
                                       const std::vector<RankSetup>& holdings,
                                       const std::vector<int>& ranks) {
  std::map<int, std::set<int>> holders;  // by section: the numbers of those that are left
  for (const int rank : ranks) {
    for (const SectionState& held : state.pieces_of(holdings[static_cast<std::size_t>(rank)])) {
      holders[held.section].insert(held.holder);
    }
  }
  for (SectionState& own : states) {
    const std::set<int>& left = holders[own.section];
    own.holder = static_cast<int>(std::distance(left.begin(), left.find(own.holder)));
    own.holders = static_cast<int>(left.size());
    own.shard_groups = 1;  // whoever has a shard writes it: of the others nobody may be left
    own.shard_group = 0;
  }
  return states;
}

}  // namespace penstock
