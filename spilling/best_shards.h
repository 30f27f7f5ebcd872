// The step of a model that is spilled to the host, in closed form, and the shards that make it
// shortest: balance matters, since a large shard hides no load behind a small one.
#pragma once

#include <functional>
#include <vector>

#include "core/values/units.h"
#include "spilling/shards.h"

namespace penstock {

struct ShardTime {
  Duration forward{};
  Duration backward{};  // without the forward that is repeated before it
  Duration load{}, store{};

  // Of the unit that goes back through the shard.
  [[nodiscard]] Duration back(bool is_last) const {
    return is_last ? backward : forward + backward;
  }
  bool operator==(const ShardTime&) const = default;
};

// With two slots and loads of what is in neither:
//
//   F(0) + sum of max(F(s), L(s+1)) + F(S-1) + B(S-1) + sum of max(B(s), W(s+1) + L(s-1)) + B(0) +
//   W(0)
//
// for s = 1 .. S-2: while F(s) runs, the next shard is loaded over the one before; while B(s) runs,
// the one behind is written back and the one before is loaded over it. Exact where copies back take
// no time; no less than the step while they do not wait for each other, since W(s+1) may begin
// before a B(s) that waits for its own load. Where shards are updated on the host, shards 1 and 0
// are loaded anew at the end: behind B(1) follow max(max(B(0), W(1)) + W(0), W(1) + L(1)) + L(0).
Duration closed_form(const std::vector<ShardTime>& shards, bool reloads_updated = false);

// The time of a shard of sections [first, end).
using TimeOfShard = std::function<ShardTime(int first, int end)>;

// Of all cuts into `shards` shards that fit those of the least closed_form(), by dynamic
// programming over the last three cuts; of equal ones the first shard that is shorter. Empty when
// none fit. Exact where sections times the cube of the longest shard are at most `most_work`; else
// only shards are looked at that are about as long as the average.
ShardCuts best_shards(int sections, int shards, const FitsShard& fits, const TimeOfShard& time,
                      std::int64_t most_work = 20'000'000);

}  // namespace penstock
