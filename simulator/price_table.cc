// Filled once per replay and read once per action: the rows of core/values/action_rules.h are
// evaluated here for every kind, stage and shape, with the kind a constant of the compiler.
// check_sum() refuses prices with which a sum along any path could leave 64 bits, so that the
// replays need not look at overflow.
#include "simulator/price_table.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/values/durations.h"
#include "core/values/error.h"

namespace penstock {
namespace {

// By group. Those of one name (one per pipeline) share a price, in whatever order they stand.
std::vector<Duration> tied_prices(const Program& program, const StagePrices& prices,
                                  const ExecutorModel& executor) {
  std::vector<Duration> result(program.groups.size());
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const Group& group = program.groups[g];
    if (group.kind != GroupKind::kTiedWeights) continue;
    result[g] = duration_of_tie(prices, executor, group.name);
  }
  return result;
}

void check_sizes(const StagePrices& prices) {
  const auto stages = static_cast<std::size_t>(prices.stages);
  const std::size_t entries = stages * static_cast<std::size_t>(prices.shapes);
  if (prices.compute.size() == entries && prices.transfer.size() == entries &&
      prices.step.size() == stages) {
    return;
  }
  throw_bad_input(fmt::format(
      "prices: tables for {} stages and {} shapes need {} compute, {} transfer and {} step "
      "entries, found {}, {} and {}",
      stages, prices.shapes, entries, entries, stages, prices.compute.size(),
      prices.transfer.size(), prices.step.size()));
}

// With the kind as a constant, so that its row is read while compiling: lanes of one replay make a
// table each.
template <class Visit, std::size_t... kind>
void for_each_kind(const Visit& visit, std::index_sequence<kind...> /*all*/) {
  (visit(std::integral_constant<ActionKind, static_cast<ActionKind>(kind)>()), ...);
}
template <class Visit>
void for_each_kind(const Visit& visit) {
  for_each_kind(visit, std::make_index_sequence<kActionKinds>());
}

}  // namespace

PriceTable::PriceTable(const Program& program, const StagePrices& prices,
                       const ExecutorModel& executor)
    : one_shape_(prices.shapes == 1),
      shapes_(static_cast<std::size_t>(prices.shapes)),
      stride_(program.stages.size() * shapes_),
      entries_(first_tied()) {
  for (const Pipeline& pipeline : program.pipelines) {
    if (pipeline.stages != prices.stages) {
      throw_bad_input(
          fmt::format("prices: {} stages, but the program has {}", prices.stages, pipeline.stages));
    }
  }
  check_sizes(prices);
  for (const MicroBatch& micro_batch : program.micro_batches) {
    if (micro_batch.shape < 0 || micro_batch.shape >= prices.shapes) {
      throw_bad_input(fmt::format("prices: no prices for shape {}", micro_batch.shape));
    }
    if (!one_shape_) {
      shape_of_micro_batch_.push_back(static_cast<std::uint16_t>(micro_batch.shape));
    }
  }
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    const Pipeline& pipeline =
        program.pipelines[static_cast<std::size_t>(program.stages[s].pipeline)];
    PricedPlace place{static_cast<int>(s) - pipeline.first_stage, 0, pipeline.copies};
    for (std::size_t shape = 0; shape < shapes_; ++shape) {
      place.shape = static_cast<int>(shape);
      const std::size_t at = s * shapes_ + shape;
      entries_[first_gain() + at] = gain_of_overlap(prices, place);
      for_each_kind([&](auto kind) {
        constexpr ActionKind kKind = decltype(kind)::value;
        entries_[static_cast<std::size_t>(kKind) * stride_ + at] =
            duration_of(prices, executor, kKind, place);
      });
    }
  }
  const std::vector<Duration> tied = tied_prices(program, prices, executor);
  entries_.insert(entries_.end(), tied.begin(), tied.end());
  check_sum(program.actions.size());
}

// No path is longer than all actions at the longest duration, one after the other.
void PriceTable::check_sum(std::size_t actions) const {
  std::int64_t longest = 1;
  for (const Duration d : entries_) longest = std::max(longest, d.count());
  const auto count = static_cast<std::int64_t>(actions) + 1;
  if (longest > std::numeric_limits<std::int64_t>::max() / 4 / count) {
    throw_bad_input(fmt::format(
        "prices: {} actions of up to {} ns could exceed what 64 bits hold; are the units right?",
        count, longest));
  }
}

}  // namespace penstock
