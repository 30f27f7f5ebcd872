// Every short cut of the search against the plain way: bounds on and off, one thread and two.
#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "search/best_plans.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::all_of;
using testing::check_result;
using testing::gpt;
using testing::p4d;
using testing::Random;
using testing::rejected_in_all;
using testing::search;

struct Question {
  ModelProfile model;
  ClusterSpec cluster;
  SearchRequest request;
  ExecutorModel executor;
};

// The bounded search on two threads, compared with itself on one and with the exhaustive one.
SearchResult compare(const Question& q) {
  SearchRequest request = q.request;
  request.threads = 2;
  const SearchResult bounded = search(q.model, q.cluster, request, q.executor);
  request.threads = 1;
  const SearchResult again = search(q.model, q.cluster, request, q.executor);
  request.bounds = false;
  SearchResult plain = search(q.model, q.cluster, request, q.executor);

  CHECK(all_of(bounded.best) == all_of(plain.best));
  CHECK(all_of(bounded.pareto) == all_of(plain.pareto));
  CHECK(bounded.candidates == plain.candidates);
  CHECK(plain.bounded == 0);
  CHECK(plain.candidates == plain.evaluated + rejected_in_all(plain));

  CHECK(all_of(again.best) == all_of(bounded.best));
  CHECK(all_of(again.pareto) == all_of(bounded.pareto));
  CHECK(again.evaluated == bounded.evaluated);
  CHECK(again.bounded == bounded.bounded);
  CHECK(again.rejected.size() == bounded.rejected.size());
  for (std::size_t i = 0; i < again.rejected.size(); ++i) {
    CHECK(again.rejected[i].reason == bounded.rejected[i].reason);
    CHECK(again.rejected[i].candidates == bounded.rejected[i].candidates);
  }
  check_result(q.model, q.cluster, bounded, q.executor);
  return plain;
}

void set_random_pins(Random& random, Pins& pins) {
  const auto pinned = [&](std::optional<int>& pin, int most) {
    if (random.between(0, 3) == 0) pin = random.between(1, most);
  };
  pinned(pins.pipeline, 3);
  pinned(pins.chunks, 5);
  pinned(pins.data, 4);
  pinned(pins.tensor, 2);
  pinned(pins.micro_batch_size, 9);  // also more than a replica has samples
  if (random.between(0, 3) == 0) pins.zero1 = random.coin();
  if (random.between(0, 3) == 0) pins.recompute = random.coin() ? "none" : "full";
  if (random.between(0, 3) == 0) pins.placement = Placement::kDataInner;
  if (random.between(0, 3) == 0) pins.schedules = {"interleaved", "zb-h1"};
}

Question random_question(Random& random) {
  Question q;
  q.model = testing::random_model(random, random.between(1, 7));
  const int nodes = random.between(1, 4);
  const int per_node = random.between(1, 2) * 2;
  q.cluster = testing::random_cluster(random, nodes, per_node);
  q.request.gpus = random.between(1, std::min(8, nodes * per_node));
  q.request.global_batch = random.between(1, 20);
  q.request.top = random.between(1, 6);
  if (random.between(0, 2) == 0) set_random_pins(random, q.request.pins);
  return q;
}

TEST_CASE("bounds and threads change neither the best plans nor the front") {
  Random random(31);
  const int questions = testing::kWatched ? 12 : 40;
  int with_plans = 0;
  for (int i = 0; i < questions; ++i) {
    CAPTURE(i);
    if (!compare(random_question(random)).best.empty()) ++with_plans;
  }
  CHECK(with_plans >= questions * 3 / 8);
  CHECK(with_plans < questions);  // and some do not fit
}

TEST_CASE("nor with several device types, where plans may mix them") {
  Random random(34);
  const int questions = testing::kWatched ? 6 : 24;
  int mixed = 0;
  for (int i = 0; i < questions; ++i) {
    CAPTURE(i);
    Question q;
    q.model = testing::random_model_on_two(random, {2, 6}, {1, 3});
    q.cluster = testing::random_cluster(random, random.between(1, 2), 2);
    testing::add_nodes(q.cluster, "old", random.between(1, 3), random.between(1, 2),
                       random.between(500, 5000));
    if (random.between(0, 3) == 0) {
      q.model = testing::also_on(q.model, "third", 2);
      testing::add_nodes(q.cluster, "third", 1, 2, random.between(500, 5000));
    }
    q.request.gpus = random.between(2, std::min(6, device_count(q.cluster)));
    q.request.global_batch = random.between(1, 12);
    q.request.top = random.between(1, 6);
    if (random.between(0, 3) == 0) q.executor.per_transfer = Duration{random.between(0, 2000)};
    const SearchResult plain = compare(q);
    if (!plain.best.empty() && plain.best.front().plan.is_mixed()) ++mixed;
  }
  CHECK(mixed >= (testing::kWatched ? 1 : 5));
}

TEST_CASE("nor under executors that block, queue and cost") {
  Random random(32);
  for (int i = 0; i < (testing::kWatched ? 4 : 12); ++i) {
    CAPTURE(i);
    Question q = random_question(random);
    q.executor.transfer = static_cast<TransferMode>(random.between(0, 2));
    q.executor.queues = static_cast<QueueLayout>(random.between(0, 3));
    q.executor.receive_must_be_posted = random.coin();
    q.executor.per_action = Duration{random.between(0, 2000)};
    q.executor.per_transfer = Duration{random.between(0, 2000)};
    if (random.coin()) q.executor.optimizer = OptimizerGate::kPostValidation;
    compare(q);
  }
}

TEST_CASE("nor in DeepSpeed's order of transfers") {
  Random random(33);
  for (int i = 0; i < (testing::kWatched ? 4 : 12); ++i) {
    CAPTURE(i);
    Question q = random_question(random);
    q.executor.issue = IssueOrder::kDeepSpeed;
    if (random.coin()) q.executor.transfer = TransferMode::kRendezvous;
    q.executor.queues = static_cast<QueueLayout>(random.between(0, 3));
    compare(q);
  }
}

TEST_CASE("nor on the shipped GPT-6.7B: 8 GPUs, and 8 of a batch that divides") {
  for (const std::array<int, 3> asked : {std::array{8, 16, 1024}, std::array{8, 37, 2048}}) {
    // The second takes most of the time.
    if (testing::kWatched && asked[1] == 37) {
      continue;
    }
    CAPTURE(asked[0]);
    Question q{gpt(), p4d(), {}, {}};
    q.request.gpus = asked[0];
    q.request.global_batch = asked[1];
    q.request.sequence_length = asked[2];
    const SearchResult plain = compare(q);
    CHECK_FALSE(plain.best.empty());
  }
}

}  // namespace
}  // namespace penstock
