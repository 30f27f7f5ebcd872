// Every rank that holds a section under the new plan needs all elements of its pieces
// (RankState::pieces_of). Each range is covered greedily from the front: by what the rank itself
// held before, else by the next of the old holders that has its first element. With ZeRO-1 the old
// holders have parts of the optimizer state that overlap nowhere, so whatever the two divisions
// are, the ranges found are their common refinement. Which holder is asked first rotates with the
// receiver's place among the section's new holders, so that replicas that appear do not all draw on
// one. Both sides of a move compute it from the same values; its place among the moves between the
// two ranks is its message's tag.
#include "runtime_bridge/state_moves.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/values/error.h"

namespace penstock {
namespace {

// The sections of a job's ranks under one plan.
class Holdings {
 public:
  Holdings(const RankState& state, const std::vector<RankSetup>& setups)
      : state_(state), setups_(setups) {
    for (std::size_t rank = 0; rank < setups.size(); ++rank) {
      for (const StageSetup& stage : setups[rank].stages) {
        for (int s = stage.first_section; s < stage.end_section; ++s) {
          holders_[s].push_back(static_cast<int>(rank));
        }
      }
    }
  }

  // Ascending.
  [[nodiscard]] const std::vector<int>& holders(int section) const {
    static const std::vector<int> kNobody;
    const auto found = holders_.find(section);
    return found == holders_.end() ? kNobody : found->second;
  }
  [[nodiscard]] bool holds(int rank, int section) const {
    return std::ranges::binary_search(holders(section), rank);
  }
  [[nodiscard]] std::vector<int> sections_of(int rank) const {
    std::vector<int> sections;
    if (static_cast<std::size_t>(rank) >= setups_.size()) return sections;
    for (const StageSetup& stage : setups_[static_cast<std::size_t>(rank)].stages) {
      for (int s = stage.first_section; s < stage.end_section; ++s) sections.push_back(s);
    }
    std::ranges::sort(sections);
    return sections;
  }
  [[nodiscard]] const SectionState& pieces(int rank, int section) {
    auto [found, is_new] = pieces_.try_emplace(rank);
    if (is_new) {
      for (SectionState& state : state_.pieces_of(setups_[static_cast<std::size_t>(rank)])) {
        const int s = state.section;
        found->second.emplace(s, std::move(state));
      }
    }
    return found->second.at(section);
  }

 private:
  const RankState& state_;
  const std::vector<RankSetup>& setups_;
  std::map<int, std::vector<int>> holders_;            // by section
  std::map<int, std::map<int, SectionState>> pieces_;  // by rank and section
};

const std::vector<StatePiece>& of_kind(const SectionState& state, StateKind kind) {
  return kind == StateKind::kParameters ? state.parameters : state.optimizer;
}

class MoveFinder {
 public:
  MoveFinder(const RankState& state, const std::vector<RankSetup>& before,
             const std::vector<RankSetup>& after, int rank)
      : before_(state, before), after_(state, after), rank_(rank) {}

  std::vector<StateMove> find() {
    for (const int s : after_.sections_of(rank_)) supply(rank_, s);
    for (const int s : before_.sections_of(rank_)) {
      for (const int receiver : after_.holders(s)) {
        if (receiver != rank_) supply(receiver, s);
      }
    }
    std::ranges::stable_sort(moves_, {},
                             [](const StateMove& move) { return std::pair(move.from, move.to); });
    return std::move(moves_);
  }

 private:
  // The old holders of a section in the order in which a receiver asks them.
  [[nodiscard]] std::vector<int> sources(int receiver, int section) const {
    std::vector<int> ranks = before_.holders(section);
    if (ranks.empty()) return ranks;
    const std::vector<int>& receivers = after_.holders(section);
    const auto place = std::ranges::find(receivers, receiver) - receivers.begin();
    std::rotate(ranks.begin(), ranks.begin() + place % static_cast<std::ptrdiff_t>(ranks.size()),
                ranks.end());
    if (before_.holds(receiver, section)) {
      std::stable_partition(ranks.begin(), ranks.end(),
                            [receiver](int rank) { return rank == receiver; });
    }
    return ranks;
  }

  void supply(int receiver, int section) {
    const std::vector<int> from = sources(receiver, section);
    const SectionState& wanted = after_.pieces(receiver, section);
    for (const StateKind kind : {StateKind::kParameters, StateKind::kOptimizer}) {
      for (const StatePiece& piece : of_kind(wanted, kind)) {
        StateMove move{0, receiver, section, kind, piece.name, piece.begin, piece.begin};
        while (move.begin < piece.end) {
          if (!find_source(from, piece.end, move)) fail(move, piece.end);
          if (move.from == rank_ || receiver == rank_) moves_.push_back(move);
          move.begin = move.end;
        }
      }
    }
  }

  // Who has the element at move.begin, and how far from there.
  bool find_source(const std::vector<int>& from, std::size_t end, StateMove& move) {
    for (const int source : from) {
      for (const StatePiece& held : of_kind(before_.pieces(source, move.section), move.kind)) {
        if (held.begin > move.begin || held.end <= move.begin || held.name != move.name) continue;
        move.from = source;
        move.end = std::min(held.end, end);
        return true;
      }
    }
    return false;
  }

  [[noreturn]] static void fail(const StateMove& move, std::size_t end) {
    throw Error(ErrorKind::kMissingResource,
                "rank " + std::to_string(move.to) + " needs elements " +
                    std::to_string(move.begin) + " to " + std::to_string(end) + " of '" +
                    move.name + "' of section " + std::to_string(move.section) +
                    " for the next plan, and no rank holds them\nhelp: continue from a checkpoint "
                    "(--resume)");
  }

  Holdings before_, after_;
  int rank_;
  std::vector<StateMove> moves_;
};

}  // namespace

std::vector<StateMove> state_moves(const RankState& state, const std::vector<RankSetup>& before,
                                   const std::vector<RankSetup>& after, int rank) {
  return MoveFinder(state, before, after, rank).find();
}

}  // namespace penstock
