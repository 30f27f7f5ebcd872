#include "costmodel/sharded_state.h"

#include <cmath>

#include <doctest/doctest.h>

namespace penstock {
namespace {

constexpr std::int64_t kLlama8B = 8'030'261'248;
constexpr std::int64_t kLayerOf8B = 218'112'000;

// bfloat16 weights, 32-bit gradients, master copy and two moments.
TrainingState mixed_precision(std::int64_t gradient = 4) {
  TrainingState training;
  training.bytes_per_parameter = Bytes{2};
  training.bytes_per_gradient = Bytes{gradient};
  training.optimizer_bytes_per_parameter = Bytes{12};
  return training;
}

Plan eight_replicas(Sharding sharding) {
  Plan plan;
  plan.data = 8;
  plan.zero1 = true;
  plan.sharding = sharding;
  return plan;
}

// To the hundredth, as it is printed.
double gib(std::int64_t bytes) {
  return std::round(static_cast<double>(bytes) / 0x1p30 * 100.0) / 100.0;
}

std::int64_t state_of(const Plan& plan, std::int64_t parameters = kLlama8B) {
  return ShardedState(mixed_precision(), plan).of(parameters).sum();
}

TEST_CASE("Llama-3-8B on 8 replicas holds 18, 6 + 12/d, 2 + 16/d, 18/d and 16/d bytes") {
  Plan plain = eight_replicas(Sharding::kState);
  plain.zero1 = false;
  CHECK(gib(state_of(plain)) == 134.62);
  CHECK(gib(state_of(eight_replicas(Sharding::kState))) == 56.09);
  CHECK(gib(state_of(eight_replicas(Sharding::kGradients))) == 29.92);
  CHECK(gib(state_of(eight_replicas(Sharding::kParameters))) == 16.83);
  CHECK(gib(state_of(eight_replicas(Sharding::kFsdp))) == 14.96);
}

TEST_CASE("gradients in 16 bits: 4 + 12/d with ZeRO-1; FSDP keeps its shards in 32 bits") {
  const ShardedState zero1(mixed_precision(2), eight_replicas(Sharding::kState));
  CHECK(zero1.of(800).sum() == 4 * 800 + 12 * 100);
  const ShardedState fsdp(mixed_precision(2), eight_replicas(Sharding::kFsdp));
  CHECK(fsdp.of(800).sum() == 16 * 100);
}

TEST_CASE("in 32 bits there is no master copy beside the weights") {
  TrainingState training;
  training.bytes_per_parameter = training.bytes_per_gradient = Bytes{4};
  training.optimizer_bytes_per_parameter = Bytes{8};
  const StateBytes bytes = ShardedState(training, eight_replicas(Sharding::kFsdp)).of(80);
  CHECK(bytes.parameters == 40);
  CHECK(bytes.gradients == 40);
  CHECK(bytes.optimizer == 80);
}

TEST_CASE("groups of shards divide by their size") {
  Plan plan = eight_replicas(Sharding::kFsdp);
  plan.shard_group = 4;
  CHECK(state_of(plan, 400) == 16 * 100);
  plan.shard_group = 1;  // each holder has all: nothing is sharded
  CHECK(state_of(plan, 400) == 18 * 400);
}

TEST_CASE("ranks that divide sequences hold the same weights") {
  Plan plan = eight_replicas(Sharding::kFsdp);
  plan.data = 2;
  plan.context = 4;
  CHECK(state_of(plan, 800) == 16 * 100);
}

TEST_CASE("what is divided is rounded up, each kind by itself") {
  const StateBytes bytes =
      ShardedState(mixed_precision(), eight_replicas(Sharding::kParameters)).of(3);
  CHECK(bytes.parameters == 1);  // 6 / 8
  CHECK(bytes.gradients == 2);   // 12 / 8
  CHECK(bytes.optimizer == 5);   // 36 / 8
}

// 405B on TP 8, PP 8: 6.34e9 parameters a rank, 8 replicas.
TEST_CASE("with a pipeline FSDP keeps weights and gradients whole for the step: 6 + 16/d") {
  Plan plan = eight_replicas(Sharding::kFsdp);
  plan.pipeline = 8;
  const ShardedState state(mixed_precision(), plan);
  const std::int64_t parameters = 6'340'000'000;
  CHECK(state.of(parameters).sum() == 6 * parameters + 2 * parameters);
  CHECK(std::abs(6 * parameters / 0x1p30 - 35.4) < 0.05);
  CHECK(std::abs(2 * parameters / 0x1p30 - 11.8) < 0.05);
  CHECK_FALSE(state.has_buffers());
}

TEST_CASE("a layer of 8B takes 10 bytes per parameter while FSDP comes by, 2.03 GiB") {
  const ShardedState state(mixed_precision(), eight_replicas(Sharding::kFsdp));
  CHECK(state.buffers(kLayerOf8B, kLayerOf8B, kLayerOf8B) == 10 * kLayerOf8B);
  CHECK(gib(10 * kLayerOf8B) == 2.03);
}

// 2 W of a layer and of the head or embedding (128,256 x 4,096), and the 4 W in which the gradients
// of a layer are reduced.
TEST_CASE("gathered, a layer of 8B takes 0.406 GiB and its head 0.979; gradients come as 0.8125") {
  const auto gathered = [](double parameters) { return 2.0 * parameters / 0x1p30; };
  CHECK(std::round(1000.0 * gathered(kLayerOf8B)) == 406.0);
  CHECK(std::round(1e4 * 2.0 * gathered(kLayerOf8B)) == 8125.0);
  // With the last norm, which is gathered with the head: 0.979 as well.
  CHECK(std::round(1000.0 * gathered(128'256.0 * 4'096 + 4'096)) == 979.0);
  const ShardedState state(mixed_precision(), eight_replicas(Sharding::kFsdp));
  // One layer alone: its weights and gradients, and what is reduced of the one behind.
  CHECK(state.buffers(0, kLayerOf8B, 0) == 6 * kLayerOf8B);
}

// The head has a whole copy and a gradient of its own while the last layer is gathered; then what
// is reduced of it, in 32 bits, lies beside that layer and the next one.
TEST_CASE("the largest buffers are those around the largest section") {
  const ShardedState state(mixed_precision(), eight_replicas(Sharding::kFsdp));
  const std::vector<std::int64_t> parameters{5, 10, 10, 50};
  const auto of = [&](int i) { return parameters[static_cast<std::size_t>(i)]; };
  // In B of the head 50 (2 + 2) + 10 * 2, behind it 50 (2 + 4) + 2 * 10 * 2 = 340; in B of the
  // layer before 10 (2 + 2) + 10 * 2 + 50 * 4 = 260.
  CHECK(most_section_buffers(state, 0, 4, of) == 340);
}

TEST_CASE("ZeRO-1 has no buffers, ZeRO-2 those of gradients only") {
  const ShardedState zero1(mixed_precision(), eight_replicas(Sharding::kState));
  CHECK(zero1.buffers(10, 10, 10) == 0);
  const ShardedState zero2(mixed_precision(), eight_replicas(Sharding::kGradients));
  CHECK(zero2.buffers(10, 10, 10) == 80);  // own and what is reduced of the one behind
}

TEST_CASE("the least per parameter is no more than the sum of any parts") {
  for (const Sharding sharding :
       {Sharding::kState, Sharding::kGradients, Sharding::kParameters, Sharding::kFsdp}) {
    const ShardedState state(mixed_precision(), eight_replicas(sharding));
    for (const std::int64_t parts : {1, 3, 7, 100}) {
      CHECK(state.least_of(1001) <= state.of(parts).sum() + state.of(1001 - parts).sum());
    }
  }
}

// Qwen3-235B on 256 devices, T 2, P 8, EP 32: 12 layers of a middle rank, attention 427.8e6 over 16
// holders (6 + 12 / 16 bytes), experts 906.0e6 that nobody else has (18 bytes): 2.89 + 16.31 GB.
TEST_CASE("experts are divided by those that hold them, everything else by all") {
  Plan plan;
  plan.tensor = 2;
  plan.pipeline = 8;
  plan.data = 16;
  plan.expert = 32;
  plan.expert_tensor = 1;
  plan.zero1 = true;
  const ShardedState state(mixed_precision(), plan);
  const auto gb = [](std::int64_t bytes) {
    return std::round(static_cast<double>(bytes) / 1e9 * 100.0) / 100.0;
  };
  CHECK(gb(state.of(HeldParameters{427'800'000, 0}).sum()) == 2.89);
  CHECK(gb(state.of(HeldParameters{906'000'000, 906'000'000}).sum()) == 16.31);
  CHECK(gb(state.of(HeldParameters{1'333'800'000, 906'000'000}).sum()) == 19.2);
}

}  // namespace
}  // namespace penstock
