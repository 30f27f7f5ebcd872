#include "search/best_plans.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/values/sharding.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::check_result;
using testing::cluster_of;
using testing::Costs;
using testing::gpt;
using testing::model_of_sections;
using testing::p4d;
using testing::search;

SearchRequest request_of(int gpus, int global_batch) {
  SearchRequest request;
  request.gpus = gpus;
  request.global_batch = global_batch;
  return request;
}

// "P2 V1 D1 b1 1f1b" of the plan.
std::string short_words(const RankedPlan& ranked) {
  const Plan& p = ranked.plan;
  return "P" + std::to_string(p.pipeline) + " V" + std::to_string(p.chunks) + " D" +
         std::to_string(p.data) + " b" + std::to_string(p.micro_batch_size) + " " + p.schedule +
         (p.zero1 ? " " + sharding_words(p) : "");
}

const std::vector<std::string> kFive{"gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1"};

// F = 1, 1, 1, 3 and B = 2, 2, 2, 6 us, 10 parameters of 4 bytes per section, no activations;
// b = 1, a batch of 2, two GPUs joined by 1 GB/s.
//
// One GPU: 2 * 18 = 36 us. Two replicas: 18 us, then the gradients' 40 bytes (reduced in 40 ns, or
// under ZeRO-1 scattered and the parameters gathered in 20 each) and the norm's 4 (4 ns). With FSDP
// the first section's 10 bytes show, gathered and scattered in 5 ns each, and 1 ns for every copy:
// 4 forward, 7 backward. Its shards of gradients have 4 bytes: 20 + 80 + 40, and buffers of 40.
// ZeRO-3 is the same without copies, with gradients of 1 byte: 20 + 20 + 40 + 40. ZeRO-2 scatters
// the first section's gradients in 5 ns and gathers 40 bytes in 20 behind the update; it holds
// 40 + 20 + 40, and 20 to reduce.
// P = 2 is cut 9 | 9 us:
//
//   1f1b, gpipe    (2 + 2 - 1) * 9 = 27
//   zb-h1    0: F0 F1       I0 W0 I1 W1                         3 us each: 21
//            1:    F0 I0 F1 I1 W0 W1
//   V = 2    0: F0 F0 F2 F2         B2(12..14)    B2(21..23) B0(23..25) B0(25..27)
//            1:    F1 F1 F3 B3(..12) F3 B3(..21)  B1(21..23) B1(23..25)      interleaved: 27
//            1:    F1 F1 F3 F3(..9) B3(..15) B3(..21) B1 B1(..25)            looped-bfs: 27
//
// Those of 27 us with V = 1 send 4 messages, with V = 2 12: fewer come first.
TEST_CASE("all plans of four sections on two GPUs by five schedules, by hand") {
  const ModelProfile model = model_of_sections({{1, 2, 10}, {1, 2, 10}, {1, 2, 10}, {3, 6, 10}}, 1);
  const ClusterSpec cluster = cluster_of({1, 2, 1'000'000, 1e9});
  SearchRequest request = request_of(2, 2);
  request.top = 100;
  const SearchResult result = search(model, cluster, request);
  std::vector<RankedPlan> best = result.best;
  std::erase_if(best, [](const RankedPlan& ranked) {
    return std::find(kFive.begin(), kFive.end(), ranked.plan.schedule) == kFive.end();
  });
  struct Expected {
    const char* plan;
    std::int64_t step_ns, memory;
    const char* placed;
  };
  const char* side_by_side = "one pipeline; all 1 pipeline transfers use inside";
  const std::vector<Expected> expected{
      {"P1 V1 D2 b1 1f1b ZeRO-3", 18'014, 120, "every DP rank holds the whole model"},
      {"P1 V1 D2 b1 1f1b FSDP", 18'025, 180, "every DP rank holds the whole model"},
      {"P1 V1 D2 b1 1f1b ZeRO-2", 18'029, 120, "every DP rank holds the whole model"},
      {"P1 V1 D2 b1 1f1b ZeRO-1", 18'044, 120, "every DP rank holds the whole model"},
      {"P1 V1 D2 b1 1f1b", 18'044, 160, "every DP rank holds the whole model"},
      {"P2 V1 D1 b1 zb-h1", 21'004, 120, side_by_side},
      {"P2 V1 D1 b1 1f1b", 27'004, 120, side_by_side},
      {"P2 V1 D1 b1 gpipe", 27'004, 120, side_by_side},
      {"P2 V2 D1 b1 interleaved", 27'004, 80, "one pipeline; all 3 pipeline transfers use inside"},
      {"P2 V2 D1 b1 looped-bfs", 27'004, 80, "one pipeline; all 3 pipeline transfers use inside"},
      {"P1 V1 D1 b1 1f1b", 36'000, 160, "one GPU"},
  };
  REQUIRE(best.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const RankedPlan& ranked = best[i];
    CHECK(short_words(ranked) == expected[i].plan);
    CHECK(ranked.evaluation.step_time == Duration{expected[i].step_ns});
    CHECK(ranked.evaluation.peak_memory() == Bytes{expected[i].memory});
    CHECK(ranked.placed == expected[i].placed);
    CHECK(ranked.tied_with_best == (i >= 1 && i <= 4));
  }
  CHECK(best[5].plan.cuts == std::vector{0, 3, 4});
  CHECK(best[8].plan.cuts == std::vector{0, 1, 2, 3, 4});
  CHECK_FALSE(result.nearest_miss);
  CHECK(result.complete);
  check_result(model, cluster, result);
}

TEST_CASE("the first K of the ranking, whatever K") {
  const ModelProfile model = model_of_sections({{1, 2, 10}, {1, 2, 10}, {1, 2, 10}, {3, 6, 10}}, 1);
  const ClusterSpec cluster = cluster_of({1, 2, 1'000'000, 1e9});
  SearchRequest request = request_of(2, 2);
  request.pins.schedules = kFive;
  const SearchResult all = search(model, cluster, request);
  for (request.top = 1; request.top <= 8; ++request.top) {
    const SearchResult some = search(model, cluster, request);
    REQUIRE(static_cast<int>(some.best.size()) == request.top);
    CHECK(some.best.back().plan == all.best[some.best.size() - 1].plan);
    CHECK(some.candidates == all.candidates);
  }
}

TEST_CASE("micro-batches of one sample are tried though larger ones were measured") {
  ModelProfile model = model_of_sections({{1, 2, 10, 100}, {1, 2, 10, 100}});
  for (SectionType& type : model.section_types) {
    type.measurements[0] = type.measurements[1];  // b = 8 and 4
    Measurement& half = type.measurements[0];
    half.micro_batch_size = 4;
    half.forward.median /= 2;
    half.fused_backward->median /= 2;
    half.stash = {half.stash.count / 2};
  }
  // Two sections of 100 bytes per sample beside 80 bytes of state: one sample fits, two do not.
  const SearchResult result = search(model, cluster_of({1, 1, 300}), request_of(1, 8));
  REQUIRE(result.best.size() == 1);
  CHECK(result.best[0].plan.micro_batch_size == 1);
  CHECK(result.best[0].evaluation.step_time == Duration{8 * 6000});
  check_result(model, cluster_of({1, 1, 300}), result);
}

TEST_CASE("and win where pipelines are filled by many") {
  // Four equal stages, work in proportion to b: (M + 3) * 12 * b us is least for b = 1.
  const ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{4, 8}));
  SearchRequest request = request_of(4, 16);
  request.pins.pipeline = 4;
  request.pins.schedules = {"1f1b"};
  const SearchResult result = search(model, cluster_of({1, 4}), request);
  REQUIRE_FALSE(result.best.empty());
  CHECK(result.best[0].plan.micro_batch_size == 1);
  CHECK(result.best[0].evaluation.step_time == Duration{19 * 12'000 + 1});  // the norm takes 1 ns
  CHECK(result.best[1].plan.micro_batch_size == 2);
}

TEST_CASE("as many stages as sections, when nothing else fits") {
  const ModelProfile model = model_of_sections(std::vector<Costs>(5, Costs{1, 2, 20}));
  const ClusterSpec cluster = cluster_of({1, 8, 100});  // 80 bytes per section
  const SearchResult result = search(model, cluster, request_of(8, 4));
  REQUIRE_FALSE(result.best.empty());
  for (const RankedPlan& ranked : result.best) CHECK(ranked.plan.pipeline == 5);
  check_result(model, cluster, result);
}

TEST_CASE("devices stay idle when fewer are faster") {
  // One section: no pipeline. Seven samples on eight devices: seven replicas of one each.
  const ModelProfile model = model_of_sections({{1, 2, 10}});
  const ClusterSpec cluster = cluster_of({1, 8});
  const SearchResult result = search(model, cluster, request_of(8, 7));
  REQUIRE_FALSE(result.best.empty());
  CHECK(result.best[0].plan.devices() == 7);
  CHECK(result.best[0].plan.data == 7);
  check_result(model, cluster, result);
  // Nine samples: five devices have no more to do than eight.
  const SearchResult nine = search(model, cluster, request_of(8, 9));
  CHECK(nine.best[0].plan.devices() == 5);
}

TEST_CASE("no plan fits: no best, the nearest miss, and a remedy that works") {
  const ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 20, 10}));
  const ClusterSpec cluster = cluster_of({1, 4, 200});
  SearchRequest request = request_of(4, 8);
  request.pins.pipeline = 2;  // 160 bytes of state per stage
  request.pins.data = 1;
  request.pins.micro_batch_size = 4;
  request.pins.schedules = {"gpipe"};
  const SearchResult none = search(model, cluster, request);
  CHECK(none.best.empty());
  CHECK(none.pareto.empty());
  REQUIRE(none.nearest_miss);
  // 160 + two micro-batches of 2 * 4 * 10 bytes each.
  CHECK(none.nearest_miss->reason ==
        "TP 1 x PP 2 x DP 1, mbs 4, gpipe, no recompute: rank 0 over memory");
  CHECK(none.nearest_miss->least_over == Bytes{120});
  CHECK(none.nearest_miss->remedy == "PP 4");
  request.pins.pipeline = 4;
  CHECK_FALSE(search(model, cluster, request).best.empty());

  request.pins.pipeline = 2;
  request.pins.schedules = {"1f1b"};
  request.pins.micro_batch_size = 2;
  const SearchResult deep = search(model, cluster, request);
  REQUIRE(deep.nearest_miss);  // two micro-batches of 2 * 20 bytes on stage 0
  CHECK(deep.nearest_miss->reason ==
        "TP 1 x PP 2 x DP 1, mbs 2, 1f1b, no recompute: rank 0 over memory");
  CHECK(deep.nearest_miss->least_over == Bytes{40});
  CHECK(deep.nearest_miss->remedy == "micro-batch size 1");
  request.pins.micro_batch_size = 1;
  CHECK_FALSE(search(model, cluster, request).best.empty());
}

TEST_CASE("state alone too large: sharded, it fits") {
  const ModelProfile model = model_of_sections({{1, 2, 100}});
  SearchRequest request = request_of(4, 8);
  request.pins.zero1 = false;
  const ClusterSpec cluster = cluster_of({1, 4, 300});  // 400 bytes, of which 200 are shared by 4
  const SearchResult none = search(model, cluster, request);
  CHECK(none.best.empty());
  REQUIRE(none.nearest_miss);
  CHECK(none.nearest_miss->reason.ends_with(": rank 0 over memory"));
  CHECK(none.nearest_miss->least_over == Bytes{100});
  CHECK(none.candidates == testing::rejected_in_all(none));
  request.pins.zero1 = true;
  const SearchResult sharded = search(model, cluster, request);
  REQUIRE_FALSE(sharded.best.empty());
  CHECK(sharded.best[0].plan.zero1);
  CHECK(sharded.best[0].evaluation.peak_memory() == Bytes{250});
}

TEST_CASE("a batch that no schedule can divide is a reason, not silence") {
  const ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{}), 1);
  SearchRequest request = request_of(2, 7);
  request.pins.pipeline = 2;
  request.pins.schedules = {"interleaved"};
  const SearchResult result = search(model, cluster_of({1, 2}), request);
  CHECK(result.best.empty());
  REQUIRE(result.rejected.size() == 1);
  CHECK(result.rejected[0].reason ==
        "rule of the schedule, for example interleaved: M = 7 cannot be divided into 3 equal "
        "rounds (PyTorch's rule M % max(1, M / P) = 0 with P = 2)");
  CHECK(result.rejected[0].candidates == result.candidates);
  CHECK_FALSE(result.nearest_miss);  // nothing that a few bytes would help
}

// A random model that was measured for T = 1, 2 and with recomputation.
ModelProfile versatile_model() {
  testing::Random random(30);
  while (true) {
    ModelProfile model = testing::random_model(random, 8);
    if (model.section_types[0].measurements.size() == 12) return model;
  }
}

TEST_CASE("what is pinned stays") {
  const ModelProfile model = versatile_model();
  const ClusterSpec cluster = cluster_of({2, 4, 1'000'000, 1e9});
  SearchRequest request = request_of(8, 16);
  request.top = 20;
  const auto every = [&](auto holds) {
    const SearchResult result = search(model, cluster, request);
    CHECK_FALSE(result.best.empty());
    for (const auto* list : {&result.best, &result.pareto}) {
      for (const RankedPlan& ranked : *list) CHECK(holds(ranked.plan));
    }
    request.pins = {};
  };
  request.pins.pipeline = 4;
  every([](const Plan& p) { return p.pipeline == 4; });
  request.pins.chunks = 2;
  every([](const Plan& p) { return p.chunks == 2; });
  request.pins.data = 2;
  every([](const Plan& p) { return p.data == 2; });
  request.pins.tensor = 2;
  every([](const Plan& p) { return p.tensor == 2; });
  request.pins.micro_batch_size = 3;
  every([](const Plan& p) { return p.micro_batch_size == 3; });
  request.pins.schedules = {"zb-h1", "gpipe"};
  every([](const Plan& p) { return p.schedule == "zb-h1" || p.schedule == "gpipe"; });
  request.pins.recompute = "full";
  every([](const Plan& p) { return p.recompute == "full"; });
  request.pins.zero1 = true;
  every([](const Plan& p) { return p.zero1 || p.data == 1; });  // one replica shares with nobody
  request.pins.zero1 = false;
  every([](const Plan& p) { return !p.zero1; });
  request.pins.device = "gpu";
  every([](const Plan& p) { return p.device == "gpu"; });
  request.pins.placement = Placement::kDataInner;
  every([](const Plan& p) { return p.placement == Placement::kDataInner; });
}

// Ends the search after a number of groups.
class StopAfter : public SearchProgress {
 public:
  explicit StopAfter(int groups) : left_(groups) {}
  void update(std::int64_t done, std::int64_t candidates, Duration best_step) override {
    CHECK(done >= done_);
    CHECK(done <= candidates);
    CHECK((best_.count() == 0 || best_step <= best_));
    done_ = done;
    best_ = best_step;
    --left_;
  }
  bool stop() override { return left_ == 0; }

 private:
  int left_;
  std::int64_t done_ = 0;
  Duration best_{};
};

TEST_CASE("a stopped search hands over the best so far and says so") {
  PlanInputs inputs;
  inputs.profile = &gpt();
  inputs.cluster = &p4d();
  SearchRequest request = request_of(16, 64);
  request.sequence_length = 1024;
  if (testing::kWatched) request.pins.tensor = 4;
  StopAfter at_once(0);
  const SearchResult nothing = best_plans(inputs, request, at_once);
  CHECK_FALSE(nothing.complete);
  CHECK(nothing.best.empty());
  CHECK(nothing.evaluated == 0);
  StopAfter early(testing::kWatched ? 15 : 60);
  const SearchResult some = best_plans(inputs, request, early);
  CHECK_FALSE(some.complete);
  CHECK_FALSE(some.best.empty());
  check_result(gpt(), p4d(), some);
  StopAfter never(-1);
  const SearchResult all = best_plans(inputs, request, never);
  CHECK(all.complete);
  CHECK(all.best[0].evaluation.step_time <= some.best[0].evaluation.step_time);
  CHECK(some.evaluated < all.evaluated);
}

// Ends it when it is asked for the so manieth time.
class StopAtAsk : public SearchProgress {
 public:
  explicit StopAtAsk(int at) : at_(at) {}
  void update(std::int64_t done, std::int64_t candidates, Duration best_step) override {
    static_cast<void>(done), static_cast<void>(candidates), static_cast<void>(best_step);
    since_update = 0;
  }
  bool stop() override {
    ++asked, ++since_update;
    return asked >= at_;
  }
  int asked = 0, since_update = 0;

 private:
  int at_;
};

TEST_CASE("a search is asked to stop while it improves cuts, too, and is not complete then") {
  const PlanInputs inputs{&gpt(), &p4d(), {}, std::nullopt};
  SearchRequest request = request_of(8, 32);
  request.sequence_length = 1024;
  request.pins.tensor = 4;
  request.pins.schedules = {"1f1b"};
  StopAtAsk never(1 << 30);
  const SearchResult all = best_plans(inputs, request, never);
  REQUIRE(all.complete);
  // Once after the last group, then before the cuts of each plan.
  REQUIRE(never.since_update > 1 + static_cast<int>(all.best.size()));
  StopAtAsk late(never.asked - 1);
  const SearchResult most = best_plans(inputs, request, late);
  CHECK_FALSE(most.complete);
  CHECK(most.least_possible == Duration{});
  REQUIRE_FALSE(most.best.empty());
  CHECK(most.best[0].evaluation.step_time >= all.best[0].evaluation.step_time);
  check_result(gpt(), p4d(), most);
}

TEST_CASE("a longer reserve leaves less room") {
  const ModelProfile model = model_of_sections({{1, 2, 10}});
  const ClusterSpec cluster = cluster_of({1, 1, 100});
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  SearchProgress silent;
  inputs.reserve = Bytes{60};
  CHECK(best_plans(inputs, request_of(1, 1), silent).best.size() == 1);
  inputs.reserve = Bytes{61};
  CHECK(best_plans(inputs, request_of(1, 1), silent).best.empty());
}

// Four equal stages, F + B = 3 us, free transfers, a norm of 1 ns: (M + P - 1) * 3 us + 1 ns.
void many_micro_batches(int pipeline, int micro_batches) {
  const ModelProfile model =
      model_of_sections(std::vector<Costs>(static_cast<std::size_t>(pipeline), Costs{1, 2}), 1);
  SearchRequest request = request_of(pipeline, micro_batches);
  request.pins.schedules = {"1f1b"};
  request.pins.pipeline = pipeline;
  request.top = 1;
  const SearchResult result = search(model, cluster_of({1, pipeline}), request);
  REQUIRE(result.best.size() == 1);
  const std::int64_t norm = pipeline > 1 ? 1 : 0;
  CHECK(result.best[0].evaluation.step_time ==
        Duration{3000 * (std::int64_t{micro_batches} + pipeline - 1) + norm});
}

TEST_CASE("many micro-batches take what the closed form says") {
  many_micro_batches(8, 5'000);
  many_micro_batches(4, 16'000);
  many_micro_batches(1, 1'000'000);
}

}  // namespace

TEST_CASE("the nearest miss counts all that a rank holds, not the part that was found too large") {
  // 160 bytes of state a stage of 4 sections in 2, and of 80 bytes of activations a micro-batch:
  // the state alone misses 150 by 10, the rank holds two micro-batches more.
  const ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 20, 40}));
  SearchRequest request = request_of(2, 8);
  request.pins.pipeline = 2;
  request.pins.schedules = {"1f1b"};
  const SearchResult none = search(model, cluster_of({1, 2, 150}), request);
  REQUIRE(none.nearest_miss);
  CHECK(none.nearest_miss->least_over == Bytes{10 + 2 * 80});
  CHECK(none.nearest_miss->reason.find("mbs 1, 1f1b") != std::string::npos);
}

}  // namespace penstock
