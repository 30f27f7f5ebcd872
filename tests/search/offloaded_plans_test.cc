// Plans whose optimizer's state lies on the host: prices and memory on paper, files, the checker,
// and the search with all bounds against the one without.
#include <algorithm>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/values/sharding.h"
#include "costmodel/host_updates.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "search/host_room.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::all_of;
using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;
using testing::Random;
using testing::search;

// As much as 1,000 bytes on the host of a node, over a link of 1 GB/s for every two devices.
void add_host(ClusterSpec& cluster, std::int64_t memory = 1'000) {
  cluster.node_types[0].host = HostOfNode{Bytes{memory}, {1e9}, 2, true, 0};
}

// Four sections of F 1 and B 2 us with 10 parameters each, of 1 byte, gradients of 1 and an
// optimizer of 2; four micro-batches of one sample. Transfers take no time.
struct Fixture {
  ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 10}));
  ClusterSpec cluster = cluster_of({1, 2, 1'000'000, 1e18});
  PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  Plan plan;

  Fixture() {
    add_host(cluster);
    plan.global_batch = 4;
    plan.device = "gpu";
    plan.offload_optimizer = true;
  }
  [[nodiscard]] EvaluatedPlan evaluated() const { return evaluate_in_full(inputs, plan); }
  [[nodiscard]] std::string why_not() const {
    const EvaluatedPlan result = evaluated();
    return result.why_not ? result.why_not->reason : "";
  }
};

// 40 bytes of gradients there in 40 ns, 40 parameters at 220 ps each in 8.8, 40 bytes back.
TEST_CASE("one device: what goes to the host, is stepped there and comes back") {
  const EvaluatedPlan e = Fixture().evaluated();
  REQUIRE_FALSE(e.why_not);
  CHECK(e.evaluation.step_time == Duration{4 * 12'000 + 40 + 9 + 40});
  const MemoryUse& use = e.evaluation.ranks[0].memory;
  CHECK(use.parameters == Bytes{40});
  CHECK(use.gradients == Bytes{40});
  CHECK(use.optimizer_state == Bytes{0});
  CHECK(e.prices.step[0].only_on_host == Bytes{80});
}

// Two ranks share the node: 20 bytes at half the link in 40 ns, 20 parameters at 440 ps in 8.8.
TEST_CASE("ranks of a node share its link and its cores") {
  Fixture f;
  f.plan.pipeline = 2;
  f.plan.cuts = {0, 2, 4};
  const EvaluatedPlan e = f.evaluated();
  REQUIRE_FALSE(e.why_not);
  for (const StepPrice& step : e.prices.step) {
    CHECK(step.store.duration == Duration{40});
    CHECK(step.optimizer.duration == Duration{9});
    CHECK(step.load.duration == Duration{40});
    CHECK(step.stored == Bytes{20});
  }
  // Rank 0 is the last: (4 + 1) times F + B of a stage, then the host.
  CHECK(e.evaluation.step_time == Duration{5 * 6'000 + 40 + 9 + 40});
}

// Under ZeRO-1 each of two replicas sends half of its gradients, and all gather what comes back.
TEST_CASE("under ZeRO-1 a rank sends its part") {
  Fixture f;
  f.plan.data = 2;
  f.plan.zero1 = true;
  const EvaluatedPlan e = f.evaluated();
  REQUIRE_FALSE(e.why_not);
  CHECK(e.prices.step[0].stored == Bytes{20});
  CHECK(e.prices.step[0].loaded == Bytes{20});
  CHECK(e.prices.step[0].only_on_host == Bytes{40});
}

TEST_CASE("what cannot be is said") {
  Fixture f;
  f.plan.data = 2;
  f.plan.zero1 = true;
  f.plan.sharding = Sharding::kFsdp;
  CHECK(f.why_not().starts_with("FSDP keeps its master weights"));
  Fixture unknown;
  unknown.cluster.node_types[0].host.reset();
  CHECK(unknown.why_not().starts_with("nothing is known of the host of a node with gpu"));
  Fixture small;  // 80 bytes of state, 40 of gradients, 40 of weights
  add_host(small.cluster, 159);
  const EvaluatedPlan over = small.evaluated();
  REQUIRE(over.why_not);
  CHECK(over.why_not->reason == "the optimizer's state over the memory of the hosts");
  CHECK(over.why_not->least_over == Bytes{1});
  // Two ranks of one node, of one section and of three: 40 and 120 bytes, not twice the larger.
  Fixture uneven;
  uneven.plan.pipeline = 2;
  uneven.plan.cuts = {0, 1, 4};
  add_host(uneven.cluster, 160);
  CHECK(uneven.why_not().empty());
  add_host(uneven.cluster, 159);
  CHECK(uneven.why_not() == "the optimizer's state over the memory of the hosts");
  Fixture rule;
  rule.plan.schedule = "varuna";
  rule.plan.pipeline = 2;
  CHECK(rule.why_not().starts_with("varuna changes its order"));
}

// 80 bytes of state, 40 of gradients and 40 of weights on one host: no plan on two GPUs needs less
// there, so nothing but more memory, or a second node, helps.
TEST_CASE("what the hosts lack is the nearest miss, and no remedy goes round it") {
  Fixture f;
  f.cluster = cluster_of({1, 2, 1'000'000, 1e18});
  add_host(f.cluster, 150);
  SearchRequest request;
  request.gpus = 2;
  request.global_batch = 4;
  request.pins.offload = true;
  const SearchResult none = search(f.model, f.cluster, request);
  CHECK(none.best.empty());
  REQUIRE(none.nearest_miss);
  CHECK(none.nearest_miss->reason.ends_with(
      ", optimizer on host: the optimizer's state over the memory of the hosts"));
  CHECK(none.nearest_miss->least_over == Bytes{10});
  CHECK(none.nearest_miss->remedy.empty());
  // A device that has no room either is told beside the host.
  f.cluster.device_types[0].memory = Bytes{30};
  const SearchResult both = search(f.model, f.cluster, request);
  REQUIRE(both.nearest_miss);
  CHECK(both.nearest_miss->reason.find("optimizer on host") != std::string::npos);
  CHECK(both.nearest_miss->reason.find("over the memory of the hosts by 10 B, and rank ") !=
        std::string::npos);
  CHECK(both.nearest_miss->remedy.empty());
}

// Two replicas without ZeRO-1 keep the state twice: 320 bytes, of which 200 are left with it.
TEST_CASE("a remedy must fit the hosts, too") {
  Fixture f;
  f.cluster = cluster_of({1, 2, 1'000'000, 1e18});
  add_host(f.cluster, 250);
  SearchRequest request;
  request.gpus = 2;
  request.global_batch = 4;
  request.pins.offload = true;
  request.pins.data = 2;
  request.pins.zero1 = false;
  const SearchResult none = search(f.model, f.cluster, request);
  REQUIRE(none.nearest_miss);
  CHECK(none.nearest_miss->least_over == Bytes{70});
  CHECK(none.nearest_miss->remedy == "ZeRO-1");
  request.pins.zero1.reset();
  CHECK_FALSE(search(f.model, f.cluster, request).best.empty());
}

PlanFile written(const Fixture& f) {
  const EvaluatedPlan e = f.evaluated();
  REQUIRE_FALSE(e.why_not);
  return to_plan_file(f.inputs, e);
}

TEST_CASE("such plans are written, read, checked and replayed as they were predicted") {
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "zb-v", "interleaved", "chimera"}) {
    for (const auto gate : {OptimizerGate::kGlobalBarrier, OptimizerGate::kPostValidation}) {
      for (const bool zero1 : {false, true}) {
        Fixture f;
        f.cluster = cluster_of({2, 2, 1'000'000, 1e9});
        add_host(f.cluster);
        f.inputs.executor.optimizer = gate;
        f.inputs.executor.host_link = HostLink::kSimplex;
        f.plan.schedule = schedule;
        f.plan.pipeline = 2;
        f.plan.chunks = find_schedule(schedule)->fewest_chunks;
        f.plan.data = 2;
        f.plan.zero1 = zero1;
        f.plan.global_batch = 8;
        CAPTURE(schedule);
        const PlanFile file = written(f);
        const auto findings = check(file).findings;
        for (const auto& finding : findings) MESSAGE(finding.place << ": " << finding.message);
        CHECK(findings.empty());
        const PlanFile again = read_plan(parse_json(to_text(write_plan(file)), "t"), "t");
        CHECK(again.plan == file.plan);
        CHECK(again.prices == file.prices);
        CHECK(again.cluster == file.cluster);
        CHECK(check(again).findings.empty());
        CHECK(replay_plan_file(again).evaluation.step_time == file.prediction.step_time);
      }
    }
  }
}

std::string findings_of(const PlanFile& file) {
  std::string all;
  for (const auto& finding : check(file).findings) {
    all += finding.place + ": " + finding.message + "\n";
  }
  return all;
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("found: a plan file that says it and does not do it, and one that does it unsaid") {
  const PlanFile file = written(Fixture());
  PlanFile wrong = file;
  wrong.plan.offload_optimizer = false;
  CHECK(contains(findings_of(wrong), "a stage has something on the host, which updates nothing"));
  CHECK(contains(findings_of(wrong), "0LOAD needs slots"));
  wrong = file;
  std::erase_if(wrong.program.actions,
                [](const Action& action) { return action.kind == ActionKind::kLoad; });
  wrong.program.more_waits.clear();
  CHECK(contains(findings_of(wrong), "0LOAD must occur 1 times, found 0"));
  wrong = file;
  wrong.prices.step[0].optimizer_state = Bytes{80};
  CHECK(contains(findings_of(wrong), "on the host, and on the device as well"));
  wrong = file;
  wrong.cluster.host_memory = Bytes{159};
  CHECK(contains(findings_of(wrong), "take 160 bytes on the host, which has 159"));
  wrong = file;
  wrong.prices.step[0].store.duration += Duration{1};
  CHECK(contains(findings_of(wrong), "makespan"));
}

// Of 40 parameters a device must hold 80 bytes, and 160 with the state: only one of the two fits.
TEST_CASE("a search that may offload does so where nothing fits without it") {
  Fixture f;
  f.cluster = cluster_of({1, 1, 100, 1e18});
  add_host(f.cluster);
  SearchRequest request;
  request.gpus = 1;
  request.global_batch = 4;
  CHECK(search(f.model, f.cluster, request).best.empty());
  request.pins.offload = std::nullopt;
  const SearchResult found = search(f.model, f.cluster, request);
  REQUIRE_FALSE(found.best.empty());
  CHECK(found.best.front().plan.offload_optimizer);
  // With room for the state nothing is gained by it.
  f.cluster = cluster_of({1, 1, 1'000, 1e18});
  add_host(f.cluster);
  const SearchResult roomy = search(f.model, f.cluster, request);
  REQUIRE_FALSE(roomy.best.empty());
  CHECK_FALSE(roomy.best.front().plan.offload_optimizer);
}

// Of 40 parameters the host keeps 80 bytes of state, 40 of gradients and 40 of weights, and has 20
// too few. No change on the devices is offered as a remedy, since these have room.
TEST_CASE("a full host is a reason with its bytes, and has no remedy on the devices") {
  Fixture f;
  f.cluster = cluster_of({1, 1, 100, 1e18});
  add_host(f.cluster, 140);
  SearchRequest request;
  request.gpus = 1;
  request.global_batch = 4;
  request.pins.offload = true;
  const SearchResult none = search(f.model, f.cluster, request);
  CHECK(none.best.empty());
  REQUIRE(none.nearest_miss);
  CHECK(none.nearest_miss->least_over == Bytes{20});
  CHECK(none.nearest_miss->remedy.empty());
  const auto full = std::find_if(none.rejected.begin(), none.rejected.end(),
                                 [](const Rejection& why) { return why.reason == kOverHost; });
  REQUIRE(full != none.rejected.end());
  CHECK(full->least_over == Bytes{20});
  CHECK(full->remedy.empty());
  CHECK(testing::rejected_in_all(none) == none.candidates);
  add_host(f.cluster, 160);  // all that it takes
  CHECK_FALSE(search(f.model, f.cluster, request).best.empty());
}

// The first nodes say nothing of their host, the others have the same devices.
TEST_CASE("of nodes with the same devices the first host that is described counts") {
  Fixture f;
  f.cluster.node_types.push_back(f.cluster.node_types[0]);
  f.cluster.node_types[0].host.reset();
  f.cluster.node_types[1].name = "described";
  f.cluster.nodes.push_back({1, 1});
  const auto host = host_of(f.cluster, "gpu");
  REQUIRE(host);
  CHECK(host->memory == Bytes{1'000});
  CHECK(host_shares(f.cluster, f.plan, "gpu").of_link == 1);
  CHECK_FALSE(host_of(f.cluster, "other"));
}

ClusterSpec random_hosts(Random& random) {
  ClusterSpec cluster = testing::random_cluster(random, random.between(1, 2), 2);
  cluster.node_types[0].host = HostOfNode{
      Bytes{random.between(500, 20'000)}, {1e6 * random.between(1, 1000)}, 2, random.coin(), 0};
  return cluster;
}

// What `plan` asks where something fits without offload, whose step is the limit.
TEST_CASE("a search for what is faster finds the fastest of all, or nothing") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::draws(80)); ++seed) {
    Random random(seed + 1'000);
    CAPTURE(seed);
    const ModelProfile model = testing::random_model(random, random.between(3, 6));
    const ClusterSpec cluster = random_hosts(random);
    SearchRequest request;
    request.gpus = random.between(1, device_count(cluster));
    request.global_batch = random.between(4, 12);
    request.pins.offload = true;
    const SearchResult whole = search(model, cluster, request);
    request.top = 1;
    if (whole.best.empty()) {
      request.faster_than = Duration{1'000'000'000};
      CHECK(search(model, cluster, request).best.empty());
      continue;
    }
    ++found;
    request.faster_than = whole.best.front().evaluation.step_time;
    CHECK(search(model, cluster, request).best.empty());
    *request.faster_than += Duration{1};
    const SearchResult again = search(model, cluster, request);
    REQUIRE(again.best.size() == 1);
    CHECK(again.best.front().plan == whole.best.front().plan);
    testing::check_result(model, cluster, again);
  }
  CHECK(found > testing::least(40));
}

TEST_CASE("with all bounds the search finds what it finds without") {
  int offloaded = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::draws(40)); ++seed) {
    Random random(seed);
    CAPTURE(seed);
    const ModelProfile model = testing::random_model(random, random.between(3, 6));
    const ClusterSpec cluster = random_hosts(random);
    SearchRequest request;
    request.gpus = random.between(1, 4);
    request.gpus = std::min(request.gpus, device_count(cluster));
    request.global_batch = random.between(4, 12);
    request.top = 5;
    request.pins.offload = std::nullopt;
    if (random.between(0, 3) == 0) request.pins.offload = true;
    const SearchResult bounded = search(model, cluster, request);
    request.bounds = false;
    const SearchResult plain = search(model, cluster, request);
    CHECK(all_of(bounded.best) == all_of(plain.best));
    CHECK(all_of(bounded.pareto) == all_of(plain.pareto));
    testing::check_result(model, cluster, bounded);
    for (const RankedPlan& each : bounded.best) offloaded += each.plan.offload_optimizer ? 1 : 0;
  }
  CHECK(offloaded > testing::least(20));
}

}  // namespace
}  // namespace penstock
