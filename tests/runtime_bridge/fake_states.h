// What ranks of a small model hold under any layout: four sections, each with weights "w" (3 x 4)
// and "b" (5) in single precision and a moment of each. The value of every element follows from its
// place in the model, so what was loaded can be judged without knowing who wrote it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "training/section_state.h"

namespace penstock::tests {

struct Layout {
  int stages = 1, replicas = 1;
  bool zero1 = false;
  [[nodiscard]] int ranks() const { return stages * replicas; }
};

inline float value_at(int section, const std::string& name, std::size_t element) {
  return static_cast<float>(section * 1000 + (name[0] == 'w' ? 100 : 200) +
                            (name.size() > 1 ? 500 : 0)) +
         static_cast<float>(element) / 64.0F;
}

class FakeRank {
 public:
  // Rank r is stage r mod P of replica r div P. With `filled` false all elements are -1.
  FakeRank(const Layout& layout, int rank, bool filled) : layout_(layout), filled_(filled) {
    const int stage = rank % layout.stages, holder = rank / layout.stages;
    for (int section = 4 * stage / layout.stages; section < 4 * (stage + 1) / layout.stages;
         ++section) {
      SectionState state;
      state.section = section;
      state.holders = layout.replicas;
      state.holder = holder;
      std::size_t flat = 0;  // where the tensor begins in the section's optimizer state
      for (const Tensor& tensor : {Tensor{"w", {3, 4}, 12}, Tensor{"b", {5}, 5}}) {
        state.parameters.push_back(piece(section, tensor, 0, tensor.elements));
        add_moment(state, tensor, flat);
        flat += tensor.elements;
      }
      states_.push_back(std::move(state));
    }
  }
  FakeRank(const FakeRank&) = delete;
  FakeRank& operator=(const FakeRank&) = delete;

  std::vector<SectionState>& states() { return states_; }

  // How many elements are not what value_at() says.
  [[nodiscard]] int wrong_elements() const {
    int wrong = 0;
    for (const SectionState& state : states_) {
      for (const auto* pieces : {&state.parameters, &state.optimizer}) {
        for (const StatePiece& piece : *pieces) {
          const auto* values = reinterpret_cast<const float*>(piece.buffer.data);
          for (std::size_t i = piece.begin; i < piece.end; ++i) {
            if (values[i - piece.begin] != value_at(state.section, piece.name, i)) ++wrong;
          }
        }
      }
    }
    return wrong;
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::size_t elements;
  };

  // With ZeRO-1 the 17 elements of a section are divided evenly, also through tensors.
  void add_moment(SectionState& state, const Tensor& tensor, std::size_t flat) {
    Tensor moment = tensor;
    moment.name += ".exp_avg";
    std::size_t begin = 0, end = tensor.elements;
    if (layout_.zero1) {
      const auto holders = static_cast<std::size_t>(state.holders);
      const auto holder = static_cast<std::size_t>(state.holder);
      const std::size_t own_begin = 17 * holder / holders, own_end = 17 * (holder + 1) / holders;
      begin = own_begin > flat ? std::min(own_begin - flat, tensor.elements) : 0;
      end = own_end > flat ? std::min(own_end - flat, tensor.elements) : 0;
    }
    if (begin == end) return;
    state.optimizer.push_back(piece(state.section, moment, begin, end));
    state.optimizer.back().only_here = layout_.zero1;
  }

  StatePiece piece(int section, const Tensor& tensor, std::size_t begin, std::size_t end) {
    std::vector<float>& values = memory_.emplace_back();
    for (std::size_t i = begin; i < end; ++i) {
      values.push_back(filled_ ? value_at(section, tensor.name, i) : -1.0F);
    }
    StatePiece piece;
    piece.name = tensor.name;
    piece.shape = tensor.shape;
    piece.begin = begin;
    piece.end = end;
    piece.buffer.data = reinterpret_cast<std::byte*>(values.data());
    piece.buffer.elements = values.size();
    piece.buffer.type = ElementType::kFloat32;
    return piece;
  }

  Layout layout_;
  bool filled_;
  std::deque<std::vector<float>> memory_;
  std::vector<SectionState> states_;
};

}  // namespace penstock::tests
