// The plan with fewer micro-batches is the same plan with a smaller batch. Only receives that were
// moved back can cross sends (docs/schedules.md, "Time"), so that only DeepSpeed's order is asked
// whether it deadlocks.
#include "search/steady_plan.h"

#include "search/plan_program.h"
#include "simulator/liveness.h"
#include "simulator/merge_liveness.h"
#include "simulator/schedules/schedules.h"
#include "simulator/stash_bytes.h"

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
    return steady_program(many_, lower_fewer(), prices, executor_);
  }

 private:
  [[nodiscard]] LowerFewer lower_fewer() const {
    return [this](std::int64_t fewer) {
      Plan smaller = plan_;
      smaller.global_batch -= static_cast<int>(fewer) * plan_.micro_batch_size * plan_.data;
      if (programs_ != nullptr) return *programs_->get(smaller, ties_, recomputes_);
      return program_of(schedules_of(smaller), lowering_of(smaller, ties_, recomputes_, executor_));
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
  const auto deadlocks = few.deadlocks();
  if (!deadlocks) return std::nullopt;
  if (*deadlocks) return SteadySummary{true};
  const auto program = few.program(prices);
  if (!program) return std::nullopt;
  return SteadySummary{false, program->summary()};
}

std::optional<TimelineSummary> summary_by_few(const Plan& plan, const std::vector<PlanTie>& ties,
                                              bool recomputes, const StagePrices& prices,
                                              const ExecutorModel& executor) {
  const FewOfPlan few(plan, ties, recomputes, executor, nullptr);
  if (!few.may_tell() || few.deadlocks() != false) return std::nullopt;
  const auto program = few.program(prices);
  if (!program) return std::nullopt;
  return program->summary();
}

// Every window holds what the one before it held, so that the peaks are those of the first Program.
std::optional<Judged> judged_by_few(const Plan& plan, const std::vector<PlanTie>& ties,
                                    bool recomputes, const StagePrices& prices,
                                    const ExecutorModel& executor) {
  const FewOfPlan few(plan, ties, recomputes, executor, nullptr);
  if (!few.may_tell() || few.deadlocks() != false) return std::nullopt;
  const auto steady = few.program(prices);
  if (!steady) return std::nullopt;
  const auto pipelines = static_cast<int>(steady->first.pipelines.size());
  return Judged{steady->summary(), steady->idle(executor, plan.kinds()),
                merged_liveness(liveness(steady->first, pipelines),
                                static_cast<std::size_t>(plan.listed_ranks())),
                prices.shapes > 1 ? peak_stash_bytes(steady->first, prices) : std::vector<Bytes>{}};
}

}  // namespace penstock
