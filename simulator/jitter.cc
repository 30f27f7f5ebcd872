#include "simulator/jitter.h"

#include "simulator/price_table.h"

namespace penstock {
namespace {

constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15U;  // 2^64 over the golden ratio

template <class Prices, class Visit>
void for_each_price(Prices& prices, const Visit& visit) {
  for (auto& stage : prices.compute) {
    visit(stage.forward), visit(stage.input_gradient), visit(stage.weight_gradient);
    visit(stage.fused_backward), visit(stage.recompute);
  }
  for (auto& boundary : prices.transfer) visit(boundary.activation), visit(boundary.gradient);
  for (auto& step : prices.step) {
    visit(step.reduce_gradient), visit(step.optimizer), visit(step.unshard);
    visit(step.load), visit(step.store);
  }
  for (auto& tied : prices.tied_reduce) visit(tied.reduce);
  visit(prices.norm);
}

}  // namespace

std::uint64_t jitter_key(const Action& action) {
  std::uint64_t identity = static_cast<std::uint64_t>(action.kind) << 48U;
  if (is_collective(action.kind)) {
    identity |= action.group.value;
  } else {
    identity |= std::uint64_t{action.stage.value} << 32U | action.micro_batch.value;
  }
  return mixed(identity + kOdd);
}

std::uint64_t jitter_key(std::uint64_t seed, std::uint64_t lane) {
  return mixed(mixed(seed + kOdd) + lane * kOdd);
}

StagePrices spreads_of(const StagePrices& prices) {
  StagePrices spreads = prices;
  for_each_price(spreads, [](Price& price) { price.duration = price.spread; });
  return spreads;
}

bool has_spreads(const StagePrices& prices) {
  bool found = false;
  for_each_price(prices, [&](const Price& price) { found = found || price.spread > Duration{}; });
  return found;
}

StagePrices with_assumed_spreads(StagePrices prices, Factor share) {
  for_each_price(prices, [&](Price& price) {
    if (price.spread == Duration{}) price.spread = scaled(price.duration, share);
  });
  return prices;
}

ActionDurations jittered_durations(const Program& program, const StagePrices& prices,
                                   const ExecutorModel& executor, std::uint64_t seed,
                                   std::uint64_t lane) {
  const PriceTable table(program, prices, executor), spreads(program, spreads_of(prices), {});
  const std::uint64_t lane_key = jitter_key(seed, lane);
  const auto of = [&](const Action& action) {
    const std::int64_t sample = jitter_sample(lane_key, jitter_key(action));
    const bool together = is_collective(action.kind);
    const Duration duration = together ? table.of_collective(action) : table.of(action);
    const Duration spread = together ? spreads.of_collective(action) : spreads.of(action);
    return Duration{jittered(duration.count(), spread.count(), sample)};
  };
  ActionDurations durations(program.actions.size());
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Action& action = program.actions[i];
    if (is_receive(action.kind)) continue;
    durations[i] = of(action);
    if (action.overlaps_next) {
      const Action& second = program.actions[i + 1];
      durations[i] = table.overlapped(action, durations[i], of(second));
      durations[i + 1] = durations[i];
      ++i;
    }
  }
  return durations;
}

}  // namespace penstock
