#include "spilling/spilled_program.h"

#include <algorithm>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "core/values/executor_model.h"
#include "core/values/stage_prices.h"
#include "multi/replay_units.h"
#include "simulator/simulate.h"
#include "spilling/best_shards.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

StagePrices prices_of(const std::vector<ShardTime>& shards) {
  StagePrices prices;
  prices.stages = static_cast<int>(shards.size());
  for (std::size_t s = 0; s < shards.size(); ++s) {
    ComputePrice compute;
    compute.forward.duration = shards[s].forward;
    compute.fused_backward.duration = shards[s].back(s + 1 == shards.size());
    prices.compute.push_back(compute);
    prices.transfer.emplace_back();
    StepPrice step;
    step.load.duration = shards[s].load;
    step.store.duration = shards[s].store;
    prices.step.push_back(step);
  }
  return prices;
}

Duration step_of(const std::vector<ShardTime>& shards, const SpilledBatch& batch = {},
                 HostLink link = HostLink::kDuplex) {
  ExecutorModel executor;
  executor.optimizer = OptimizerGate::kPostValidation;
  executor.host_link = link;
  const Program program = spilled_program(static_cast<int>(shards.size()), batch);
  return simulate(program, prices_of(shards), executor).step_end - SimTime{};
}

int count_of(const Program& program, ActionKind kind) {
  int count = 0;
  for (const Action& action : program.actions) count += action.kind == kind ? 1 : 0;
  return count;
}

std::vector<ShardTime> equal(int shards, Duration store = {}) {
  std::vector<ShardTime> all(static_cast<std::size_t>(shards),
                             {milliseconds(200), milliseconds(400), Duration{333'333'333}, store});
  all.back().backward = milliseconds(600);
  return all;
}

std::string list_of(const Program& program) {
  std::string names;
  for (const Action& action : program.actions) {
    names += (names.empty() ? "" : " ") + name_of(program, action);
  }
  return names;
}

}  // namespace

TEST_CASE("a step of a spilled model takes what the closed form says, to the nanosecond") {
  CHECK(step_of(equal(4)) == Duration{3'466'666'666});
  CHECK(step_of(equal(3)) == Duration{2'533'333'333});
  CHECK(step_of(equal(2)) == milliseconds(1600));
}

// The example again: L before F1 hides behind F0 (0.2 s) and so on, three times 1/3 s; 0.8 s hide
// shard 2's load, 0.6 s those of 1 and 0: 1 + 0.8 + 3 x 0.6 = 3.6 s. One slot: 3.2 s of compute and
// six loads of 1/3 s, one after the other: 5.2 s.
TEST_CASE("loads before every unit but the first take 3.6 s, one slot 5.2 s") {
  SpilledBatch batch;
  batch.buffering = Buffering::kReload;
  CHECK(step_of(equal(4), batch) == Duration{3'599'999'999});
  CHECK(count_of(spilled_program(4, batch), ActionKind::kLoad) == 6);
  batch.buffering = Buffering::kOne;
  CHECK(step_of(equal(4), batch) == Duration{5'199'999'998});
  CHECK(count_of(spilled_program(4, batch), ActionKind::kLoad) == 6);
  CHECK(spilled_program(4, batch).pipelines[0].weight_slots == 1);
}

// With copies back and several passes. Where the host updates, a step that ends with one shard on
// the device loads one less at its end, and may be shorter for that.
TEST_CASE("a step is no longer for its second slot, or for what it does not load again") {
  std::mt19937 random(11);
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  for (int i = 0; i < testing::draws(60); ++i) {
    std::vector<ShardTime> shards;
    for (int s = 2 + below(6); s > 0; --s) {
      const Duration forward{10 + below(90)};
      shards.push_back({forward, 2 * forward, Duration{below(300)}, Duration{below(20)}});
    }
    SpilledBatch batch{1 + below(3), 1 + below(2), {}, below(2) == 0, below(3) == 0};
    CAPTURE(i);
    const Duration missing = step_of(shards, batch);
    const int count = static_cast<int>(shards.size());
    for (const Buffering use : {Buffering::kReload, Buffering::kOne}) {
      batch.buffering = use;
      CHECK(count_of(spilled_program(count, batch), ActionKind::kLoad) ==
            batch.passes * (2 * count - 2) + (batch.reloads_updated || batch.clips ? 1 : 0));
      if (!batch.reloads_updated && !batch.clips) CHECK(step_of(shards, batch) >= missing);
    }
  }
}

TEST_CASE("the list of three shards is the one that the documentation has") {
  CHECK(list_of(spilled_program(3, {})) ==
        "0F0 0RESHARD 2LOAD 1F0 2F0 2B0 2OPT 2STORE 2RESHARD 0LOAD 1B0 1OPT 1STORE 0B0 0OPT "
        "0STORE");
}

// Three shards, F = 0.2 s, B = 0.6 s with the forward, L = 1/3 s, W = 0.1 s, O = 0.05 s on the
// host:
//
//   compute  F0 0..0.2  F1 ..0.4  F2 0.533..0.733  B2 ..1.333  B1 ..1.933  B0 ..2.533
//            O0 2.633..2.683  O1 ..2.733  O2 ..2.783
//   in       L2 0.2..0.533  L0 1.433..1.767  L0 2.683..3.017  L1 3.017..3.350
//   out      W2 1.333..1.433  W1 1.933..2.033  W0 2.533..2.633, and then the norm
TEST_CASE("with a norm the updates follow the last copy back, and loads of shards 0 and 1 theirs") {
  SpilledBatch batch;
  batch.reloads_updated = batch.clips = true;
  const Program program = spilled_program(3, batch);
  CHECK(list_of(program) ==
        "0F0 0RESHARD 2LOAD 1F0 2F0 2B0 2STORE 2RESHARD 0LOAD 1B0 1STORE 0B0 0STORE 0NORM 0OPT "
        "0RESHARD 0LOAD 1OPT 1RESHARD 1LOAD 2OPT");
  StagePrices prices = prices_of(equal(3, milliseconds(100)));
  for (StepPrice& step : prices.step) step.optimizer.duration = milliseconds(50);
  CHECK(simulate(program, prices, {}).step_end - SimTime{} == Duration{3'349'999'999});
}

// H1: max(0, 2S - 4) loads and S copies back in a pass; two loads more (one of a single shard)
// where the host updates.
TEST_CASE("a pass loads 2S - 4 shards and copies each back once") {
  for (int shards = 1; shards <= 9; ++shards) {
    for (const int passes : {1, 3}) {
      CAPTURE(shards);
      SpilledBatch batch{passes, 2, {}, false};
      const Program program = spilled_program(shards, batch);
      CHECK(count_of(program, ActionKind::kLoad) == passes * std::max(0, 2 * shards - 4));
      CHECK(count_of(program, ActionKind::kStore) == passes * shards);
      CHECK(count_of(program, ActionKind::kOptimizer) == shards);
      CHECK(count_of(program, ActionKind::kForward) == passes * 2 * shards);
      batch.reloads_updated = true;
      CHECK(count_of(spilled_program(shards, batch), ActionKind::kLoad) ==
            passes * std::max(0, 2 * shards - 4) + std::min(2, shards));
    }
  }
}

// Times in whole nanoseconds; copies back never wait for each other (W <= B).
TEST_CASE("the closed form is exact without copies back, and no less than the step with them") {
  std::mt19937 random(5);
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  for (int i = 0; i < testing::draws(200); ++i) {
    std::vector<ShardTime> shards;
    for (int s = 2 + below(7); s > 0; --s) {
      const Duration forward{10 + below(90)};
      shards.push_back({forward, 2 * forward, Duration{below(400)}, {}});
    }
    CAPTURE(i);
    for (const bool reloads : {false, true}) {
      SpilledBatch batch;
      batch.reloads_updated = reloads;
      const Duration without = closed_form(shards, reloads);
      CHECK(step_of(shards, batch) == without);
      std::vector<ShardTime> copied = shards;
      for (ShardTime& shard : copied) shard.store = Duration{below(20)};
      CHECK(step_of(copied, batch) >= without);
      CHECK(step_of(copied, batch) <= closed_form(copied, reloads));
    }
  }
}

// The replay of units that `multi` schedules is another engine with the rule of its own that what
// is in a slot is not loaded again: once both have their steady state they agree.
TEST_CASE("the Program and the units of many steps agree on a step") {
  std::mt19937 random(7);
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  for (int i = 0; i < 40; ++i) {
    std::vector<ShardTime> shards;
    for (int s = 3 + below(5); s > 0; --s) {
      const Duration forward{100 + below(100)};
      shards.push_back({forward, 2 * forward, Duration{below(600)}, Duration{}});
    }
    std::vector<ShardTimes> of_units;
    for (const ShardTime& shard : shards) {
      of_units.push_back({shard.forward, shard.back(false), shard.load, shard.store});
    }
    of_units.back().backward = shards.back().back(true);
    const auto after = [&](std::int64_t steps) {
      return replay_units({{"m", units_of_shards(of_units), steps}}, 1).makespan;
    };
    CAPTURE(i);
    CHECK(after(5) - after(4) == step_of(shards));
  }
}

TEST_CASE("on a simplex link a step is no shorter") {
  const std::vector<ShardTime> shards = equal(5, milliseconds(500));
  CHECK(step_of(shards, {}, HostLink::kSimplex) >= step_of(shards));
}

}  // namespace penstock
