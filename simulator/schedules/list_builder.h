// Builds the rolled-up lists of a Schedule, rank by rank.
#pragma once

#include <string_view>
#include <utility>

#include "simulator/schedules/schedules.h"

namespace penstock {

class ListBuilder {
 public:
  ListBuilder(std::string_view name, const ScheduleShape& shape, StageMap map = StageMap::kLoop) {
    schedule_.name = name;
    schedule_.ranks = shape.ranks;
    schedule_.chunks = shape.chunks;
    schedule_.micro_batches = shape.micro_batches * shape.slices;
    schedule_.copies = copies_of(map);
    schedule_.rank_of_stage = stage_ranks(map, shape);
    schedule_.begin.push_back(0);
  }

  void add(ActionKind kind, int stage, int micro_batch) {
    append({kind, false, StageId{static_cast<std::uint16_t>(stage)},
            MicroBatchId{static_cast<std::uint32_t>(micro_batch)}});
  }
  // OVERLAP(F;B).
  void add_overlap(int forward_stage, int forward, int backward_stage, int backward) {
    add(ActionKind::kForward, forward_stage, forward);
    schedule_.actions.back().overlaps_next = true;
    add(ActionKind::kFusedBackward, backward_stage, backward);
  }

  // What `body` adds, `times` times; `body` adds the first repetition, each further one has its
  // micro-batches `advance` higher.
  template <class Body>
  void repeat(int times, int advance, Body body) {
    if (times <= 0) return;
    close_block();
    body();
    if (open_) {
      schedule_.blocks.back().repeat = static_cast<std::uint32_t>(times);
      schedule_.blocks.back().advance = advance;
    }
    close_block();
  }

  void end_of_rank() {
    close_block();
    // Ranks have about as many actions as the first.
    if (schedule_.begin.size() == 1) {
      const auto ranks = static_cast<std::size_t>(schedule_.ranks);
      schedule_.actions.reserve(schedule_.actions.size() * ranks);
      schedule_.blocks.reserve(schedule_.blocks.size() * ranks);
      schedule_.begin.reserve(ranks + 1);
    }
    schedule_.begin.push_back(schedule_.blocks.size());
  }
  Schedule finish() { return std::move(schedule_); }

 private:
  void append(const ComputeAction& action) {
    const auto at = static_cast<std::uint32_t>(schedule_.actions.size());
    schedule_.actions.push_back(action);
    if (!open_) schedule_.blocks.push_back({at, at, 1, 0});
    open_ = true;
    schedule_.blocks.back().end = at + 1;
  }
  void close_block() { open_ = false; }

  Schedule schedule_;
  bool open_ = false;  // whether the last block still grows
};

}  // namespace penstock
