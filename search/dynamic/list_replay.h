// One pipeline's lists replayed in one pass, with any shape at every position: what a search for an
// order asks thousands of times. A short cut past lowering and engine for executors whose transfers
// occupy nothing; tests compare the times and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/schedule.h"
#include "search/dynamic/shape_table.h"

namespace penstock {

// What shapes cost on every stage, as a replay reads it.
class ReplayCosts {
 public:
  // F, I, W and B.
  static constexpr std::size_t kKinds = 4;
  struct Stage {
    std::int64_t duration[kKinds] = {};                     // of B and I with the recompute before
    std::int64_t change[kKinds] = {};                       // of the rank's stash
    std::int64_t activation_delay = 0, gradient_delay = 0;  // until its input is there
    std::int64_t before = 0, behind = 0;  // bytes over its boundaries; 0 within a rank
  };

  ReplayCosts(const Plan& layout, const ExecutorModel& executor, bool recomputes);
  // Adds what is new in the table; ids are the table's.
  void extend(const ShapeTable& shapes);

  [[nodiscard]] const Stage* of_shape(int id) const {
    return stages_of_.data() + static_cast<std::size_t>(id) * stages_;
  }
  [[nodiscard]] std::size_t stages() const { return stages_; }

 private:
  void add(const ShapeCost& cost);

  std::size_t stages_;
  std::vector<int> rank_of_stage_;
  ExecutorModel executor_;
  bool recomputes_;
  std::vector<Stage> stages_of_;  // [shape][stage]
  std::size_t shapes_ = 0;
};

struct ListReplayResult {
  std::int64_t end_ns = 0;          // of the last backward of any stage, with the stage's tail
  std::vector<std::int64_t> stash;  // per rank, the most at once
  std::vector<std::int64_t> communication;  // per rank, as pool_peaks() counts it
};

class ListReplay {
 public:
  // Fused and split lists, no overlaps. Error{kBadInput} when they wait for each other.
  explicit ListReplay(const Schedule& schedule);

  // `shapes`: ids by position. `tail`: per stage, what follows its last gradient.
  const ListReplayResult& run(const ReplayCosts& costs, std::span<const int> shapes,
                              std::span<const std::int64_t> tail);
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }

 private:
  struct Step {
    std::int32_t needs = -1;  // an earlier step on another rank or the same
    std::uint32_t position = 0;
    std::uint16_t stage = 0, rank = 0;
    std::uint8_t kind = 0;
    bool ends_stage = false;  // the last gradient
  };

  // As pool_peaks.h counts them: of a stage what waits in receive buffers, and the largest sends.
  struct Buffers {
    std::int64_t activations = 0, most_activations = 0, sent_activation = 0;
    std::int64_t gradients = 0, most_gradients = 0, sent_gradient = 0;
    std::int64_t largest_received = 0;
  };
  void move_buffers(const Step& step, const ReplayCosts::Stage& stage);

  std::vector<Step> steps_;
  std::vector<int> rank_of_stage_;
  std::vector<Buffers> buffers_;  // by stage
  std::vector<std::int64_t> end_, free_, held_, ahead_;
  ListReplayResult result_;
};

}  // namespace penstock
