#include "tests/runtime_bridge/ring_state.h"

#include <algorithm>
#include <cstring>

#include "tests/runtime_bridge/ring_arithmetic.h"

namespace penstock::testing {
namespace {

constexpr std::int64_t kNothing = -777'777'777;

Numbers first_numbers(const RingModel& model, int section, const std::string& name) {
  const RingWeights first = first_weights(model);
  for (std::size_t t = 0; t < model.ties.size(); ++t) {
    if (model.ties[t].name == name) return {first.ties[t]};
  }
  return first.sections[static_cast<std::size_t>(section)];
}

StatePiece piece_of(const std::string& name, std::size_t elements, Numbers* memory) {
  StatePiece piece;
  piece.name = name;
  piece.shape = {static_cast<std::int64_t>(elements)};
  piece.end = elements;
  piece.buffer = {memory == nullptr ? nullptr : reinterpret_cast<std::byte*>(memory->data()),
                  elements, ElementType::kInt64};
  return piece;
}

}  // namespace

bool RingState::shares(int section, std::size_t tie) const {
  const std::vector<int>& sections = model_.ties[tie].sections;
  return std::find(sections.begin(), sections.end(), section) != sections.end();
}

std::vector<SectionState> RingState::pieces_of(const RankSetup& setup) const {
  std::vector<SectionState> states;
  for (const StageSetup& stage : setup.stages) {
    for (int s = stage.first_section; s < stage.end_section; ++s) {
      SectionState state{s, stage.holders, stage.holder, 1, 0, {}, {}};
      state.parameters.push_back(piece_of(kOwn, weights_of_section(s), nullptr));
      for (std::size_t t = 0; t < model_.ties.size(); ++t) {
        if (shares(s, t)) state.parameters.push_back(piece_of(model_.ties[t].name, 1, nullptr));
      }
      states.push_back(std::move(state));
    }
  }
  return states;
}

void RingState::lay_out(const RankSetup& setup) {
  before_ = std::exchange(memory_, {});
  setup_ = setup;
  for (const SectionState& state : pieces_of(setup)) {
    for (const StatePiece& piece : state.parameters) {
      std::shared_ptr<Numbers>& numbers = memory_[{state.section, piece.name}];
      const auto held = before_.find({state.section, piece.name});
      if (held != before_.end()) {
        numbers = held->second;
      } else {
        numbers = std::make_shared<Numbers>(is_laid_out_
                                                ? Numbers(piece.end, kNothing)
                                                : first_numbers(model_, state.section, piece.name));
      }
    }
  }
  is_laid_out_ = true;
}

void RingState::copy(const Buffer& from, const Buffer& to) {
  std::memcpy(to.data, from.data, from.bytes());
}

std::vector<SectionState> RingState::section_states() {
  std::vector<SectionState> states = pieces_of(setup_);
  for (SectionState& state : states) {
    for (StatePiece& piece : state.parameters) {
      piece.buffer.data = reinterpret_cast<std::byte*>(numbers(state.section, piece.name).data());
    }
  }
  return states;
}

RingWeights RingState::weights() const {
  RingWeights weights = first_weights(model_);
  for (Numbers& section : weights.sections) std::fill(section.begin(), section.end(), 0);
  for (const auto& [key, numbers] : memory_) {
    if (key.second == kOwn) weights.sections[static_cast<std::size_t>(key.first)] = *numbers;
    for (std::size_t t = 0; t < model_.ties.size(); ++t) {
      if (model_.ties[t].name == key.second) weights.ties[t] = numbers->front();
    }
  }
  return weights;
}

}  // namespace penstock::testing
