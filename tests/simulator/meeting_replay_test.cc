// The plain way is the oracle: all micro-batches lowered and replayed by the general engine.
#include "simulator/meeting_replay.h"

#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/meeting_lists.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::add_random_step_actions;
using testing::Random;

// Queues and posted receives change nothing where ranks meet, which the oracle shows.
ExecutorModel random_executor(Random& random) {
  ExecutorModel executor;
  executor.transfer = TransferMode::kRendezvous;
  executor.queues = static_cast<QueueLayout>(random.between(0, 3));
  executor.receive_must_be_posted = random.coin();
  if (random.coin()) executor.issue = IssueOrder::kDeepSpeed;
  if (random.coin()) executor.optimizer = OptimizerGate::kPostValidation;
  if (random.coin()) executor.host_link = HostLink::kSimplex;
  executor.per_action = Duration{random.between(0, 3)};
  executor.per_transfer = Duration{random.between(0, 3)};
  return executor;
}

// Replicas of one shape: all take as many micro-batches, or the later ones take one less.
struct Replicas {
  const ScheduleKind* kind = nullptr;
  ScheduleShape shape;
  int pipelines = 1;
  bool last_takes_less = false, short_last = false;

  [[nodiscard]] std::vector<Schedule> schedules(std::int64_t fewer) const {
    std::vector<Schedule> result;
    for (int p = 0; p < pipelines; ++p) {
      ScheduleShape own = shape;
      own.micro_batches -= static_cast<int>(fewer) + (last_takes_less && p + 1 == pipelines);
      result.push_back(kind->generate(own));
    }
    return result;
  }
  [[nodiscard]] Program lowered(std::int64_t fewer, const LoweringOptions& options) const {
    std::vector<PipelineInput> inputs;
    for (Schedule& schedule : schedules(fewer)) {
      inputs.push_back(testing::input_of(std::move(schedule)));
      if (short_last) inputs.back().micro_batches.back().shape = 1;
    }
    return lower(inputs, options);
  }
  [[nodiscard]] std::vector<RolledInput> rolled(const std::vector<Schedule>& of) const {
    std::vector<RolledInput> result;
    for (const Schedule& schedule : of) {
      RolledInput input{&schedule, {{schedule.micro_batches, {}}}};
      if (short_last) {
        MicroBatch last;
        last.shape = 1;
        --input.micro_batches.front().count;
        input.micro_batches.push_back({1, last});
      }
      result.push_back(std::move(input));
    }
    return result;
  }
};

// Of a static schedule; nothing where it makes none of the shape.
std::optional<Replicas> random_replicas(Random& random) {
  const auto& kinds = schedule_kinds();
  Replicas of;
  of.kind = &kinds[static_cast<std::size_t>(random.between(0, static_cast<int>(kinds.size()) - 1))];
  if (of.kind->is_automatic() || of.kind->rule != RunTimeRule::kNone) return std::nullopt;
  const bool chunked = !why_no_schedule(*of.kind, {2, 1, 64}).empty();
  of.shape = {random.between(1, 5), chunked ? random.between(2, 3) : 1, 0};
  const bool many = random.coin();
  of.shape.micro_batches = of.shape.ranks * random.between(1, many ? 150 : 10);
  if (!chunked) of.shape.micro_batches += random.between(0, 3);
  of.pipelines = random.between(1, 2);
  of.last_takes_less = !chunked && random.coin() && of.shape.micro_batches > 1;
  of.short_last = random.coin();
  ScheduleShape least = of.shape;
  least.micro_batches -= of.last_takes_less ? 1 : 0;
  if (!why_no_schedule(*of.kind, of.shape).empty()) return std::nullopt;
  if (!why_no_schedule(*of.kind, least).empty()) return std::nullopt;
  return of;
}

struct Compared {
  bool is_told = false, deadlocks = false, jumps = false;
};

Compared compare(std::uint64_t seed) {
  Random random(seed);
  const auto of = random_replicas(random);
  if (!of) return {};
  const std::vector<Schedule> schedules = of->schedules(0);
  const int stages = schedules.front().stages();
  const ExecutorModel executor = random_executor(random);
  LoweringOptions options;
  options.issue = executor.issue;
  options.recompute = random.coin();
  options.optimizer = executor.optimizer;
  add_random_step_actions(random, stages, options);
  const StagePrices prices = testing::random_prices(random, stages, 2, {"embedding"});
  INFO("seed ", seed, ": ", schedules[0].name, " P=", schedules[0].ranks,
       " V=", schedules[0].chunks, " M=", schedules[0].micro_batches);
  const auto many = many_micro_batches(of->shape.micro_batches - 1, of->shape.ranks,
                                       of->shape.chunks, 0, schedules.front().copies);
  const auto lists =
      meeting_lists(many, [&](std::int64_t fewer) { return of->lowered(fewer, options); });
  if (lists == nullptr) return {};
  const Program program = of->lowered(0, options);
  CHECK(lists->actions == std::ssize(program.actions));
  const std::vector<RolledInput> rolled = of->rolled(schedules);
  const auto met = simulate_meetings(rolled, options, *lists, prices, executor);
  const bool stuck = deadlock(program, executor).has_value();
  REQUIRE(met.has_value() != stuck);
  if (stuck) return {true, true, false};
  CHECK(met->summary == simulate_summary(program, prices, executor));
  const auto plain = simulate_meetings(rolled, options, *lists, prices, executor, false);
  REQUIRE(plain.has_value());
  CHECK(plain->summary == met->summary);
  CHECK(plain->work.steps == met->work.steps + met->work.skipped);
  return {true, false, met->work.jumps > 0};
}

TEST_CASE("a step of a shape that no micro-batch has is not priced as another") {
  const Program program = lower({testing::input_of(make_schedule("1f1b", {2, 1, 2, 0, 1}))}, {});
  Random random(1);
  const StagePrices prices = testing::random_prices(random, 2, 1, {});
  const ExecutorModel executor;
  const PriceTable table(program, prices, executor);
  MeetingLists lists;
  lists.costs.push_back({{ActionKind::kForward, StageId{0}, 0}, {}, false});
  CHECK_NOTHROW(MeetingReplay(lists, program, table));
  lists.costs[0].first.shape = 1;
  CHECK_THROWS_AS(MeetingReplay(lists, program, table), Error);
}

TEST_CASE("ranks that meet take as long rolled up as written out, and deadlock alike") {
  int told = 0, stuck = 0, jumped = 0, possible = 0;
  const int tried = testing::draws(3000);
  for (int seed = 0; seed < tried; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    if (random_replicas(random)) ++possible;
    const Compared compared = compare(static_cast<std::uint64_t>(seed));
    told += compared.is_told;
    stuck += compared.deadlocks;
    jumped += compared.jumps;
  }
  CHECK(told == possible);
  CHECK(stuck > testing::least(50));
  CHECK(jumped > testing::least(300));
}

// 5,040 is a multiple of every period that shows, so that periods alone differ.
TEST_CASE("ranks that meet replay as many steps for 16 times as many micro-batches") {
  int checked = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    for (const int chunks : {1, 2}) {
      const auto steps_of = [&](int micro_batches, IssueOrder issue) -> std::int64_t {
        Replicas of;
        of.kind = &kind;
        of.shape = {4, chunks, micro_batches};
        if (!why_no_schedule(kind, of.shape).empty()) return 0;
        ExecutorModel executor;
        executor.transfer = TransferMode::kRendezvous;
        LoweringOptions options;
        options.issue = executor.issue = issue;
        const std::vector<Schedule> schedules = of.schedules(0);
        const auto many =
            many_micro_batches(micro_batches - 1, 4, chunks, 0, schedules.front().copies);
        const auto lists =
            meeting_lists(many, [&](std::int64_t fewer) { return of.lowered(fewer, options); });
        REQUIRE(lists != nullptr);
        const StagePrices prices =
            testing::equal_prices(schedules.front().stages(), chunks, {120, 132, 96, 7});
        const auto met = simulate_meetings(of.rolled(schedules), options, *lists, prices, executor);
        return met ? met->work.steps : 0;
      };
      for (const IssueOrder issue : {IssueOrder::kEager, IssueOrder::kDeepSpeed}) {
        INFO(kind.name, " V=", chunks, " issue=", static_cast<int>(issue));
        const std::int64_t few = steps_of(5040, issue);
        CHECK(steps_of(16 * 5040, issue) == few);
        if (few > 0) ++checked;
      }
    }
  }
  CHECK(checked > 15);
}

}  // namespace
}  // namespace penstock
