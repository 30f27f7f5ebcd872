#include "runtime_bridge/state_moves.h"

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/watched.h"
#include "training/section_pieces.h"

namespace penstock {
namespace {

// Laid out as real ranks are, without memory.
class Layout : public RankState {
 public:
  explicit Layout(int sections) {
    for (int s = 0; s < sections; ++s) {
      SectionOutline section;
      section.name = section.type = "s" + std::to_string(s);
      section.parameters = {{"weight", {10 + s, 30}}, {"bias", {17}}};
      if (s == 0 || s + 1 == sections) section.parameters.push_back({"tied", {11, 9}});
      outline_.sections.push_back(section);
    }
    outline_.ties = {{"ends", {0, sections - 1}, {2, 2}}};
  }
  std::vector<SectionState> pieces_of(const RankSetup& setup) const override {
    const KeptPerWeight kept{ElementType::kFloat32, ElementType::kFloat32, {"m", "v"}};
    std::vector<SectionState> all;
    for (const StageSetup& stage : setup.stages) {
      for (SectionState& state : section_pieces(
               outline_, stage, stage_layout(outline_, setup, stage, 200), kept, no_memory(kept))) {
        all.push_back(std::move(state));
      }
    }
    return all;
  }
  void lay_out(const RankSetup&) override {}
  void copy(const Buffer&, const Buffer&) override {}
  void let_go() override {}
  std::vector<SectionState> section_states() override { return {}; }
  std::vector<std::pair<std::string, double>> shared_numbers() override { return {}; }
  void state_was_loaded(const std::vector<std::pair<std::string, double>>&) override {}

 private:
  ModelOutline outline_;
};

using Cuts = std::vector<int>;  // of the pipeline's stages, 0 and the number of sections included

// Ranks replica * P + p.
std::vector<RankSetup> ranks_of(const Cuts& cuts, int replicas, bool zero1) {
  const int stages = static_cast<int>(cuts.size()) - 1;
  std::vector<RankSetup> ranks;
  for (int d = 0; d < replicas; ++d) {
    for (int p = 0; p < stages; ++p) {
      RankSetup setup;
      setup.rank = static_cast<int>(ranks.size());
      setup.ranks = stages * replicas;
      setup.replica = d;
      setup.zero1 = zero1;
      StageSetup stage;
      stage.stage = p;
      stage.first_section = cuts[static_cast<std::size_t>(p)];
      stage.end_section = cuts[static_cast<std::size_t>(p) + 1];
      stage.holders = replicas;
      stage.holder = d;
      setup.stages = {stage};
      if (stages > 1) setup.ties = {{"ends", {0, stages - 1}}};
      ranks.push_back(setup);
    }
  }
  return ranks;
}

using Element = std::tuple<int, StateKind, std::string, std::size_t>;
// Every element that a rank holds.
std::map<Element, int> elements_of(const Layout& layout, const RankSetup& setup) {
  std::map<Element, int> elements;
  for (const SectionState& state : layout.pieces_of(setup)) {
    for (const StateKind kind : {StateKind::kParameters, StateKind::kOptimizer}) {
      for (const StatePiece& piece :
           kind == StateKind::kParameters ? state.parameters : state.optimizer) {
        for (std::size_t i = piece.begin; i < piece.end; ++i) {
          ++elements[{state.section, kind, piece.name, i}];
        }
      }
    }
  }
  return elements;
}

// Every element a rank needs comes to it exactly once, from a rank that held it: from itself if it
// did. Sender and receiver list the same messages.
void check_moves(const Layout& layout, const std::vector<RankSetup>& before,
                 const std::vector<RankSetup>& after) {
  std::vector<std::map<Element, int>> held;
  for (const RankSetup& setup : before) held.push_back(elements_of(layout, setup));
  std::map<std::pair<int, int>, std::vector<StateMove>> sent, received;
  int from_nowhere = 0, needless = 0;
  for (const RankSetup& setup : after) {
    std::map<Element, int> got;
    for (const StateMove& move : state_moves(layout, before, after, setup.rank)) {
      if (move.from == setup.rank) sent[{move.from, move.to}].push_back(move);
      if (move.to != setup.rank) continue;
      received[{move.from, move.to}].push_back(move);
      for (std::size_t i = move.begin; i < move.end; ++i) {
        const Element element{move.section, move.kind, move.name, i};
        ++got[element];
        if (held[static_cast<std::size_t>(move.from)].count(element) == 0) ++from_nowhere;
        const auto own = static_cast<std::size_t>(setup.rank);
        const bool is_own = own < held.size() && held[own].count(element) == 1;
        if (is_own && move.from != setup.rank) ++needless;
      }
    }
    CHECK(got == elements_of(layout, setup));
  }
  CHECK(sent == received);
  CHECK(from_nowhere == 0);
  CHECK(needless == 0);
}

TEST_CASE("every rank gets what it needs, once, from a rank that had it") {
  std::mt19937 random(1);
  const auto below = [&random](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  const Layout layout(4);
  for (int i = 0; i < testing::draws(60); ++i) {
    const auto any = [&] {
      // 4 ranks: P = 1, 2 or 4.
      const int stages = 1 << below(3);
      Cuts cuts{0, 4};
      if (stages == 2) cuts = {0, 1 + below(3), 4};
      if (stages == 4) cuts = {0, 1, 2, 3, 4};
      return ranks_of(cuts, 4 / stages, below(2) == 0);
    };
    CAPTURE(i);
    check_moves(layout, any(), any());
  }
}

TEST_CASE("ranks that appear are given all, and take it in turn from those that have it") {
  const Layout layout(4);
  const auto two = ranks_of({0, 4}, 2, false), four = ranks_of({0, 4}, 4, false);
  check_moves(layout, two, four);
  check_moves(layout, ranks_of({0, 4}, 2, true), ranks_of({0, 4}, 4, true));
  check_moves(layout, four, two);  // and ranks that leave
  const auto source = [&](int rank) { return state_moves(layout, two, four, rank).front().from; };
  CHECK(source(0) == 0);
  CHECK(source(1) == 1);
  CHECK(source(2) == 0);
  CHECK(source(3) == 1);
}

TEST_CASE("what nobody holds any more is named") {
  const Layout layout(4);
  std::vector<RankSetup> survivors = ranks_of({0, 2, 4}, 1, false);
  survivors[1].stages.clear();
  CHECK_THROWS_WITH_AS((void)state_moves(layout, survivors, ranks_of({0, 4}, 1, false), 0),
                       "rank 0 needs elements 0 to 360 of 'weight' of section 2 for the next plan, "
                       "and no rank holds them\nhelp: continue from a checkpoint (--resume)",
                       Error);
}

}  // namespace
}  // namespace penstock
