// Pipelines with two copies of the weights (dualpipe, chimera): what ends their step.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/events/simulate_by_events.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::input_of;
using testing::text_of;

LoweringOptions whole_step() {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  return options;
}

// P = 2, M = 4: stages 0 and 1 are copy 0, stages 2 and 3 copy 1 on ranks 1 and 0. Rank 0 is done
// with stage 3 before stage 0, rank 1 with stage 1 before stage 2: if each reduced what is
// complete, rank 0 would wait for stage 1's copy while rank 1 waits for stage 0's.
TEST_CASE("the copies of a stage reduce together, and all ranks in one order") {
  const Program program = lower({input_of(make_schedule("dualpipe", {2, 2, 4, 0}))}, whole_step());
  CHECK(
      text_of(program, 0) ==
      "0F0 0SEND_F0 3RECV_F2 3F2 0F1 0SEND_F1 3RECV_F3 3B2 3SEND_B2 0RECV_B0 3F3 0B0 3B3 3SEND_B3 "
      "0RECV_B1 0I1 0W1 0REDUCE_GRAD 3REDUCE_GRAD 0NORM 0OPT 3OPT");
  CHECK(
      text_of(program, 1) ==
      "1RECV_F0 2F2 2SEND_F2 1F0 1RECV_F1 2F3 2SEND_F3 2RECV_B2 1B0 1SEND_B0 1F1 2B2 2RECV_B3 1B1 "
      "1SEND_B1 2I3 2W3 2REDUCE_GRAD 1REDUCE_GRAD 1NORM 1OPT 2OPT");
  REQUIRE(program.groups.size() == 3);
  CHECK(program.groups[0] == Group{GroupKind::kDataParallel, "dp.stage0", 2});
  CHECK(program.groups[1] == Group{GroupKind::kDataParallel, "dp.stage1", 2});
  CHECK(program.stages[2].weight_set == 0);
  CHECK(program.stages[3].weight_set == 1);
}

TEST_CASE("the copies of all pipelines reduce in one group") {
  const Program program = lower({input_of(make_schedule("chimera", {2, 2, 4, 0})),
                                 input_of(make_schedule("chimera", {2, 2, 2, 0}))},
                                whole_step());
  CHECK(program.groups[0] == Group{GroupKind::kDataParallel, "dp.stage0", 4});
  std::vector<int> reducing;
  for (const Action& action : program.actions) {
    if (action.group == GroupId{1}) reducing.push_back(action.stage.value);
  }
  CHECK(reducing == std::vector<int>{1, 3, 5, 7});
}

// Both copies of stage 0 take 2 per F and B; D = 2, M = 2: F B of a rank's two stages, 4 slots of
// 2, no idle slot; then stage 0's reduction, and stage 1's after it on the same ranks. Stage 0 is
// held by stages 0 and 2 (30 and 50), stage 1 by stages 1 and 3 (40 and 20): a collective is done
// when the slowest of its members is, so they take 50 and 40.
TEST_CASE("a reduction over the copies takes the time of the slowest of them") {
  StagePrices prices = testing::equal_prices(4, 1, {2, 2, 0, 0});
  constexpr int kReductions[] = {30, 40, 50, 20};
  for (std::size_t s = 0; s < 4; ++s) {
    prices.step[s].reduce_gradient.duration = Duration{kReductions[s]};
  }
  const Program program = lower({input_of(make_schedule("chimera", {2, 2, 2, 0}))}, whole_step());
  const SimTime end{Duration{8 + 50 + 40}};
  CHECK(simulate(program, prices, {}).step_end == end);
  CHECK(simulate_by_worklist(program, prices, {}).step_end == end);
  CHECK(simulate_by_events(program, prices, {}).step_end == end);
}

// Transfers in every mode, with every layout of queues, posted or not.
std::vector<ExecutorModel> executor_models() {
  std::vector<ExecutorModel> models;
  for (int transfer = 0; transfer <= 2; ++transfer) {
    for (int queues = 0; queues <= 3; ++queues) {
      for (const bool posted : {false, true}) {
        ExecutorModel model;
        model.transfer = static_cast<TransferMode>(transfer);
        model.queues = static_cast<QueueLayout>(queues);
        model.receive_must_be_posted = posted;
        models.push_back(model);
      }
    }
  }
  return models;
}

TEST_CASE("steps with two copies end under every executor model") {
  for (const auto* const name : {"dualpipe", "chimera"}) {
    for (const int p : {2, 4, 6}) {
      for (int m = 2 * p; m <= 4 * p; m += p) {
        for (const bool shorter : {false, true}) {
          std::vector<PipelineInput> inputs{input_of(make_schedule(name, {p, 2, m, 0}))};
          if (shorter) inputs.push_back(input_of(make_schedule(name, {p, 2, 2 * p, 0})));
          LoweringOptions options = whole_step();
          options.unshard = true;
          options.tied = {{"embedding", {0, p - 1, p, 2 * p - 1}}};
          const Program program = lower(inputs, options);
          for (const ExecutorModel& model : executor_models()) {
            CHECK_FALSE(deadlock(program, model).has_value());
          }
        }
      }
    }
  }
}

// Its engine runs one action at a time: an OVERLAP is a forward and then a backward.
TEST_CASE("DeepSpeed's order runs pairs one after the other") {
  LoweringOptions options = whole_step();
  options.issue = IssueOrder::kDeepSpeed;
  const Program program = lower({input_of(make_schedule("dualpipe", {2, 2, 4, 0}))}, options);
  for (const Action& action : program.actions) CHECK_FALSE(action.overlaps_next);
  const std::string rank0 = text_of(program, 0);
  CHECK(rank0.find("3F3 0RECV_B0 0B0") != std::string::npos);
}

TEST_CASE("in DeepSpeed's order steps with two copies end where transfers occupy no rank") {
  for (const auto* const name : {"dualpipe", "chimera"}) {
    for (const int p : {2, 4, 6}) {
      for (int m = 2 * p; m <= 4 * p; m += p) {
        LoweringOptions options = whole_step();
        options.issue = IssueOrder::kDeepSpeed;
        const Program program = lower({input_of(make_schedule(name, {p, 2, m, 0}))}, options);
        CHECK_FALSE(deadlock(program, {}).has_value());
      }
    }
  }
}

}  // namespace
}  // namespace penstock
