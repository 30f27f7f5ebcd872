// What every plan of a key takes at least, whatever its cuts and its schedule: what groups are
// sorted and left out by, before anything of them is priced.
#pragma once

#include <cstdint>

#include "core/values/units.h"
#include "search/candidates.h"

namespace penstock {

// ns of one micro-batch
struct KeyCosts {
  std::int64_t work = 0;
  std::int64_t longest = 0;  // half of the longest section: two copies of the weights share it
  std::int64_t path = 0;     // forward through all stages and back, one after the other
  // Varuna's last rank recomputes nothing. What it takes in mode "none", times `kept`, is the most
  // that it takes less than it would: with t the longest of all, P t + kept * t >= all work.
  double kept = 0.0;
};

KeyCosts costs_of(const SearchKey& key);

// Of `full` micro-batches on `pipeline` ranks: some rank does at least the mean of all work.
Duration bound_of(const KeyCosts& costs, int pipeline, std::int64_t full);

}  // namespace penstock
