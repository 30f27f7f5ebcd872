// The plan with fewer micro-batches is the same plan with a smaller batch. Only receives that were
// moved back can cross sends (docs/schedules.md, "Time"), so that only DeepSpeed's order is asked
// whether it deadlocks.
#include "search/steady_plan.h"

#include <iterator>
#include <utility>

#include "search/plan_program.h"
#include "simulator/liveness.h"
#include "simulator/meeting_lists.h"
#include "simulator/merge_liveness.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate_schedule.h"
#include "simulator/stash_bytes.h"
#include "simulator/waiting_receives.h"

namespace penstock {
namespace {

// A plan whose Program is to be told from those of fewer micro-batches.
class FewOfPlan {
 public:
  FewOfPlan(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
            const ExecutorModel& executor, ProgramCache* programs)
      : plan_(plan),
        ties_(ties),
        recomputes_(recomputes),
        executor_(executor),
        programs_(programs),
        // Replicas that take a sample less may take a micro-batch less.
        many_(many_micro_batches(first_load(plan).micro_batches - 1, plan.pipeline, plan.chunks,
                                 plan.group, plan.copies())) {}

  [[nodiscard]] bool may_tell() const {
    const ScheduleKind* kind = find_schedule(plan_.schedule);
    return kind != nullptr && !kind->is_automatic() && kind->rule == RunTimeRule::kNone &&
           plan_.has_even_batch() && !plan_.has_unequal_replicas();
  }
  [[nodiscard]] std::optional<bool> deadlocks() const {
    if (executor_.issue != IssueOrder::kDeepSpeed) return false;
    const auto told = [&] { return penstock::deadlocks(many_, lower_fewer(), executor_); };
    return programs_ == nullptr ? told() : programs_->deadlocks(plan_, ties_, recomputes_, told);
  }
  [[nodiscard]] std::optional<SteadyProgram> program(const StagePrices& prices) const {
    return steady_program(many_, prepare_fewer(), prices, executor_);
  }
  // Where ranks meet for their transfers, however many micro-batches there are.
  [[nodiscard]] std::optional<SteadySummary> met(const StagePrices& prices) const {
    if (!ranks_meet(executor_)) return std::nullopt;
    const auto made = [&] { return meeting_lists(many_, lower_fewer()); };
    const auto lists =
        programs_ == nullptr ? made() : programs_->meetings(plan_, ties_, recomputes_, made);
    if (lists == nullptr) return std::nullopt;
    const PlanSchedules schedules = schedules_of(plan_);
    const LoweringOptions options = lowering_of(plan_, ties_, recomputes_, executor_);
    const auto simulated =
        simulate_meetings(schedules.pipelines, options, *lists, prices, executor_);
    if (!simulated) return SteadySummary{.deadlocks = true};
    return SteadySummary{.summary = simulated->summary, .replayed = simulated->work.steps};
  }

 private:
  [[nodiscard]] Plan smaller_by(std::int64_t fewer) const {
    Plan smaller = plan_;
    smaller.global_batch -= static_cast<int>(fewer) * plan_.micro_batch_size * plan_.data;
    return smaller;
  }
  [[nodiscard]] Program lowered(const Plan& smaller) const {
    return program_of(schedules_of(smaller), lowering_of(smaller, ties_, recomputes_, executor_));
  }
  [[nodiscard]] LowerFewer lower_fewer() const {
    return [this](std::int64_t fewer) { return lowered(smaller_by(fewer)); };
  }
  [[nodiscard]] PrepareFewer prepare_fewer() const {
    return [this](std::int64_t fewer) {
      const Plan smaller = smaller_by(fewer);
      const auto made = [&] { return prepared(lowered(smaller), many_, fewer, executor_); };
      return programs_ == nullptr ? made() : programs_->prepared(smaller, ties_, recomputes_, made);
    };
  }

  const Plan& plan_;
  const std::vector<PlanTie>& ties_;
  bool recomputes_;
  const ExecutorModel& executor_;
  ProgramCache* programs_;
  ManyMicroBatches many_;
};

}  // namespace

std::optional<SteadySummary> steady_summary(const Plan& plan, const std::vector<PlanTie>& ties,
                                            bool recomputes, const StagePrices& prices,
                                            const ExecutorModel& executor, ProgramCache& programs) {
  const FewOfPlan few(plan, ties, recomputes, executor, &programs);
  if (!few.may_tell()) return std::nullopt;
  if (auto met = few.met(prices)) return met;
  const auto deadlocks = few.deadlocks();
  if (!deadlocks) return std::nullopt;
  if (*deadlocks) return SteadySummary{.deadlocks = true};
  const auto program = few.program(prices);
  if (!program) return std::nullopt;
  return SteadySummary{.summary = program->summary(), .replayed = program->replayed};
}

std::optional<TimelineSummary> summary_by_few(const Plan& plan, const std::vector<PlanTie>& ties,
                                              bool recomputes, const StagePrices& prices,
                                              const ExecutorModel& executor) {
  const FewOfPlan few(plan, ties, recomputes, executor, nullptr);
  if (!few.may_tell()) return std::nullopt;
  if (const auto met = few.met(prices)) {
    // Those that deadlock are written out, to say who waits for whom.
    return met->deadlocks ? std::nullopt : std::optional(met->summary);
  }
  if (few.deadlocks() != false) return std::nullopt;
  const auto program = few.program(prices);
  if (!program) return std::nullopt;
  return program->summary();
}

namespace {

std::vector<RankLiveness> held_in(const Program& program, const Plan& plan) {
  return merged_liveness(liveness(program, static_cast<int>(program.pipelines.size())),
                         static_cast<std::size_t>(plan.listed_ranks()));
}

// Where every window holds what the one before it held, that of the first Program. Else, as GPipe's
// forwards, peaks follow from the rolled-up lists, and transfers are as in the Programs of few.
std::optional<std::vector<RankLiveness>> held_by(const SteadyProgram& steady, const Plan& plan) {
  std::vector<RankLiveness> few = held_in(steady.first(), plan);
  const std::vector<RankLiveness> more = held_in(steady.second(), plan);
  if (few == more) return few;
  const PlanSchedules schedules = schedules_of(plan);
  std::vector<RankLiveness> all;
  for (const RolledInput& pipeline : schedules.pipelines) {
    const std::vector<std::int32_t> none(pipeline.schedule->rank_of_stage.size(), 0);
    auto own = liveness(*pipeline.schedule, WaitingReceives{none, none});
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  all = merged_liveness(std::move(all), static_cast<std::size_t>(plan.listed_ranks()));
  for (std::size_t r = 0; r < few.size(); ++r) {
    few[r].peaks = std::move(all[r].peaks);
    few[r].peak_chunks = all[r].peak_chunks;
    if (few[r].activation_receives != more[r].activation_receives ||
        few[r].gradient_receives != more[r].gradient_receives) {
      return std::nullopt;
    }
  }
  return few;
}

}  // namespace

std::optional<Judged> judged_by_few(const Plan& plan, const std::vector<PlanTie>& ties,
                                    bool recomputes, const StagePrices& prices,
                                    const ExecutorModel& executor) {
  const FewOfPlan few(plan, ties, recomputes, executor, nullptr);
  if (!few.may_tell() || few.deadlocks() != false) return std::nullopt;
  const auto steady = few.program(prices);
  if (!steady) return std::nullopt;
  auto held = held_by(*steady, plan);
  if (!held) return std::nullopt;
  std::vector<Bytes> stash;
  if (prices.shapes > 1) {
    stash = peak_stash_bytes(steady->first(), prices);
    if (stash != peak_stash_bytes(steady->second(), prices)) return std::nullopt;
  }
  return Judged{.summary = steady->summary(),
                .times = steady->idle(executor, plan.kinds()),
                .held = std::move(*held),
                .stash = std::move(stash),
                .replayed = steady->replayed};
}

}  // namespace penstock
