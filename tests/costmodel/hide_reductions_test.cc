#include "costmodel/hide_reductions.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

using namespace std::chrono_literals;

const OuterShapes kOneShape{{0}, {0}};
const std::vector<std::int64_t> kParameters{1000};

// One stage of 1,000 parameters in 2 bytes: F 30, I 40, W 25, B 60 us; reduction 80, gather 20 us.
StagePrices one_stage() {
  StagePrices prices;
  prices.stages = 1;
  prices.compute.resize(1);
  prices.compute[0].forward.duration = 30us;
  prices.compute[0].input_gradient.duration = 40us;
  prices.compute[0].weight_gradient.duration = 25us;
  prices.compute[0].fused_backward.duration = 60us;
  prices.step.resize(1);
  prices.step[0].parameters = Bytes{2000};
  prices.step[0].reduce_gradient.duration = 80us;
  prices.step[0].unshard.duration = 20us;
  return prices;
}

TrainingState in_buckets_of(std::int64_t parameters) {
  TrainingState training;
  training.bytes_per_parameter = Bytes{2};
  training.bucket_parameters = parameters;
  return training;
}

TEST_CASE("without buckets a reduction shows whole") {
  StagePrices prices = one_stage();
  hide_reductions(in_buckets_of(0), {false}, kOneShape, kParameters, prices);
  CHECK(prices == one_stage());
}

TEST_CASE("what takes longer than the backward beside it shows by the rest") {
  StagePrices prices = one_stage();
  hide_reductions(in_buckets_of(100), {false}, kOneShape, kParameters, prices);
  // 80 - 60 = 20 us, more than the last of ten buckets, 8 us; of the gather its first bucket, 2 us.
  CHECK(prices.step[0].reduce_gradient.duration == 20us);
  CHECK(prices.step[0].unshard.duration == 2us);
}

TEST_CASE("the last bucket always shows") {
  StagePrices prices = one_stage();
  hide_reductions(in_buckets_of(500), {false}, kOneShape, kParameters, prices);
  CHECK(prices.step[0].reduce_gradient.duration == 40us);  // half of it
  CHECK(prices.step[0].unshard.duration == 10us);
}

TEST_CASE("a stage smaller than a bucket hides nothing") {
  StagePrices prices = one_stage();
  hide_reductions(in_buckets_of(5000), {false}, kOneShape, kParameters, prices);
  CHECK(prices == one_stage());
}

TEST_CASE("where backward is divided only the last W hides") {
  StagePrices prices = one_stage();
  hide_reductions(in_buckets_of(100), {true}, kOneShape, kParameters, prices);
  CHECK(prices.step[0].reduce_gradient.duration == 55us);  // 80 - 25
}

TEST_CASE("with FSDP a pipeline's reduction shows whole, its gather by buckets") {
  StagePrices prices = one_stage();
  hide_reductions(in_buckets_of(100), {false, false}, kOneShape, kParameters, prices);
  CHECK(prices.step[0].reduce_gradient.duration == 80us);
  CHECK(prices.step[0].unshard.duration == 2us);
}

TEST_CASE("a short last micro-batch hides no more than its own backward") {
  StagePrices prices = one_stage();
  prices.shapes = 2;
  prices.compute.push_back(prices.compute[0]);
  prices.compute[1].forward.duration = 10us;
  prices.compute[1].fused_backward.duration = 20us;
  hide_reductions(in_buckets_of(100), {false}, {{0}, {1}}, kParameters, prices);
  CHECK(prices.step[0].reduce_gradient.duration == 60us);  // 80 - 20
  CHECK(prices.step[0].unshard.duration == 2us);           // beside a full forward, as before
}

// Chunks 0 and 1 of one rank, of which the second takes longer: behind the last B of chunk 1 (80 us
// of reduction) come one or two of chunk 0.
TEST_CASE("the reduction of a later chunk hides behind the backwards of the one before") {
  StagePrices prices = one_stage();
  prices.stages = 2;
  prices.compute.push_back(prices.compute[0]);
  prices.compute[1].fused_backward.duration = 75us;
  prices.compute[1].forward.duration = 10us;
  prices.step.push_back(prices.step[0]);
  const StagePrices whole = prices;
  BucketRule rule{false};
  rule.ranks = 1;
  rule.beside_other_chunks = 1;
  hide_reductions(in_buckets_of(100), rule, kOneShape, {1000, 1000}, prices);
  CHECK(prices.step[0].reduce_gradient.duration == 20us);  // as if it were alone
  CHECK(prices.step[0].unshard.duration == 2us);
  CHECK(prices.step[1].reduce_gradient.duration == 20us);  // 80 - 60, without a last bucket
  CHECK(prices.step[1].unshard.duration == 0us);           // 20 of 30 us of a forward
  prices = whole;
  rule.beside_other_chunks = 2;
  hide_reductions(in_buckets_of(100), rule, kOneShape, {1000, 1000}, prices);
  CHECK(prices.step[1].reduce_gradient.duration == 0us);  // 80 of 2 * 60 us
}

TEST_CASE("a bucket grows with the replicas beyond 40") {
  StagePrices prices = one_stage();
  BucketRule rule{false};
  rule.copies = 80;
  hide_reductions(in_buckets_of(250), rule, kOneShape, kParameters, prices);
  CHECK(prices.step[0].reduce_gradient.duration == 40us);  // half of it: 500 of 1,000
  CHECK(prices.step[0].unshard.duration == 10us);
}

}  // namespace
}  // namespace penstock
