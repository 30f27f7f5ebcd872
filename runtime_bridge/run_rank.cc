#include "runtime_bridge/run_rank.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime_bridge/step_report.h"

namespace penstock {
namespace {

class RankLoop {
 public:
  RankLoop(ProgramSource& source, const MakeWork& make_work, Transport& transport,
           const RunRankOptions& options, const RunRankHooks& hooks)
      : source_(source),
        make_work_(make_work),
        transport_(transport),
        options_(options),
        hooks_(hooks) {}

  RunEnd run() {
    RunEnd end{options_.first_step, false};
    // Transfers of a step that failed may be under way until the transport is aborted: what they
    // use are members, which outlive the handler.
    try {
      while (end.next_step < options_.end_step && !end.requested) run_under_plan(end);
    } catch (const std::exception& error) {
      transport_.abort(error.what());
      throw;
    }
    return end;
  }

 private:
  void run_under_plan(RunEnd& end) {
    const PlanForSteps current = source_.plan_from(end.next_step);
    executor_.reset();
    work_.reset();
    plan_ = current.plan;
    program_ = rank_program(*plan_, plan_->description.value_or(ModelDescription{}),
                            options_.training, transport_.rank());
    work_ = make_work_(*plan_, program_);
    executor_ = std::make_unique<StepExecutor>(program_, *work_, transport_, options_.execute);
    StepReport report(program_, *executor_, transport_, options_);
    const std::int64_t last = std::min(options_.end_step, current.end_step);
    while (end.next_step < last && !end.requested) {
      const RunRequest request = run_step(report, end.next_step);
      ++end.next_step;
      end.requested = request == RunRequest::kStop;
      write_checkpoint(end, request);
    }
  }

  RunRequest run_step(StepReport& report, std::int64_t step) {
    transport_.barrier();
    const SteadyTime began = steady_now();
    const StepRecord record = executor_->execute(step);
    const RunRequest own =
        hooks_.control == nullptr ? RunRequest::kGoOn : hooks_.control->requested();
    const RunRequest agreed = report.exchange(began, record, own);
    if (hooks_.observer != nullptr && transport_.rank() == 0) {
      hooks_.observer->step_finished(report.measured(step, record.all));
    }
    if (hooks_.step_done) hooks_.step_done(step);
    return agreed;
  }

  void write_checkpoint(const RunEnd& end, RunRequest request) {
    if (hooks_.checkpoints == nullptr) return;
    const bool last = end.requested || end.next_step >= options_.end_step;
    const bool due = hooks_.checkpoints->is_due(end.next_step, last);
    if (!due && request == RunRequest::kGoOn) return;
    hooks_.checkpoints->write(end.next_step);
    transport_.barrier();
    if (transport_.rank() == 0) hooks_.checkpoints->complete(end.next_step);
  }

  ProgramSource& source_;
  const MakeWork& make_work_;
  Transport& transport_;
  const RunRankOptions& options_;
  const RunRankHooks& hooks_;
  std::shared_ptr<const PlanFile> plan_;
  RankProgram program_;
  std::unique_ptr<RankWork> work_;
  std::unique_ptr<StepExecutor> executor_;
};

}  // namespace

RunEnd run_rank(ProgramSource& source, const MakeWork& make_work, Transport& transport,
                const RunRankOptions& options, const RunRankHooks& hooks) {
  RankLoop loop(source, make_work, transport, options, hooks);
  return loop.run();
}

}  // namespace penstock
