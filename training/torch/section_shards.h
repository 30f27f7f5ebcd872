// The sections of a stage that are sharded one by one: makes their weights whole before they
// compute and lets go of them behind it, and leaves of their gradients the sums of what this rank
// owns. The next section's weights arrive, and the gradients of the one before leave, beside what
// is computed, as the price of such a stage has it (costmodel/price_units.h).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "training/device.h"
#include "training/rank_setup.h"
#include "training/section_exchange.h"
#include "training/stage_layout.h"
#include "training/torch/flat_weights.h"

namespace penstock {

class SectionShards {
 public:
  using Flats = std::vector<std::shared_ptr<FlatWeights>>;

  // `segments` and their memory; they and `device` outlive it.
  SectionShards(const StageSetup& stage, const std::vector<Segment>& segments, const Flats& flats,
                const Device& device);

  // None: nothing is gathered or reduced, and what is whole then has no meaning (warm-up).
  void exchange_through(SectionExchange* exchange) { exchange_ = exchange; }
  [[nodiscard]] bool reduces() const { return reduces_; }

  // Sections count from the stage's first. Where nothing is sharded nothing happens.
  void begin_gather(std::size_t section);
  void gather(std::size_t section);  // until it is whole
  void let_go(std::size_t section);
  // Memory for what a backward of the section adds, all zero.
  void begin_gradient(std::size_t section);
  // Hands over what was added; at most one section's is under way, so the one before it ends.
  void reduce(std::size_t section);
  void finish_reduction();

 private:
  static constexpr int kNotUnderWay = -1;
  struct Use {
    int sections = 0;           // that are gathered and have weights here
    int gather = kNotUnderWay;  // SectionExchange::begin()
  };
  struct Reduction {
    int number = kNotUnderWay;
    std::vector<std::size_t> flats;
    std::vector<at::Tensor> sums;  // of each, of the type that gradients are summed in
  };

  [[nodiscard]] std::vector<Buffer> buckets(std::size_t flat, const at::Tensor& tensor) const;
  void finish_gather(std::size_t flat);
  void fill_owned(FlatWeights& flat) const;
  void add_owned(FlatWeights& flat, const at::Tensor& sums) const;

  const StageSetup stage_;
  const std::vector<Segment>& segments_;
  const Flats& flats_;
  const Device& device_;
  SectionExchange* exchange_ = nullptr;
  bool reduces_ = false;
  std::vector<std::vector<std::size_t>> gathered_, reduced_;  // by section: indices of flats
  std::vector<bool> is_gathered_;                             // by section: or under way
  std::vector<Use> uses_;                                     // by flat
  Reduction reduction_;
};

}  // namespace penstock
