// One pipeline's lists replayed in one pass, with any shape at every position: what a search for an
// order asks thousands of times. A short cut past lowering and engine for executors whose transfers
// occupy nothing; tests compare the times and bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/schedule.h"
#include "core/values/transfer_room.h"
#include "search/dynamic/shape_table.h"

namespace penstock {

inline constexpr std::int64_t kAnyTime = std::numeric_limits<std::int64_t>::max();

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

  // What a micro-batch takes of a rank's time, all stages together, with fused and with split
  // backwards; and at least on its way back from there to stage 0, where they are fused.
  struct Rank {
    std::int64_t fused = 0, split = 0;
    std::int64_t way_back = 0;
  };

  ReplayCosts(const Plan& layout, const ExecutorModel& executor, bool recomputes);
  // Adds these shapes of the table, which are priced, as far as they are new; ids are the table's.
  void add(const ShapeTable& shapes, std::span<const int> ids);

  // Of one that was added.
  [[nodiscard]] const Stage* of_shape(int id) const {
    return stages_of_.data() + place_[static_cast<std::size_t>(id)] * stages_;
  }
  [[nodiscard]] const Rank* ranks_of_shape(int id) const {
    return ranks_of_.data() + place_[static_cast<std::size_t>(id)] * ranks_;
  }
  [[nodiscard]] std::size_t stages() const { return stages_; }

 private:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  void append(const ShapeCost& cost);
  void append_ranks(std::size_t first_stage);

  std::size_t stages_, ranks_;
  std::vector<int> rank_of_stage_;
  ExecutorModel executor_;
  bool recomputes_;
  std::vector<Stage> stages_of_;
  std::vector<Rank> ranks_of_;
  std::vector<std::size_t> place_;  // by id, among those that were added; kNowhere: was not
  std::size_t added_ = 0;
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

  // `shapes`: ids by position. `tail`: per stage, what follows its last gradient; of the stages of
  // a rank one after the other.
  const ListReplayResult& run(const ReplayCosts& costs, std::span<const int> shapes,
                              std::span<const std::int64_t> tail);
  // The two halves of run(). When it ends; some later time than `latest` as soon as it is known to
  // end later than that.
  std::int64_t end_ns(const ReplayCosts& costs, std::span<const int> shapes,
                      std::span<const std::int64_t> tail, std::int64_t latest);
  // Stash and buffers.
  const ListReplayResult& bytes(const ReplayCosts& costs, std::span<const int> shapes);
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }

 private:
  struct Step {
    std::int32_t needs = -1;  // an earlier step on another rank or the same
    std::uint32_t position = 0;
    std::uint16_t stage = 0, rank = 0;
    std::uint8_t kind = 0;
    bool ends_stage = false;  // the last gradient
  };

  // As pool_peaks.h counts them: of a stage what waits in receive buffers.
  struct Buffers {
    std::int64_t activations = 0, most_activations = 0;
    std::int64_t gradients = 0, most_gradients = 0;
  };
  struct Crossing {
    std::int64_t before = 0, behind = 0;
  };
  void look_up(const ReplayCosts& costs, std::span<const int> shapes);
  void move_buffers(const Step& step, const ReplayCosts::Stage& stage);
  void add_buffers();
  bool leave_slack(const ReplayCosts& costs, std::span<const int> shapes,
                   std::span<const std::int64_t> tail, std::int64_t latest);

  std::vector<Step> steps_;
  std::vector<Step> fused_of_split_;                  // backwards, where others are split
  bool splits_ = false;                               // some backward
  std::vector<const ReplayCosts::Stage*> stages_at_;  // by position, of its shape
  std::vector<int> rank_of_stage_;
  std::vector<Buffers> buffers_;    // by stage
  std::vector<Crossing> largest_;   // by stage
  std::vector<TransferRoom> room_;  // by rank
  // What follows the last gradients of a rank's stages runs one after the other: `reduced_`.
  std::vector<std::int64_t> end_, free_, reduced_, held_, ahead_, least_tail_;
  std::vector<std::int64_t> slack_;  // per rank, how long it may still wait
  ListReplayResult result_;
};

}  // namespace penstock
