// Transfers that share links, worked out on paper, and that links nobody fills change nothing.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/events/expand_replicas.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/simulator/varuna.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::input_of;
using testing::lowered;
using testing::PricedProgram;
using testing::Random;

// "12..34" for the named action.
std::string times(const Program& program, const Timeline& timeline, const std::string& name) {
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (name_of(program, program.actions[i]) != name) continue;
    return std::to_string(timeline.start[i].time_since_epoch().count()) + ".." +
           std::to_string(timeline.end[i].time_since_epoch().count());
  }
  return "no " + name;
}

// One link of 1 GB/s, a byte per nanosecond, for all transfers of the Program; `latency` before.
Network one_link(const Program& program, std::int64_t latency) {
  Network network;
  network.links.push_back({"wire", {1e9}});
  network.routes.push_back({.latency = Duration{latency}, .hops = {{0, 1}}});
  network.activation.assign(program.stages.size(), 0);
  network.gradient = network.activation;
  return network;
}

// Every boundary has `bytes`, so that a transfer alone takes the latency and as many nanoseconds.
StagePrices prices_of(int stages, const testing::RankCosts& costs, std::int64_t bytes) {
  StagePrices prices = equal_prices(stages, 1, costs);
  for (ComputePrice& price : prices.compute) price.boundary = Bytes{bytes};
  return prices;
}

Timeline run(const Program& program, const StagePrices& prices, const Contention& contention,
             const ExecutorModel& executor = {}) {
  return EventSimulation(program, executor, &contention)
      .run(action_durations(program, prices, executor));
}

// GPipe on two ranks, F = 10, latency 2, then 20 bytes: the first activation flows from 12 on, the
// second from 22 on. At 22 the first has 10 left, both get half: it ends at 42. The second has then
// 10 left and the link alone: 52. Of the 20 ns that each was slowed down, half is delay: 10 each.
TEST_CASE("two transfers share a link, and the second is faster when the first has ended") {
  const Program program = lowered("gpipe", {2, 1, 2, 0});
  const StagePrices prices = prices_of(2, {10, 100, 100, 22}, 20);
  const Contention contention{one_link(program, 2), transfer_bytes(program, prices)};
  EventSimulation simulation(program, {}, &contention);
  const Timeline timeline = simulation.run(action_durations(program, prices, {}));
  CHECK(times(program, timeline, "0SEND_F0") == "10..42");
  CHECK(times(program, timeline, "0SEND_F1") == "20..52");
  CHECK(times(program, timeline, "1F0") == "42..52");
  CHECK(simulation.delays_of_links() == std::vector<Duration>{Duration{20}});
  CHECK(simulate(program, prices, {}).end[1] == SimTime{Duration{32}});  // alone: 10 + 22
}

// In their latency, transfers need nothing of the link: with 12 ns of it and 10 bytes the first
// flows 22..32, the second 32..42.
TEST_CASE("the latency comes first and is not shared") {
  const Program program = lowered("gpipe", {2, 1, 2, 0});
  const StagePrices prices = prices_of(2, {10, 100, 100, 22}, 10);
  const Contention contention{one_link(program, 12), transfer_bytes(program, prices)};
  CHECK(run(program, prices, contention) == simulate(program, prices, {}));
}

// Four equal micro-batches at once, that is with F = 0: 4 transfers of 30 ns get a quarter each.
TEST_CASE("transfers that begin together end together") {
  const Program program = lowered("gpipe", {2, 1, 4, 0});
  const StagePrices prices = prices_of(2, {0, 1, 1, 30}, 30);
  const Contention contention{one_link(program, 0), transfer_bytes(program, prices)};
  const Timeline timeline = run(program, prices, contention);
  for (const char* name : {"0SEND_F0", "0SEND_F1", "0SEND_F2", "0SEND_F3"}) {
    CHECK(times(program, timeline, name) == "0..120");
  }
}

// Two replicas of two ranks share the wire: each would send 10..30 alone, both take until 50. The
// second at twice the pace, F = 20, begins at 20: by then the first has 10 left, which take 20;
// then the second has 10 left and ends at 50.
TEST_CASE("replicas share a link, and a straggler sends later") {
  PipelineInput input = input_of(make_schedule("gpipe", {2, 1, 1, 0}));
  input.replicas = 2;
  const Program program = expand_replicas(lower({input}, {}));
  const StagePrices prices = prices_of(2, {10, 100, 100, 20}, 20);
  const Contention contention{one_link(program, 0), transfer_bytes(program, prices)};
  const Timeline together = run(program, prices, contention);
  CHECK(times(program, together, "0SEND_F0") == "10..50");
  CHECK(times(program, together, "2SEND_F0") == "10..50");
  ActionDurations durations = action_durations(program, prices, {});
  slow_down(durations, program, RankId{2}, 2.0);
  const Timeline apart = EventSimulation(program, {}, &contention).run(durations);
  CHECK(times(program, apart, "0SEND_F0") == "10..40");
  CHECK(times(program, apart, "2SEND_F0") == "20..50");
}

// A transfer that is faster alone than its link says takes its own price alone, not the link's.
TEST_CASE("alone, a transfer takes exactly its price") {
  const Program program = lowered("1f1b", {4, 1, 1, 0});
  for (const std::int64_t bytes : {1, 7, 1000, 1'000'000'000}) {
    const StagePrices prices = prices_of(4, {10, 12, 8, 333}, bytes);
    const Contention contention{one_link(program, 0), transfer_bytes(program, prices)};
    CHECK(run(program, prices, contention) == simulate(program, prices, {}));
  }
}

TEST_CASE("wide links change nothing, under any executor model") {
  Random random(77);
  for (int round = 0; round < testing::draws(300); ++round) {
    PricedProgram priced = testing::random_program(random);
    for (ComputePrice& price : priced.prices.compute) price.boundary = Bytes{random.between(0, 9)};
    ExecutorModel executor;
    executor.transfer = static_cast<TransferMode>(random.between(0, 2));
    executor.per_transfer = Duration{random.between(0, 2)};
    if (deadlock(priced.program, executor)) continue;
    Contention contention{one_link(priced.program, random.between(0, 3)),
                          transfer_bytes(priced.program, priced.prices)};
    contention.network.links[0].capacity = {1e15};
    CHECK(run(priced.program, priced.prices, contention, executor) ==
          simulate(priced.program, priced.prices, executor));
  }
}

// Two ranks, four micro-batches, F = R = 10, B = 20, 40 bytes; rank 0 lists F0 F1 F2 R0 B0 .., F3
// goes before R0. Activations leave at 10, 20, 30 and 40. The first flows alone for 10 ns; then two
// have 10 ns together (25 left, 35 left), three have 10 (21 2/3, 31 2/3, 36 2/3) and from 40 on
// four: the first ends at 40 + 4 * 21 2/3 = 126 2/3, rounded up 127, and F0 of rank 1 follows.
TEST_CASE("a rule and contention together") {
  const Program program = testing::varuna_program(2, 4, RunTimeRule::kVaruna);
  StagePrices prices = testing::varuna_prices(2, {10, 20, 40, 40, 1});
  for (ComputePrice& price : prices.compute) price.boundary = Bytes{40};
  const Contention contention{one_link(program, 0), transfer_bytes(program, prices)};
  const Timeline timeline = run(program, prices, contention);
  CHECK(times(program, timeline, "0F3") == "30..40");
  CHECK(times(program, timeline, "0SEND_F0") == "10..127");
  CHECK(times(program, timeline, "1F0") == "127..137");
}

TEST_CASE("a network of another Program is our own bug") {
  const Program program = lowered("gpipe", {2, 1, 2, 0});
  const Program other = lowered("gpipe", {3, 1, 2, 0});
  const StagePrices prices = prices_of(2, {10, 100, 100, 22}, 20);
  const Contention contention{one_link(other, 0), transfer_bytes(program, prices)};
  CHECK_THROWS_AS(EventSimulation(program, {}, &contention), Error);
}

}  // namespace
}  // namespace penstock
