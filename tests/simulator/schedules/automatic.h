// What the tests of automatic schedules share: costs, lists as text, and a judge of lists that
// knows nothing of how they were made.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/schedules/zb_auto.h"
#include "tests/simulator/pipelines.h"

namespace penstock::testing {

using Lists = std::vector<std::vector<ComputeAction>>;

// One chunk of every stage the same; `chunks` stages per rank, two of them on the V, where the turn
// is free.
struct EqualStages {
  int ranks = 1, chunks = 1;
  std::int64_t forward = 1, input_gradient = 1, weight_gradient = 1, transfer = 0;
  std::int64_t freed_by_input_gradient = 1, freed_by_weight_gradient = 1;
  std::int64_t limit = 0;  // in activations of a chunk
};
StageCosts costs_of(const EqualStages& equal);

// Up to `most_ranks` ranks with one stage each; small numbers, so that ties and zeros are common.
StageCosts random_costs(Random& random, int most_ranks);
// Limits that may be anything from too small to more than enough.
std::vector<std::int64_t> random_limits(Random& random, const StageCosts& costs);

// "F0 I0 W0", or "0F0 7F0" with two stages per rank.
std::string text_of(const Lists& lists, std::size_t rank);

// When each list runs in order and every action waits for what it needs (docs/schedules.md,
// "Words").
struct Times {
  Duration longest_span{0}, makespan{0};
};
// Nothing when the lists wait for each other.
std::optional<Times> times_if_it_runs(const Lists& lists, const StageCosts& costs);
// Fails the test then, and when an action is missing.
Times times_of(const Lists& lists, const StageCosts& costs, int micro_batches);

// Whether no rank holds more than its limit at any position of its list.
bool within_limits(const Lists& lists, const StageCosts& costs);

// Fails the test where a step to beat changes lists that are shorter, or where lists are made that
// are not.
void check_step_to_beat(Random& random, StageCosts costs,
                        const std::function<AutomaticLists(const StageCosts&)>& lists_of);

// Whether a schedule never gets longer while every rank may hold up to three bytes more, six times.
template <class Schedule>
bool never_longer_with_more_bytes(Random& random, StageCosts costs, const Schedule& span_of) {
  Duration before = span_of(costs);
  for (int raised = 0; raised < 6; ++raised) {
    const int bytes = random.between(1, 3);
    for (std::int64_t& limit : costs.limit) limit += bytes;
    const Duration after = span_of(costs);
    if (after > before) return false;
    before = after;
  }
  return true;
}

}  // namespace penstock::testing
