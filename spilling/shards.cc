#include "spilling/shards.h"

#include <string>

#include "core/values/error.h"

namespace penstock {

PilotShards pilot_shards(int sections, const FitsShard& fits) {
  PilotShards shards{{0}, std::nullopt};
  int first = 0;
  while (first < sections) {
    if (!fits(first, first + 1)) return {{}, first};
    int end = first + 1;
    while (end < sections && fits(first, end + 1)) ++end;
    shards.cuts.push_back(end);
    first = end;
  }
  return shards;
}

ShardCuts preset_shards(const std::vector<int>& last, int sections) {
  ShardCuts cuts = {0};
  for (const int section : last) {
    if (section < cuts.back() || section >= sections) {
      throw_bad_input("shards: " + std::to_string(section) +
                      " is not the last section of a shard " + "behind section " +
                      std::to_string(cuts.back() - 1) + "\nhelp: list " +
                      "ascending sections from 0 to " + std::to_string(sections - 1));
    }
    cuts.push_back(section + 1);
  }
  if (cuts.back() != sections) {
    throw_bad_input("shards: sections " + std::to_string(cuts.back()) + " to " +
                    std::to_string(sections - 1) + " are in none\nhelp: end the list with " +
                    std::to_string(sections - 1));
  }
  return cuts;
}

}  // namespace penstock
