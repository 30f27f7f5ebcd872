#include "runtime_bridge/run_rank.h"

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "runtime_bridge/rank_threads.h"
#include "tests/core/messages.h"
#include "tests/runtime_bridge/plan_per_step.h"
#include "tests/runtime_bridge/ring_plans.h"
#include "tests/runtime_bridge/ring_work.h"
#include "training/loopback.h"

namespace penstock {
namespace {

using namespace penstock::testing;

class Observed : public StepObserver {
 public:
  void step_finished(const MeasuredStep& step) override { steps.push_back(step); }
  std::vector<MeasuredStep> steps;
};

class Asks : public RunControl {
 public:
  explicit Asks(RunRequest at_second) : at_second_(at_second) {}
  RunRequest requested() override { return ++calls_ == 2 ? at_second_ : RunRequest::kGoOn; }

 private:
  RunRequest at_second_;
  int calls_ = 0;
};

// Notes what it is told.
class Notes : public StepCheckpoints {
 public:
  explicit Notes(std::int64_t every) : every_(every) {}
  bool is_due(std::int64_t next_step, bool last) override {
    return last || next_step % every_ == 0;
  }
  void write(std::int64_t next_step) override { steps.push_back(next_step); }
  void finish_last() override { written_at_the_end = steps.size(); }
  std::vector<std::int64_t> steps;
  std::size_t written_at_the_end = 0;

 private:
  std::int64_t every_;
};

// Ranks that keep nothing from one plan to the next.
RankParts ring_work_of(const RingModel& model) {
  return {nullptr, [&model](const auto& /*plan*/, const RankProgram& program) {
            return std::make_unique<RingWork>(model, program.setup);
          }};
}

TEST_CASE("rank 0 hears of every step what all ranks measured") {
  const RingModel model = ring_model(4, true);
  const auto plan =
      std::make_shared<const PlanFile>(ring_plan(model, plan_of("1f1b", {2, 1, 2, 3})));
  OnePlan source(plan);
  LoopbackHub hub(4, {});
  RunRankOptions options;
  options.first_step = 5;
  options.end_step = 8;
  options.timeline = true;
  Observed observed;
  std::atomic<int> positions{0};
  options.execute.progress = [&](std::int64_t, std::int64_t) { ++positions; };
  on_rank_threads(4, [&](int rank) {
    const auto transport = hub.transport(rank);
    const RunEnd end =
        run_rank(source, ring_work_of(model), *transport, options, {&observed, nullptr, nullptr});
    CHECK(end.next_step == 8);
    CHECK(!end.requested);
  });
  REQUIRE(observed.steps.size() == 3);
  RingWeights weights = first_weights(model);
  int actions = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const MeasuredStep& step = observed.steps[i];
    const RingStep expected = plain_step(model, weights, 5 + static_cast<int>(i), 6, true);
    weights = expected.weights;
    CHECK(step.step == 5 + static_cast<int>(i));
    CHECK(step.loss == expected.all.loss);
    CHECK(step.gradient_norm == std::sqrt(expected.all.squared_norm));
    REQUIRE(step.ranks.size() == 4);
    Duration last{0};
    for (int rank = 0; rank < 4; ++rank) {
      const MeasuredRank& measured = step.ranks[static_cast<std::size_t>(rank)];
      CHECK(measured.rank == rank);
      CHECK(measured.pipeline == 0);
      CHECK(measured.pipeline_rank == rank % 2);
      // Three micro-batches: F, B, SEND, RECV; REDUCE_GRAD, TIED_REDUCE of both ties but for the
      // first two sections, which lie on stage 0 together; NORM and OPT.
      REQUIRE(measured.start.size() == 3 * 4 + 4);
      REQUIRE(measured.end.size() == measured.start.size());
      actions += static_cast<int>(measured.start.size());
      for (std::size_t a = 0; a < measured.start.size(); ++a) {
        CHECK(measured.start[a] >= Duration{0});
        CHECK(measured.end[a] >= measured.start[a]);
        last = std::max(last, measured.end[a]);
      }
    }
    CHECK(step.step_time <= last);
    CHECK(step.step_time > Duration{0});
    CHECK(step.phases.compute > Duration{0});
  }
  CHECK(positions == actions);
}

TEST_CASE("what one rank asks for all do, and all write the same checkpoints") {
  const RingModel model = ring_model(4, false);
  const auto plan =
      std::make_shared<const PlanFile>(ring_plan(model, plan_of("gpipe", {4, 1, 1, 2})));
  for (const RunRequest request : {RunRequest::kStop, RunRequest::kCheckpoint}) {
    OnePlan source(plan);
    LoopbackHub hub(4, {});
    RunRankOptions options;
    options.end_step = 6;
    std::vector<Notes> notes(4, Notes(5));
    std::vector<RunEnd> ends(4);
    on_rank_threads(4, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const auto transport = hub.transport(rank);
      Asks asks(rank == 2 ? request : RunRequest::kGoOn);
      ends[r] =
          run_rank(source, ring_work_of(model), *transport, options, {nullptr, &asks, &notes[r]});
    });
    const bool stops = request == RunRequest::kStop;
    for (std::size_t r = 0; r < 4; ++r) {
      CHECK(ends[r].next_step == (stops ? 2 : 6));
      CHECK(ends[r].requested == stops);
      CHECK(notes[r].steps ==
            (stops ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{2, 5, 6}));
      CHECK(notes[r].written_at_the_end == notes[r].steps.size());
    }
  }
}

TEST_CASE("every step may have its own plan: the state goes from one to the next") {
  // Four ranks: other cuts, P, V, D, schedules and copies of the weights, and optimizers divided or
  // not. Sums are exact, so that losses and weights are those of one loop to the bit.
  for (const bool tied : {false, true}) {
    CAPTURE(tied);
    const RingModel model = ring_model(5, tied);
    Plan sharded = plan_of("gpipe", {1, 1, 4, 2});
    sharded.zero1 = true;
    std::vector<PlanFile> plans{ring_plan(model, plan_of("1f1b", {4, 1, 1, 8})),
                                ring_plan(model, plan_of("interleaved", {2, 2, 2, 4})),
                                ring_plan(model, sharded),
                                ring_plan(model, plan_of("zb-h1", {2, 1, 2, 4}))};
    if (!tied) plans.push_back(ring_plan(model, plan_of("chimera", {4, 1, 1, 8})));
    PlanPerStep source(plans);
    LoopbackHub hub(4, {});
    RunRankOptions options;
    options.end_step = 11;
    Observed observed;
    std::mutex mutex;
    std::size_t sent = 0, received = 0;
    int changes = 0;
    RingWeights expected = first_weights(model);
    std::vector<RingStep> steps;
    for (int step = 0; step < 11; ++step) {
      steps.push_back(plain_step(model, expected, step, 8, true));
      expected = steps.back().weights;
    }
    on_rank_threads(4, [&](int rank) {
      const auto transport = hub.transport(rank);
      RingState state(model);
      const RankParts parts{&state, [&](const auto& /*plan*/, const RankProgram& program) {
                              return std::make_unique<RingWork>(model, program.setup, state);
                            }};
      RunRankHooks hooks{&observed, nullptr, nullptr};
      hooks.plan_changed = [&](const PlanChange& change) {
        const std::lock_guard lock(mutex);
        sent += change.moved.sent;
        received += change.moved.received;
        ++changes;
      };
      run_rank(source, parts, *transport, options, hooks);
      const RingWeights held = state.weights();
      const std::lock_guard lock(mutex);
      for (const SectionState& section : state.section_states()) {
        const auto s = static_cast<std::size_t>(section.section);
        CHECK(held.sections[s] == expected.sections[s]);
        for (std::size_t t = 0; t < model.ties.size(); ++t) {
          if (state.shares(section.section, t)) CHECK(held.ties[t] == expected.ties[t]);
        }
      }
    });
    CHECK(changes == 4 * 10);
    CHECK(sent == received);
    CHECK(sent > 0);
    REQUIRE(observed.steps.size() == 11);
    for (std::size_t step = 0; step < 11; ++step) {
      CAPTURE(step);
      CHECK(observed.steps[step].loss == steps[step].all.loss);
    }
  }
}

TEST_CASE("a plan that stays is not bound again, and groups that stay are not formed again") {
  const RingModel model = ring_model(4, false);
  const auto plan =
      std::make_shared<const PlanFile>(ring_plan(model, plan_of("1f1b", {2, 1, 1, 4})));
  const auto other =
      std::make_shared<const PlanFile>(ring_plan(model, plan_of("gpipe", {2, 1, 1, 4})));
  PlansByStep source({{0, plan, "a", ""}, {2, plan, "a", ""}, {4, other, "b", ""}});
  LoopbackHub hub(2, {});
  RunRankOptions options;
  options.end_step = 6;
  std::atomic<int> made{0}, changes{0};
  std::atomic<std::size_t> moved{0};
  on_rank_threads(2, [&](int rank) {
    const auto transport = hub.transport(rank);
    RingState state(model);
    const RankParts parts{&state, [&](const auto& /*plan*/, const RankProgram& program) {
                            ++made;
                            return std::make_unique<RingWork>(model, program.setup, state);
                          }};
    RunRankHooks hooks;
    hooks.plan_changed = [&](const PlanChange& change) {
      CHECK(change.step == 4);
      ++changes;
      moved += change.moved.sent + change.moved.received + change.moved.copied;
    };
    run_rank(source, parts, *transport, options, hooks);
  });
  CHECK(made == 4);
  CHECK(changes == 2);
  CHECK(moved == 0);  // the same cuts
}

TEST_CASE("plans that make no run together are refused by file, place and value") {
  const RingModel model = ring_model(4, false);
  const auto shared = [](PlanFile plan) {
    return std::make_shared<const PlanFile>(std::move(plan));
  };
  const auto first = shared(ring_plan(model, plan_of("1f1b", {2, 1, 1, 4})));
  const auto refusal = [&](const std::shared_ptr<const PlanFile>& other) {
    return tests::message_of([&] {
      require_one_run({{0, first, "a.json", "1"}, {3, other, "b.json", "2"}});
    });
  };
  CHECK(refusal(shared(ring_plan(model, plan_of("interleaved", {2, 2, 1, 4})))).empty());
  CHECK(refusal(shared(ring_plan(model, plan_of("1f1b", {2, 1, 2, 2})))) ==
        "b.json: /plan: the number of ranks, P times D, is 4; in a.json it is 2\nhelp: a run keeps "
        "its ranks; plan for --gpus 2");
  CHECK(refusal(shared(ring_plan(model, plan_of("1f1b", {2, 1, 1, 6})))) ==
        "b.json: /plan/global_batch is 6; in a.json it is 4\nhelp: plan with --global-batch 4");
  CHECK(refusal(shared(ring_plan(ring_model(5, false), plan_of("1f1b", {2, 1, 1, 4})))) ==
        "b.json: /model: the plan is of 'ring' with 5 sections, and not of 'ring' with 4 sections "
        "as a.json\nhelp: make all plans of a run from one profile");
  PlanFile wider = *first;
  wider.description->hidden = 77;
  CHECK(refusal(shared(wider)).starts_with("b.json: /description: the model is {"));

  const PlanSequence plans{{0, first, "a", ""}, {3, first, "b", ""}, {5, first, "c", ""}};
  CHECK(plan_at(plans, 2).path == "a");
  CHECK(plan_at(plans, 3).path == "b");
  CHECK(plan_at(plans, 4).path == "b");
  CHECK(plan_at(plans, 99).path == "c");
}

TEST_CASE("a plan for other ranks, or of another model, ends the run with a reason") {
  const RingModel model = ring_model(4, false);
  const auto run = [&](const PlanFile& then) {
    const auto first =
        std::make_shared<const PlanFile>(ring_plan(model, plan_of("1f1b", {2, 1, 1, 4})));
    PlansByStep source({{0, first, "a", ""}, {3, std::make_shared<const PlanFile>(then), "b", ""}});
    LoopbackHub hub(2, {});
    RunRankOptions options;
    options.end_step = 6;
    on_rank_threads(2, [&](int rank) {
      const auto transport = hub.transport(rank);
      RingState state(model);
      run_rank(source,
               {&state,
                [&](const auto& /*plan*/, const RankProgram& program) {
                  return std::make_unique<RingWork>(model, program.setup, state);
                }},
               *transport, options, {});
    });
  };
  CHECK_THROWS_WITH_AS(run(ring_plan(model, plan_of("1f1b", {2, 1, 2, 2}))),
                       "the plan of step 3 is for 4 ranks, and the job has 2\nhelp: plan for "
                       "--gpus 2",
                       Error);
  PlanFile other = ring_plan(model, plan_of("gpipe", {2, 1, 1, 4}));
  other.description->hidden = 77;
  CHECK_THROWS_WITH_AS(run(other), doctest::Contains("the plan of step 3 is of model 'ring'"),
                       Error);
}

TEST_CASE("a rank that cannot start ends the others") {
  const RingModel model = ring_model(2, false);
  OnePlan source(std::make_shared<const PlanFile>(ring_plan(model, plan_of("1f1b", {2, 1, 1, 2}))));
  LoopbackHub hub(2, {});
  const auto run = [&](int rank) {
    const auto transport = hub.transport(rank);
    const MakeWork make = [&](const auto& /*plan*/, const RankProgram& program) {
      if (rank == 1) throw Error(ErrorKind::kMissingResource, "no such device");
      return std::make_unique<RingWork>(model, program.setup);
    };
    run_rank(source, {nullptr, make}, *transport, {}, {});
  };
  CHECK_THROWS_WITH_AS(on_rank_threads(2, run), "no such device", Error);
}

}  // namespace
}  // namespace penstock
