// The sections that a rank holds, with their weights and what the optimizer keeps, as long as a run
// goes on; and the stages of the plan that is bound to them now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "training/device.h"
#include "training/loss_scaler.h"
#include "training/rank_setup.h"
#include "training/section_pieces.h"
#include "training/torch/model.h"
#include "training/torch/stage_state.h"

namespace penstock {

// What a store of sections that compute elsewhere gets from somebody else; empty: the model makes
// sections, and memory is the device's.
struct StoreParts {
  std::function<std::shared_ptr<SectionModule>(int section)> make_section{};
  std::function<at::Tensor(std::int64_t elements, at::ScalarType type)> zeros{};
  // Of what the optimizer keeps alone.
  std::function<at::Tensor(std::int64_t elements, at::ScalarType type)> kept{};
};

class SectionStore {
 public:
  SectionStore(const ModelDescription& description, const TrainingOptions& options, Device& device,
               std::size_t bucket_bytes, StoreParts parts = {});

  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] std::map<int, StageState>& stages() { return stages_; }
  [[nodiscard]] StageState& stage(int stage) { return stages_.at(stage); }

  // As RankState says.
  [[nodiscard]] std::vector<SectionState> pieces_of(const RankSetup& setup) const;
  void lay_out(const RankSetup& setup);
  void let_go() { before_.clear(); }
  [[nodiscard]] std::vector<SectionState> section_states() const;
  // Of all sections: the most that weights, gradients and optimizer state took at once.
  [[nodiscard]] std::size_t peak_bytes() const { return memory_->peak; }

  // Instead of lay_out(), where stages come and go: this one is in memory that somebody else owns,
  // with the same segments each time; and in none.
  void bring(const StageSetup& stage, std::vector<Segment> segments,
             std::vector<std::shared_ptr<FlatWeights>> flats);
  void drop(int stage);
  // Of the model, made when it is first asked for and not held yet.
  [[nodiscard]] const std::shared_ptr<SectionModule>& section(int index);

  std::int64_t optimizer_steps = 0;
  // What has been run once on nothing: samples, tokens, decoder tokens; sections [first, end).
  using Warm = std::tuple<int, int, int, int, int>;
  std::set<Warm> warm;
  LossScaler scaler;

 private:
  using Flat = std::shared_ptr<FlatWeights>;
  // By section, tie of the outline, and whether they are frozen.
  using Flats = std::map<std::tuple<int, int, bool>, Flat>;

  [[nodiscard]] std::vector<Segment> segments_of(const RankSetup& setup,
                                                 const StageSetup& stage) const;
  void check(const RankSetup& setup);
  [[nodiscard]] std::shared_ptr<SectionModule> made_section(int index) const;
  [[nodiscard]] Flat flat_of(const Segment& segment);
  [[nodiscard]] Flat allocated(const SegmentPlace& at) const;
  void fill(FlatWeights& flat, const Segment& segment) const;

  const ModelDescription description_;
  const TrainingOptions options_;
  Device& device_;
  const std::size_t bucket_bytes_;
  const StoreParts parts_;
  std::unique_ptr<Model> model_;
  const KeptPerWeight kept_;
  std::set<int> checked_lengths_;  // of sequences, with which the division was checked
  bool is_laid_out_ = false;
  std::map<int, std::shared_ptr<SectionModule>> sections_;
  std::shared_ptr<StateMemory> memory_ = std::make_shared<StateMemory>();
  Flats flats_, before_;
  std::map<int, StageState> stages_;
};

}  // namespace penstock
