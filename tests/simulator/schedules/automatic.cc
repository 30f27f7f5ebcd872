#include "tests/simulator/schedules/automatic.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

namespace penstock::testing {

StageCosts costs_of(const EqualStages& equal) {
  const auto ranks = static_cast<std::size_t>(equal.ranks);
  const std::size_t stages = ranks * static_cast<std::size_t>(equal.chunks);
  const std::int64_t taken = equal.freed_by_input_gradient + equal.freed_by_weight_gradient;
  StageCosts costs;
  costs.forward.assign(stages, Duration{equal.forward});
  costs.input_gradient.assign(stages, Duration{equal.input_gradient});
  costs.weight_gradient.assign(stages, Duration{equal.weight_gradient});
  costs.activation.assign(stages - 1, Duration{equal.transfer});
  if (equal.chunks == 2) costs.activation[stages / 2 - 1] = Duration{0};
  costs.gradient = costs.activation;
  costs.taken_by_forward.assign(stages, taken);
  costs.freed_by_input_gradient.assign(stages, equal.freed_by_input_gradient);
  costs.freed_by_weight_gradient.assign(stages, equal.freed_by_weight_gradient);
  costs.limit.assign(ranks, equal.limit * taken);
  return costs;
}

StageCosts random_costs(Random& random, int most_ranks) {
  const int ranks = random.between(1, most_ranks);
  const int range = random.coin() ? 3 : 20;
  const bool even = random.coin();
  StageCosts costs;
  const auto append = [&](auto& values, int low) {
    values.emplace_back(even && !values.empty()
                            ? values.back()
                            : std::decay_t<decltype(values[0])>{random.between(low, range)});
  };
  for (int rank = 0; rank < ranks; ++rank) {
    append(costs.forward, 0);
    append(costs.input_gradient, 0);
    append(costs.weight_gradient, 0);
    if (rank + 1 < ranks) append(costs.activation, 0);
    if (rank + 1 < ranks) append(costs.gradient, 0);
    append(costs.freed_by_input_gradient, 0);
    append(costs.freed_by_weight_gradient, 0);
    costs.taken_by_forward.push_back(costs.freed_by_input_gradient.back() +
                                     costs.freed_by_weight_gradient.back());
  }
  costs.limit = random_limits(random, costs);
  return costs;
}

std::vector<std::int64_t> random_limits(Random& random, const StageCosts& costs) {
  const auto ranks = static_cast<int>(costs.taken_by_forward.size());
  const bool even = random.coin();
  const int activations = random.between(1, 3 * ranks);
  std::vector<std::int64_t> limits;
  for (const std::int64_t taken : costs.taken_by_forward) {
    const int here = even ? activations : random.between(1, 3 * ranks);
    limits.push_back(taken * here + (even ? 0 : random.between(0, 3)));
  }
  return limits;
}

std::string text_of(const Lists& lists, std::size_t rank) {
  const bool one_stage = std::all_of(
      lists[rank].begin(), lists[rank].end(),
      [&](const auto& action) { return action.stage.value == lists[rank].front().stage.value; });
  std::string text;
  for (const ComputeAction& action : lists[rank]) {
    if (!text.empty()) text += ' ';
    if (!one_stage) text += std::to_string(action.stage.value);
    text += name_of(action.kind);
    text += std::to_string(action.micro_batch.value);
  }
  return text;
}

namespace {

using Key = std::tuple<ActionKind, int, std::uint32_t>;

Key key_of(const ComputeAction& action) {
  return {action.kind, action.stage.value, action.micro_batch.value};
}

// When the action can start on behalf of others; nothing while one of them has not run.
std::optional<Duration> arrival(const ComputeAction& action, const StageCosts& costs,
                                const std::map<Key, Duration>& ends) {
  const int s = action.stage.value;
  const auto at = static_cast<std::size_t>(s);
  const bool last = at + 1 == costs.forward.size();
  std::optional<Key> needs;
  Duration transfer{0};
  if (action.kind == ActionKind::kForward && s > 0) {
    needs = {ActionKind::kForward, s - 1, action.micro_batch.value};
    transfer = costs.activation[at - 1];
  } else if (action.kind == ActionKind::kInputGradient) {
    needs = {last ? ActionKind::kForward : ActionKind::kInputGradient, last ? s : s + 1,
             action.micro_batch.value};
    if (!last) transfer = costs.gradient[at];
  } else if (action.kind == ActionKind::kWeightGradient) {
    needs = {ActionKind::kInputGradient, s, action.micro_batch.value};
  }
  if (!needs) return Duration{0};
  const auto found = ends.find(*needs);
  if (found == ends.end()) return std::nullopt;
  return found->second + transfer;
}

Duration cost_of(const ComputeAction& action, const StageCosts& costs) {
  const std::size_t s = action.stage.value;
  if (action.kind == ActionKind::kForward) return costs.forward[s];
  return action.kind == ActionKind::kInputGradient ? costs.input_gradient[s]
                                                   : costs.weight_gradient[s];
}

}  // namespace

std::optional<Times> times_if_it_runs(const Lists& lists, const StageCosts& costs) {
  struct Rank {
    std::size_t position = 0;
    Duration start{0}, end{0};
  };
  std::vector<Rank> ranks(lists.size());
  std::map<Key, Duration> ends;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < lists.size(); ++r) {
      Rank& rank = ranks[r];
      for (; rank.position < lists[r].size(); ++rank.position) {
        const ComputeAction& action = lists[r][rank.position];
        const std::optional<Duration> ready = arrival(action, costs, ends);
        if (!ready) break;
        const Duration start = std::max(rank.end, *ready);
        if (rank.position == 0) rank.start = start;
        rank.end = start + cost_of(action, costs);
        ends[key_of(action)] = rank.end;
        moved = true;
      }
    }
  }
  Times times;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    if (ranks[r].position < lists[r].size()) return std::nullopt;
    times.longest_span = std::max(times.longest_span, ranks[r].end - ranks[r].start);
    times.makespan = std::max(times.makespan, ranks[r].end);
  }
  return times;
}

Times times_of(const Lists& lists, const StageCosts& costs, int micro_batches) {
  // Three actions per stage and micro-batch, each of them once.
  std::set<Key> actions;
  for (const auto& list : lists) {
    const auto stages = costs.forward.size() / lists.size();
    REQUIRE(list.size() == 3 * stages * static_cast<std::size_t>(micro_batches));
    for (const ComputeAction& action : list) {
      REQUIRE(action.micro_batch.value < static_cast<std::uint32_t>(micro_batches));
      REQUIRE(actions.insert(key_of(action)).second);
    }
  }
  const std::optional<Times> times = times_if_it_runs(lists, costs);
  REQUIRE(times);
  return *times;
}

namespace {

// The most that the rank holds at any position of its list.
std::int64_t peak(const std::vector<ComputeAction>& list, const StageCosts& costs) {
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const ComputeAction& action : list) {
    const std::size_t s = action.stage.value;
    if (action.kind == ActionKind::kForward) held += costs.taken_by_forward[s];
    most = std::max(most, held);
    if (action.kind == ActionKind::kInputGradient) held -= costs.freed_by_input_gradient[s];
    if (action.kind == ActionKind::kWeightGradient) held -= costs.freed_by_weight_gradient[s];
  }
  CHECK(held == 0);
  return most;
}

}  // namespace

bool within_limits(const Lists& lists, const StageCosts& costs) {
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    if (peak(lists[rank], costs) > costs.limit[rank]) return false;
  }
  return true;
}

void check_step_to_beat(Random& random, StageCosts costs,
                        const std::function<AutomaticLists(const StageCosts&)>& lists_of) {
  const AutomaticLists found = lists_of(costs);
  costs.to_beat = found.span + Duration{random.between(1, 3)};
  const AutomaticLists shorter = lists_of(costs);
  REQUIRE_FALSE(shorter.is_beaten);
  CHECK(shorter.span == found.span);
  CHECK(shorter.lists == found.lists);
  costs.to_beat = found.span - Duration{random.between(0, 3)};
  const AutomaticLists beaten = lists_of(costs);
  CHECK(beaten.is_beaten);
  CHECK(beaten.lists.empty());
  CHECK(beaten.why_not.empty());
}

}  // namespace penstock::testing
