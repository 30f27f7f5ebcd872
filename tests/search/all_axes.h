// Random questions with all axes of a layout open at once: T, C (ring, gathered or Ulysses), EP,
// ETP, every way to shard, groups of shards, the optimizer's state on the host, recompute, buckets
// of gradients, executors. Known by a number, as those of free_search.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

// What is wrong, in words; empty when all holds.
//
// The search with bounds, on two threads, finds and counts what the one finds that replays every
// candidate.
std::vector<std::string> bounds_change_the_answer(std::uint64_t model);
// No pin of one or two axes finds a faster plan than the search that may take all of them, and its
// winner is found again when it is pinned to its own values.
std::vector<std::string> beaten_by_pinned_axes(std::uint64_t model);
// Of the listed plans of static schedules: none takes less time where a link, the one to the host
// included, has half the bandwidth or twice the latency; with all times twice as long and all rates
// half as high a step takes twice as long, up to what rounding adds to each action.
std::vector<std::string> not_in_step_with_inputs(std::uint64_t model);

}  // namespace penstock::testing
