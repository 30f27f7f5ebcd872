#include "search/rolled_program.h"

#include <algorithm>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "core/files/program_file.h"
#include "core/values/error.h"
#include "search/evaluate.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using testing::cluster_of;
using testing::Costs;
using testing::model_of_sections;

ExecutorModel executor_that(TransferMode transfers, IssueOrder issue = IssueOrder::kEager) {
  ExecutorModel executor;
  executor.transfer = transfers;
  executor.issue = issue;
  return executor;
}
ExecutorModel deepspeed() {
  return executor_that(TransferMode::kRendezvous, IssueOrder::kDeepSpeed);
}

// Nothing where the plan has no Program at all.
void compare_with_all_actions(const Plan& plan, bool recomputes, int& compared,
                              const ExecutorModel& executor = {}) {
  if (!why_no_program(plan).empty()) return;
  CAPTURE(plan.schedule);
  CAPTURE(plan.pipeline);
  CAPTURE(plan.chunks);
  CAPTURE(plan.data);
  CAPTURE(plan.group);
  CAPTURE(plan.global_batch);
  const auto rolled = rolled_program(plan, {}, recomputes, executor);
  if (!rolled) return;
  const Program program =
      program_of(schedules_of(plan), lowering_of(plan, {}, recomputes, executor));
  REQUIRE(rolled->actions == std::ssize(program.actions));
  REQUIRE(rolled->json == write_program(program));
  ++compared;
}

// Batches that leave a short last micro-batch, and replicas of which some have a sample more.
TEST_CASE("the rolled-up Program of every static schedule is that of all its actions") {
  int compared = 0;
  for (const ScheduleKind* kind : testing::static_kinds()) {
    for (const int p : {1, 2, 3, 4}) {
      for (int v = kind->fewest_chunks; v <= std::max(kind->most_chunks, 3); ++v) {
        Plan plan;
        plan.pipeline = p;
        plan.data = 1 + (p + v) % 2;
        plan.micro_batch_size = 1 + p % 2;
        testing::set_schedule(plan, *kind, v);
        for (const int m : {60 * p, 60 * p + 2, 61 * p, 62 * p + 1}) {
          plan.global_batch = m * plan.micro_batch_size * plan.data - (m % 3 == 0 ? 1 : 0);
          compare_with_all_actions(plan, m % 2 == 0, compared);
          if (kind->name == "1f1b") compare_with_all_actions(plan, false, compared, deepspeed());
        }
      }
    }
  }
  CHECK(compared > 300);
}

TEST_CASE("and with the plan's own groups") {
  int compared = 0;
  for (const ScheduleKind* kind : testing::static_kinds()) {
    if (!kind->has_groups) continue;
    for (const int group : {2, 3, 4, 5}) {
      Plan plan;
      plan.pipeline = 2;
      testing::set_schedule(plan, *kind, 2);
      plan.group = group;
      for (const int m : {240, 241, 243}) {
        plan.global_batch = m;
        compare_with_all_actions(plan, false, compared);
      }
    }
  }
  CHECK(compared > 10);
}

TEST_CASE("few micro-batches, automatic schedules and rules are written out") {
  Plan plan;
  plan.pipeline = 4;
  plan.schedule = "1f1b";
  plan.global_batch = 1000;
  CHECK(rolled_program(plan, {}, false, {}));
  CHECK(rolled_program(plan, {}, false, deepspeed()));
  plan.global_batch = 40;
  CHECK_FALSE(rolled_program(plan, {}, false, {}));
  plan.global_batch = 1000;
  for (const char* name : {"zb-auto", "varuna", "no such schedule"}) {
    plan.schedule = name;
    CHECK_FALSE(rolled_program(plan, {}, false, {}));
  }
}

struct Files {
  ModelProfile model = model_of_sections(std::vector<Costs>(4, Costs{1, 2, 10, 20, 5, 4}));
  ClusterSpec cluster = cluster_of({2, 2, 1'000'000, 1e9});
  PlanInputs inputs{&model, &cluster, {}, std::nullopt};
  Plan plan;

  Files() {
    plan.pipeline = 2;
    plan.data = 2;
    plan.global_batch = 1'999;
    plan.device = "gpu";
    plan.schedule = "1f1b";
  }
  [[nodiscard]] std::string written() const {
    return to_text(write_plan(to_plan_file(inputs, evaluate(inputs, plan))));
  }
};

PlanFile read(const std::string& text) {
  return read_plan_rolled_up(parse_json(text, "t"), "t",
                             [](const Plan&, std::int64_t) { return true; });
}

// What has no period (GPipe where ranks meet) is written out to be replayed.
void check_stays_rolled_up(Files& f) {
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1"}) {
    f.plan.schedule = schedule;
    const std::string text = f.written();
    const PlanFile all = read_plan(parse_json(text, "t"), "t");
    const PlanFile rolled = read(text);
    CAPTURE(schedule);
    REQUIRE(is_rolled_up(rolled));
    CHECK(replay_plan_file(rolled).evaluation == replay_plan_file(all).evaluation);
    CHECK(rolled_actions(rolled) == std::ssize(all.program.actions));
    CHECK(to_text(write_plan_rolled_up(rolled)) == text);
    CHECK(rolled_summary(rolled, rolled.prices, rolled.executor).makespan ==
          replay_plan_file(all).evaluation.makespan);
    const PlanFile evaluated = to_rolled_up_plan_file(f.inputs, evaluate(f.inputs, f.plan));
    CHECK((is_rolled_up(evaluated) || f.plan.schedule == "gpipe"));
    CHECK(to_text(write_plan_rolled_up(evaluated)) == text);
    const PlanFile few = with_few_micro_batches(rolled);
    CHECK(few.program.actions.size() < all.program.actions.size());
    CHECK(few.plan.global_batch % f.plan.data == f.plan.global_batch % f.plan.data);
  }
}

TEST_CASE("a file that stays rolled up says what its actions say") {
  Files f;
  ExecutorModel queues;
  queues.queues = QueueLayout::kPerPeer;
  for (const ExecutorModel& executor : {ExecutorModel{}, executor_that(TransferMode::kSenderBlocks),
                                        executor_that(TransferMode::kRendezvous), queues}) {
    CAPTURE(static_cast<int>(executor.transfer));
    f.inputs.executor = executor;
    check_stays_rolled_up(f);
  }
}

TEST_CASE("and so does one in DeepSpeed's order") {
  Files f;
  f.inputs.executor = deepspeed();
  const std::string text = f.written();
  const PlanFile all = read_plan(parse_json(text, "t"), "t");
  const PlanFile rolled = read(text);
  REQUIRE(is_rolled_up(rolled));
  CHECK(replay_plan_file(rolled).evaluation == replay_plan_file(all).evaluation);
  CHECK(to_text(write_plan_rolled_up(rolled)) == text);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from, text.find("\"program\""));
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// Whatever was changed, the same words, or the same plan, as reading all of it.
TEST_CASE("a file whose lists were changed is written out") {
  const Files f;
  const std::string text = f.written();
  using Change = std::pair<std::string, std::string>;
  for (const Change& change : {Change{"\"0F0\"", "\"0F1\""},
                               {"\"repeat\": 9", "\"repeat\": 8"},
                               {"\"0F1\"", "\"0B0\""},
                               {"\"samples\": 1", "\"samples\": 2"}}) {
    const std::string changed = replaced(text, change.first, change.second);
    const auto words_of = [](auto reading) {
      try {
        return to_text(write_plan(reading()));
      } catch (const Error& error) {
        return std::string(error.what());
      }
    };
    CAPTURE(change.first);
    CHECK(words_of([&] { return read(changed); }) ==
          words_of([&] { return read_plan(parse_json(changed, "t"), "t"); }));
  }
  Files other;
  other.plan.global_batch = 1'997;
  CHECK(is_rolled_up(read(other.written())));
  const std::string wrong = replaced(text, "\"count\": 999", "\"count\": 998");
  CHECK_THROWS_AS(static_cast<void>(read(wrong)), Error);
}

}  // namespace
}  // namespace penstock
