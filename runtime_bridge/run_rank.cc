// Ranks agree once a step: StepReport exchanges requests together with the measurements, so a
// signal that reaches one rank stops all of them after the same step. Evaluations and checkpoints
// come behind the measured step and are no part of its time. Whatever fails aborts the transport
// first, since peers would otherwise wait for their time-out.
#include "runtime_bridge/run_rank.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "runtime_bridge/communicators.h"
#include "runtime_bridge/held_state.h"
#include "runtime_bridge/step_report.h"
#include "training/learning_rate.h"

namespace penstock {
namespace {

class RankLoop : public RankAtLoss {
 public:
  RankLoop(ProgramSource& source, const RankParts& parts, Transport& transport,
           const RunRankOptions& options, const RunRankHooks& hooks)
      : source_(source),
        parts_(parts),
        transport_(transport),
        communicators_(transport),
        options_(options),
        hooks_(hooks) {}

  RunEnd run() {
    RunEnd end{options_.first_step, false};
    // Transfers of a step that failed may be under way until the transport is aborted: what they
    // use are members, which outlive the handler.
    try {
      while (end.next_step < options_.end_step && !end.requested) run_under_plan(end);
      if (hooks_.checkpoints != nullptr && executor_ != nullptr) hooks_.checkpoints->finish_last();
    } catch (const TransportFailure& failure) {
      abort(failure.what());
      if (hooks_.peer_lost && executor_ != nullptr) hooks_.peer_lost(failure, *this);
      throw;
    } catch (const std::exception& error) {
      abort(error.what());
      throw;
    }
    return end;
  }

  [[nodiscard]] StepStanding standing() const override {
    StepStanding now = executor_->standing().value_or(StepStanding{});
    // A new plan has not run yet, and no step has begun.
    if (!executor_->standing()) now.step = bound_at_;
    now.changed_by_forward =
        executor_->standing() && (parts_.state == nullptr || parts_.state->changes_in_forward());
    now.plan = "from step " + std::to_string(held_since_);
    if (mirror_) now.mirrored = mirror_->newest();
    return now;
  }

  void finish_step(const NormShare& all) override { executor_->finish(all); }

  // Its time is until now: it took until the loss was noticed and the step was finished without the
  // lost rank. What the ranks measured of it was not brought together.
  void report_step() override {
    const std::optional<StepStanding> standing = executor_->standing();
    if (hooks_.observer == nullptr || transport_.rank() != 0 || !standing || !standing->norm)
      return;
    if (standing->step <= observed_) return;
    MeasuredStep measured = measured_numbers(standing->step, *standing->norm);
    measured.tokens = program_.tokens;
    measured.step_time = steady_now() - began_;
    if (parts_.state != nullptr) {
      measured.learning_rate = learning_rate_at(options_.training, standing->step);
    }
    hooks_.observer->step_finished(measured);
  }

  [[nodiscard]] std::string missing_from(const std::vector<int>& ranks) const override {
    if (parts_.state == nullptr) return "no rank keeps a state";
    return penstock::missing_from(*parts_.state, holdings_, ranks);
  }

  [[nodiscard]] std::vector<SectionState> states_among(const std::vector<int>& ranks) override {
    return shared_among(parts_.state->section_states(), *parts_.state, holdings_, ranks);
  }

  [[nodiscard]] MirroredParts mirrored(const LastStep& last) const override {
    return mirror_->parts(last);
  }

 private:
  // Copies may travel over a transport of their own, on which the others would wait.
  void abort(const std::string& reason) {
    transport_.abort(reason);
    if (mirror_) mirror_->abort(reason);
  }

  void run_under_plan(RunEnd& end) {
    const PlanForSteps current = source_.plan_from(end.next_step);
    if (current.plan != plan_) bind(current, end.next_step);
    StepReport report(program_, *executor_, transport_, options_);
    if (current.samples) require_same_plan(report, *current.samples, end.next_step);
    if (!options_.host.empty() && !std::exchange(hosts_are_known_, true)) {
      const std::vector<std::string> hosts = report.gather_hosts(options_.host);
      if (hooks_.observer != nullptr && transport_.rank() == 0)
        hooks_.observer->ranks_are_on(hosts);
    }
    const std::int64_t last = std::min(options_.end_step, current.end_step);
    while (end.next_step < last && !end.requested) {
      const RunRequest request = run_step(report, end.next_step);
      ++end.next_step;
      end.requested = request == RunRequest::kStop;
      write_checkpoint(end, request);
    }
  }

  void bind(const PlanForSteps& current, std::int64_t step) {
    const std::shared_ptr<const PlanFile>& plan = current.plan;
    require_same_job(*plan, step);
    evaluation_.reset();
    executor_.reset();
    work_.reset();
    const bool is_first = plan_ == nullptr;
    plan_ = plan;
    bound_at_ = step;
    program_ = rank_program(*plan, plan->description.value_or(ModelDescription{}),
                            options_.training, transport_.rank());
    if (current.samples) {
      program_.setup.sample_order = current.samples->order;
      program_.tokens = current.samples->real_tokens;
    }
    PlanChange change{step, {}};
    const bool is_held = parts_.state != nullptr && !hold(change);
    work_ = parts_.make_work(plan, program_);
    work_->warm_up();
    if (is_first && hooks_.ready) hooks_.ready();
    executor_ = std::make_unique<StepExecutor>(program_, *work_, transport_, communicators_,
                                               options_.execute);
    if (options_.evaluation.every > 0) {
      evaluation_ = std::make_unique<EvaluationPass>(program_, *work_, transport_, communicators_,
                                                     options_.execute);
    }
    if (!is_held && parts_.make_mirror && transport_.size() > 1 && parts_.state != nullptr) {
      mirror_ = parts_.make_mirror(*parts_.state, holdings_);
      mirror_->keep(step);
    }
    if (!is_first && hooks_.plan_changed) hooks_.plan_changed(change);
  }

  // Takes the state to where the plan has it. False where it is there: plans that differ in
  // schedule and micro-batches only move nothing, and a peer that is lost between them costs no
  // step.
  bool hold(PlanChange& change) {
    std::vector<RankSetup> holdings = rank_holdings(*plan_);
    if (holdings == holdings_) return false;
    mirror_.reset();
    change.moved = rebind(*parts_.state, program_.setup, holdings_, holdings, transport_);
    holdings_ = std::move(holdings);
    held_since_ = change.step;
    return true;
  }

  // Ranks that are processes have made it each for themselves.
  void require_same_plan(const StepReport& report, const StepSamples& samples, std::int64_t step) {
    const auto own = static_cast<std::int64_t>(samples.fingerprint);
    const std::vector<std::int64_t> all = report.gather_number(own);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank] == own) continue;
      throw_bad_input("step " + std::to_string(step) + ": ranks " + std::to_string(rank) + " and " +
                      std::to_string(transport_.rank()) +
                      " made different plans for it\nhelp: give all machines the same program, "
                      "plan, profile, cluster and documents");
    }
  }

  void require_same_job(const PlanFile& plan, std::int64_t step) const {
    const std::string which = "the plan of step " + std::to_string(step);
    if (plan.plan.devices() != transport_.size()) {
      throw_bad_input(which + " is for " + std::to_string(plan.plan.devices()) +
                      " ranks, and the job has " + std::to_string(transport_.size()) +
                      "\nhelp: plan for --gpus " + std::to_string(transport_.size()));
    }
    if (plan_ == nullptr || parts_.state == nullptr ||
        is_same_model(plan.description, plan_->description)) {
      return;
    }
    throw_bad_input(which + " is of model '" + plan.model + "', and not of the '" + plan_->model +
                    "' that the run began with, or of another precision or optimizer\nhelp: make "
                    "all plans of a run from one profile");
  }

  RunRequest run_step(StepReport& report, std::int64_t step) {
    transport_.barrier();
    const SteadyTime began = transport_.now();
    began_ = steady_now();
    const StepRecord record = executor_->execute(step);
    if (mirror_) mirror_->keep(step + 1);
    const RunRequest own =
        hooks_.control == nullptr ? RunRequest::kGoOn : hooks_.control->requested();
    const RunRequest agreed = report.exchange(began, record, own);
    const std::optional<MeasuredEvaluation> evaluation = evaluate(step, agreed);
    if (hooks_.observer != nullptr && transport_.rank() == 0) {
      MeasuredStep measured = report.measured(step, record.all);
      if (parts_.state != nullptr)
        measured.learning_rate = learning_rate_at(options_.training, step);
      measured.evaluation = evaluation;
      hooks_.observer->ranks_held(report.peaks());
      hooks_.observer->step_finished(measured);
      observed_ = step;
    }
    if (hooks_.step_done) hooks_.step_done(step);
    return agreed;
  }

  // Behind the step, so that its time does not hold it.
  std::optional<MeasuredEvaluation> evaluate(std::int64_t step, RunRequest request) {
    const bool last = request == RunRequest::kStop || step + 1 >= options_.end_step;
    if (!is_evaluated(options_.evaluation, step + 1, last)) return std::nullopt;
    const SteadyTime began = steady_now();
    MeasuredEvaluation evaluation;
    evaluation.loss = evaluation_->loss(step, options_.evaluation.batches);
    evaluation.time = steady_now() - began;
    return evaluation;
  }

  void write_checkpoint(const RunEnd& end, RunRequest request) {
    if (hooks_.checkpoints == nullptr) return;
    const bool last = end.requested || end.next_step >= options_.end_step;
    const bool due = hooks_.checkpoints->is_due(end.next_step, last);
    if (!due && request == RunRequest::kGoOn) return;
    hooks_.checkpoints->write(end.next_step);
  }

  ProgramSource& source_;
  const RankParts& parts_;
  Transport& transport_;
  Communicators communicators_;
  const RunRankOptions& options_;
  const RunRankHooks& hooks_;
  std::shared_ptr<const PlanFile> plan_;
  std::int64_t bound_at_ = 0;    // the first step under it
  std::int64_t held_since_ = 0;  // the first step for which the state lies as it does
  SteadyTime began_{};           // the last step, whatever the clock of the transport
  std::int64_t observed_ = -1;   // the last step that the observer heard of
  RankProgram program_;
  std::vector<RankSetup> holdings_;  // of all ranks, under the plan
  std::unique_ptr<RankWork> work_;
  std::unique_ptr<StepExecutor> executor_;
  std::unique_ptr<Mirror> mirror_;              // where there is any
  std::unique_ptr<EvaluationPass> evaluation_;  // where there are any
  bool hosts_are_known_ = false;
};

}  // namespace

RunEnd run_rank(ProgramSource& source, const RankParts& parts, Transport& transport,
                const RunRankOptions& options, const RunRankHooks& hooks) {
  RankLoop loop(source, parts, transport, options, hooks);
  return loop.run();
}

}  // namespace penstock
