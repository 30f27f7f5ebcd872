// The costs of `penstock schedule`, from --cost or from a cost file, as StagePrices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/stage_prices.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

struct ScheduleCosts {
  StagePrices prices;
  // Which shape the micro-batches have, in their order; empty: any number, of the only shape.
  std::vector<MicroBatchRun> micro_batches;
  bool recompute = false;  // some stage recomputes
  bool has_bytes = false;  // some stage says what it stores
  int weight_slots = 0;    // Pipeline::weight_slots
  std::string words;       // as given
};

// `costs`: the texts of all --cost options, "F=18.522ms,B=27ms,C=0.6ms", the same for every one of
// `stages` stages. `split`: the schedule divides the backward, so I and W are needed; else B, or I
// and W, whose sum it is.
ScheduleCosts parse_costs(const std::vector<std::string>& costs, bool split, int stages);

// A penstock.costs/1 file, one entry per stage; docs/schedules_without_a_model.md describes it.
// `path` is only used in words.
ScheduleCosts read_costs(const Json& json, const std::string& path, bool split, int stages);

// How many micro-batches such a file lists; nothing where it leaves that open.
std::optional<int> micro_batches_in(const Json& json, const std::string& path);

}  // namespace penstock
