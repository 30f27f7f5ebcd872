#include "core/values/plan_file.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

TEST_CASE("a plan file is read as it says") {
  const PlanFile file = tiny_plan();
  CHECK(file.model == "tiny");
  CHECK(file.section_names == std::vector<std::string>{"first", "second"});
  CHECK(file.profile == InputFile{"tiny.json", "fnv1a64:0123456789abcdef"});
  CHECK(file.cluster_file == InputFile{"two.json", "fnv1a64:fedcba9876543210"});
  CHECK(file.plan.pipeline == 2);
  CHECK(file.plan.cuts == std::vector<int>{0, 1, 2});
  CHECK(file.cluster.memory_per_device == Bytes{1000});
  CHECK(file.executor == ExecutorModel{});
  CHECK(file.prices.compute_of(0, 0).forward == Price{Duration(1000), Duration(3)});
  CHECK(file.prices.compute_of(0, 0).fused_backward == Price{Duration(2000), Duration(0)});
  CHECK(file.prices.transfer_of(0, 0).gradient.duration == Duration(500));
  CHECK(file.prices.step[1].optimizer_state == Bytes{22});
  CHECK(file.prediction.makespan == Duration(10110));
  CHECK(file.prediction.ranks[0].memory.total() == Bytes{300});
  CHECK(file.prediction.ranks[1].memory.total() == Bytes{231});
  CHECK(file.prediction.peak_memory() == Bytes{300});
  CHECK(file.prediction.assumptions == std::vector<Assumption>{{"the split of backward", 0.5}});
  CHECK(file.not_searched == std::vector<std::string>{"tensor degree 2"});
  CHECK(file.program.groups == std::vector<Group>{{GroupKind::kJob, "job", 2}});
  CHECK(file.program.micro_batches.size() == 2);
  CHECK(file.program.ranks() == 2);
  CHECK(list_of(file.program, 1) == std::vector<std::string>{"1RECV_F0", "1F0", "1B0", "1SEND_B0",
                                                             "1RECV_F1", "1F1", "1B1", "1SEND_B1",
                                                             "1NORM", "1OPT"});
}

TEST_CASE("writing what was read gives the same bytes") {
  for (const std::string& text : {edited({}), edited(two_replicas())}) {
    const std::string once = text_of(plan_of(text));
    const PlanFile again = plan_of(once);
    CHECK(text_of(again) == once);
    CHECK(again == plan_of(text));
  }
}

// Which weighed every run of micro-batches by its samples, and nobody asked.
TEST_CASE("penstock.plan/1 is read as the same plan, and written as penstock.plan/2") {
  const std::string weight = R"(, "loss_weight": 1)";
  const PlanFile now = tiny_plan({{"penstock.plan/1", "penstock.plan/2"}, {weight, ""}});
  CHECK(now == tiny_plan());
  CHECK(text_of(tiny_plan()) == text_of(now));
  CHECK(text_of(now).find("penstock.plan/2") != std::string::npos);
  CHECK(text_of(now).find("loss_weight") == std::string::npos);
  CHECK_THROWS_AS((void)tiny_plan({{weight, ""}}), Error);
  CHECK_THROWS_AS((void)tiny_plan({{"penstock.plan/1", "penstock.plan/2"}}), Error);
}

TEST_CASE("everything in a plan file survives") {
  PlanFile file = tiny_plan(two_replicas());
  file.model = "a \"model\"\n";
  file.plan.group = 3;
  file.plan.tensor = 4;
  file.plan.sequence_length = 2048;
  file.plan.recompute = "full";
  file.plan.placement = Placement::kDataInner;
  file.cluster.usd_per_hour = 0.1;
  file.executor = {"mine",
                   TransferMode::kRendezvous,
                   QueueLayout::kPerPeer,
                   true,
                   IssueOrder::kDeepSpeed,
                   OptimizerGate::kPostValidation,
                   HostLink::kSimplex,
                   Duration(1),
                   Duration(2),
                   Duration(3)};
  file.prices.norm.spread = Duration(4);
  file.prices.tied_reduce[0].reduce.spread = Duration(5);
  file.prices.transfer[0].gradient.spread = Duration(6);
  file.prices.step[0].unshard.spread = Duration(7);
  file.program.micro_batches[2].slice = 2;
  file.program.stages[3].task = 1;
  file.prediction.usd_per_step = 1.0 / 3.0;
  file.prediction.ranks[1].time = {Duration(1), Duration(2), Duration(3), Duration(4),
                                   Duration(5), Duration(6), Duration(7)};
  const PlanFile again = plan_of(text_of(file));
  CHECK(again == file);
}

TEST_CASE("a Program in another order is written the same") {
  PlanFile file = tiny_plan();
  const std::string text = text_of(file);
  // 0F1 may just as well come before 1F0: no rank's own list changes.
  std::vector<Action>& actions = file.program.actions;
  REQUIRE(name_of(file.program, actions[3]) == "1F0");
  REQUIRE(name_of(file.program, actions[4]) == "0F1");
  std::swap(actions[3], actions[4]);
  CHECK(text_of(file) == text);
}

TEST_CASE("what the format cannot hold is our own bug") {
  PlanFile cuts = tiny_plan();
  cuts.plan.cuts = {0, 2, 1};
  CHECK_THROWS_WITH_AS((void)write_plan(cuts),
                       "this plan cannot be written: its cuts do not ascend", Error);
  PlanFile members = tiny_plan();
  members.program.groups[0].members = 3;
  CHECK_THROWS_WITH_AS((void)write_plan(members),
                       "this program cannot be written: group 'job' does not have as many members "
                       "as stages that take part",
                       Error);
  PlanFile prices = tiny_plan();
  prices.prices.compute.pop_back();
  CHECK_THROWS_WITH_AS((void)write_plan(prices), "this plan cannot be written: prices are missing",
                       Error);
  PlanFile no_group = tiny_plan();
  no_group.program.groups.push_back({GroupKind::kTiedWeights, "tied.x", 1});
  for (Action& action : no_group.program.actions) {
    if (action.kind == ActionKind::kNorm && action.stage == StageId{1}) action.group = GroupId{1};
  }
  no_group.program.groups[0].members = 1;
  CHECK_THROWS_WITH_AS((void)write_plan(no_group),
                       "this program cannot be written: the group of 1NORM does not follow from "
                       "its stage",
                       Error);
}

TEST_CASE("what an MFU is measured by is read and written") {
  const PlanFile file =
      tiny_plan({{R"("prices": {)",
                  R"("flops": {"per_sample": 1.5e6, "convention": "6_per_parameter",
                                       "peaks": [{"device": "toy", "flops_per_s": 2e11}]},
                                       "prices": {)"}});
  CHECK(file.flops == ModelFlops{1.5e6, FlopConvention::kPerParameter, {{"toy", 2e11}}});
  CHECK(plan_of(text_of(file)) == file);
  CHECK(text_of(tiny_plan()).find("flops") == std::string::npos);
}

TEST_CASE("a plan of two device types says what each of its ranks has") {
  const PlanFile file = tiny_plan(two_device_types());
  CHECK(file.plan.rank_devices == std::vector<std::string>{"toy", "old"});
  CHECK(file.plan.device_of_rank(1) == "old");
  CHECK(device_of_rank(file, 0) == PlanDevice{"toy", Bytes{1000}, Bytes{50}, 0.0, 2});
  CHECK(device_of_rank(file, 1) == PlanDevice{"old", Bytes{900}, Bytes{50}, 1.5, 4});
  CHECK(plan_of(text_of(file)) == file);
  CHECK(device_words(file.plan) == "1 toy + 1 old");
  CHECK(text_of(tiny_plan()).find("rank_devices") == std::string::npos);
  CHECK(text_of(tiny_plan()).find("other_devices") == std::string::npos);
}

}  // namespace
}  // namespace penstock
