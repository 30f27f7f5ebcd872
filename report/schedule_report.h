// What a schedule does with given costs: numbers and lists of actions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/program.h"
#include "core/values/schedule.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

struct ScheduleResult {
  std::string schedule;
  int ranks = 1, chunks = 1, micro_batches = 1;  // P, V, M
  int slices = 1;                                // of every sequence
  int copies = 1;                                // of the weights; a rank's chunks are of all
  Duration makespan{}, longest_span{}, ideal{};
  std::vector<std::int64_t> peak_stash_chunks;  // per rank
  std::vector<Bytes> peak_stash_bytes;          // per rank; empty where the costs name no bytes
  int weight_slots = 0;                         // per rank, where stages live in slots
  Bytes slot{};                                 // what the largest LOAD brings
  bool is_post_validated = false;               // a step takes the longest span
  std::int64_t actions = 0;                     // of the lowered Program
  std::string costs;                            // in words
  std::string executor;                         // in words

  [[nodiscard]] Duration step() const { return is_post_validated ? longest_span : makespan; }
};

std::string schedule_report(const ScheduleResult& result, Screen screen);
Json schedule_json(const ScheduleResult& result);

// One line per rank: its compute actions by PyTorch's names, in order; (0F7;7B3) is an OVERLAP.
std::string action_lists(const Schedule& schedule);
// The same of the first pipeline of a Program without overlaps.
std::string action_lists(const Program& program);

}  // namespace penstock
