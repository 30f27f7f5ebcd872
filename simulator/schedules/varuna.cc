// Ranks but the last begin with as many forwards as Varuna's rules allow, then alternate groups of
// recomputes and backwards with groups of forwards. The last rank keeps its activations and runs
// 1F1B. These lists are only the order in which the rules of run time (RunTimeRule) look for what
// can go ahead; the three kinds differ in that rule alone.
#include "simulator/schedules/varuna.h"

#include <string_view>

#include "simulator/schedules/kinds.h"
#include "simulator/schedules/list_builder.h"

namespace penstock {
namespace {

// One rank's list but the last's: recomputes and backwards in groups, each with the forwards that
// follow it. What list scheduling in quanta (docs/schedules.md, "Varuna") comes to:
// tests/simulator/schedules/varuna_test.cc compares.
class RankList {
 public:
  RankList(ListBuilder& lists, const ScheduleShape& shape, int rank)
      : lists_(lists),
        rank_(rank),
        micro_batches_(shape.micro_batches),
        first_(varuna_forwards_first(shape.ranks, rank, shape.micro_batches)) {}

  void add() {
    forwards(0, first_);
    const int left = micro_batches_ - first_;
    const int groups = left / kVarunaGroup, rest = left % kVarunaGroup;
    lists_.repeat(groups, kVarunaGroup, [&] {
      for (int m = 0; m < kVarunaGroup; ++m) backward(m);
      for (int m = 0; m < kVarunaGroup; ++m) {
        lists_.add(ActionKind::kForward, rank_, first_ + m);
      }
    });
    int next = groups * kVarunaGroup;
    if (rest > 0) {
      backwards(next, next + kVarunaGroup);
      next += kVarunaGroup;
      forwards(micro_batches_ - rest, micro_batches_);
    }
    backwards(next, micro_batches_);
    lists_.end_of_rank();
  }

 private:
  void forwards(int from, int to) {
    lists_.repeat(to - from, 1, [&] { lists_.add(ActionKind::kForward, rank_, from); });
  }
  void backwards(int from, int to) {
    lists_.repeat(to - from, 1, [&] { backward(from); });
  }
  void backward(int m) {
    lists_.add(ActionKind::kRecompute, rank_, m);
    lists_.add(ActionKind::kFusedBackward, rank_, m);
  }

  ListBuilder& lists_;
  int rank_, micro_batches_, first_;
};

Schedule generate_schedule(std::string_view name, RunTimeRule rule, const ScheduleShape& shape) {
  ListBuilder lists(name, shape);
  for (int rank = 0; rank + 1 < shape.ranks; ++rank) RankList(lists, shape, rank).add();
  const int last = shape.ranks - 1;  // it keeps its activations
  lists.repeat(shape.micro_batches, 1, [&] {
    lists.add(ActionKind::kForward, last, 0);
    lists.add(ActionKind::kFusedBackward, last, 0);
  });
  lists.end_of_rank();
  Schedule schedule = lists.finish();
  schedule.rule = rule;
  return schedule;
}

Schedule generate_schedule(const ScheduleKind& kind, const ScheduleShape& shape) {
  return generate_schedule(kind.name, kind.rule, shape);
}

}  // namespace

bool has_varuna_order(const Schedule& schedule) {
  ScheduleShape shape;
  shape.ranks = schedule.ranks;
  shape.micro_batches = schedule.micro_batches;
  const Schedule expected = generate_schedule(schedule.name, schedule.rule, shape);
  return schedule.copies == 1 && schedule.rank_of_stage == expected.rank_of_stage &&
         schedule.actions == expected.actions && schedule.blocks == expected.blocks &&
         schedule.begin == expected.begin;
}

// Varuna (arXiv 2111.04007): forwards that were moved ahead hold their inputs, of all micro-batches
// where transfers are slow.
const ScheduleKind kVaruna = {
    .name = "varuna",
    .summary =
        "recomputes on all ranks but the last; while the step runs, a forward goes before a "
        "recompute whose gradient has not arrived",
    .holds_all_micro_batches = true,
    .recomputes = true,
    .is_costly = true,
    .rule = RunTimeRule::kVaruna,
    .generate = [](const ScheduleShape& shape) { return generate_schedule(kVaruna, shape); },
};

const ScheduleKind kVarunaRuntime = {
    .name = "varuna-runtime",
    .summary = "the same, and with no forward left a recompute does not wait for its gradient",
    .holds_all_micro_batches = true,
    .recomputes = true,
    .is_costly = true,
    .only_when_named = true,
    .rule = RunTimeRule::kVarunaRuntime,
    .generate = [](const ScheduleShape& shape) { return generate_schedule(kVarunaRuntime, shape); },
};

const ScheduleKind kVarunaStrict = {
    .name = "varuna-strict",
    .summary = "varuna, but only a forward whose activation has arrived goes before",
    .holds_all_micro_batches = true,
    .recomputes = true,
    .is_costly = true,
    .only_when_named = true,
    .rule = RunTimeRule::kVarunaStrict,
    .generate = [](const ScheduleShape& shape) { return generate_schedule(kVarunaStrict, shape); },
};

}  // namespace penstock
