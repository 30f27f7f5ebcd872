// The RankState of a RingModel: weights by section, exact, as long as a run goes on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime_bridge/ring_model.h"
#include "training/rank_state.h"

namespace penstock::testing {

class RingState : public RankState {
 public:
  explicit RingState(const RingModel& model) : model_(model) {}

  std::vector<SectionState> pieces_of(const RankSetup& setup) const override;
  // New memory is full of a number that no run has, but for the first.
  void lay_out(const RankSetup& setup) override;
  void copy(const Buffer& from, const Buffer& to) override;
  void let_go() override { before_.clear(); }
  std::vector<SectionState> section_states() override;
  std::vector<std::pair<std::string, double>> shared_numbers() override { return {}; }
  void state_was_loaded(const std::vector<std::pair<std::string, double>>&) override {}

  // Of what the rank holds; 0 elsewhere.
  [[nodiscard]] RingWeights weights() const;
  void set_section(int section, const Numbers& weights) { numbers(section, kOwn) = weights; }
  void set_tie(int section, std::size_t tie, std::int64_t weight) {
    numbers(section, model_.ties[tie].name) = {weight};
  }
  // Whose weights these are, which is nobody's else.
  [[nodiscard]] bool shares(int section, std::size_t tie) const;

 private:
  using Memory = std::map<std::pair<int, std::string>, std::shared_ptr<Numbers>>;
  static constexpr const char* kOwn = "w";
  [[nodiscard]] Numbers& numbers(int section, const std::string& name) {
    return *memory_.at({section, name});
  }

  const RingModel& model_;
  RankSetup setup_;
  bool is_laid_out_ = false;
  Memory memory_, before_;
};

}  // namespace penstock::testing
