// Builds the flat lists of a Schedule, rank by rank, on the loop placement (stage s on rank s mod
// P).
#pragma once

#include <string_view>

#include "simulator/schedules/schedules.h"

namespace penstock {

class ListBuilder {
 public:
  // `per_rank`: how many actions one rank's list will hold, at most.
  ListBuilder(std::string_view name, const ScheduleShape& shape, std::size_t per_rank) {
    schedule_.name = name;
    schedule_.ranks = shape.ranks;
    schedule_.chunks = shape.chunks;
    schedule_.micro_batches = shape.micro_batches;
    for (int s = 0; s < shape.ranks * shape.chunks; ++s) {
      schedule_.rank_of_stage.push_back(s % shape.ranks);
    }
    schedule_.actions.reserve(per_rank * static_cast<std::size_t>(shape.ranks));
    schedule_.begin.push_back(0);
  }

  void add(ActionKind kind, int stage, int micro_batch) {
    schedule_.actions.push_back({kind, StageId{static_cast<std::uint16_t>(stage)},
                                 MicroBatchId{static_cast<std::uint32_t>(micro_batch)}});
  }
  void end_of_rank() { schedule_.begin.push_back(schedule_.actions.size()); }
  Schedule finish() { return std::move(schedule_); }

 private:
  Schedule schedule_;
};

// The reasons that schedules share.
std::string needs_one_chunk(const ScheduleShape& shape);   // V must be 1
std::string needs_two_chunks(const ScheduleShape& shape);  // V must be at least 2

}  // namespace penstock
