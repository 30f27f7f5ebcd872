#include "runtime_bridge/execute_step.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/values/error.h"
#include "runtime_bridge/rank_order.h"
#include "runtime_bridge/step_reductions.h"
#include "runtime_bridge/step_transfers.h"

namespace penstock {
namespace {

bool is_of_micro_batch(ActionKind kind) { return kind <= ActionKind::kRecompute; }

// Where a rank's time went.
StepPhases phases_of(const RankProgram& program, const StepRecord& record, Duration waiting) {
  StepPhases phases;
  phases.waiting = waiting;
  SteadyTime computed{}, reduced{}, updating = SteadyTime::max(), updated{};
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const ActionKind kind = program.actions[i].kind;
    if (is_of_micro_batch(kind)) {
      phases.compute += record.end[i] - record.start[i];
      computed = std::max(computed, record.end[i]);
    } else if (kind == ActionKind::kOptimizer || kind == ActionKind::kUnshard) {
      updating = std::min(updating, record.start[i]);
      updated = std::max(updated, record.end[i]);
    } else if (is_collective(kind)) {
      reduced = std::max(reduced, record.end[i]);
    }
  }
  phases.reducing = std::max(Duration{0}, reduced - computed);
  phases.optimizer = std::max(Duration{0}, updated - std::min(updating, updated));
  return phases;
}

}  // namespace

class StepExecutor::Impl {
 public:
  Impl(const RankProgram& program, RankWork& work, Transport& transport,
       Communicators& communicators, const ExecuteOptions& options)
      : program_(program),
        options_(options),
        work_(work),
        order_(program),
        transfers_(program, work, transport, options.transfers_ahead),
        reductions_(program, work, transport, communicators.of_plan(program)) {}

  StepRecord execute(std::int64_t step) {
    return execute(step, [&] { work_.begin_step(step); });
  }
  double evaluate(std::int64_t step, std::int64_t batch) {
    return execute(step, [&] { work_.begin_evaluation(batch); }).all.loss;
  }

  template <typename Begin>
  StepRecord execute(std::int64_t step, const Begin& begin) {
    record_ = {};
    record_.start.resize(program_.actions.size());
    record_.end.resize(program_.actions.size());
    waiting_ = Duration{0};
    order_.begin();
    transfers_.begin(record_);
    reductions_.begin(record_);
    begin();
    for (std::size_t at = 0; at < order_.list().size(); ++at) {
      if (options_.progress) options_.progress(step, static_cast<std::int64_t>(at));
      order_.decide(at, [this](int receive) { return transfers_.has_arrived(receive); });
      transfers_.look_ahead(order_.list(), at);
      carry_out(at);
    }
    reductions_.wait_for_gathers();
    transfers_.wait_for_sends();
    work_.synchronize();
    if (!has_norm()) reductions_.sum_loss();
    record_.phases = phases_of(program_, record_, waiting_);
    return std::move(record_);
  }

  [[nodiscard]] CommunicatorId job() const { return reductions_.communicator(program_.job); }

 private:
  void carry_out(std::size_t at) {
    const int index = order_.list()[at];
    const RankAction& action = program_.actions[static_cast<std::size_t>(index)];
    switch (action.kind) {
      case ActionKind::kSendActivation:
      case ActionKind::kSendGradient:
      case ActionKind::kReceiveActivation:
      case ActionKind::kReceiveGradient:
        return transfers_.issue(order_.list(), at);
      case ActionKind::kTiedReduce:
        return reductions_.reduce_tied(index);
      case ActionKind::kReduceGradient:
        return reductions_.reduce_gradients(index);
      case ActionKind::kNorm:
        return reductions_.norm(index);
      case ActionKind::kOptimizer:
        return optimize(index, action.stage);
      case ActionKind::kUnshard:
        return reductions_.gather(index);
      default:
        return compute(index, action);
    }
  }

  void compute(int index, const RankAction& action) {
    if (action.needs != kNone && order_.waits(action)) {
      waiting_ += transfers_.wait_for(action.needs);
    }
    const auto i = static_cast<std::size_t>(index);
    record_.start[i] = steady_now();
    work_.compute(action.kind, action.stage, action.micro_batch);
    end(i);
    if (!action.hands_on) return;
    if (action.kind == ActionKind::kForward) {
      work_.hand_on_activation(action.stage, action.micro_batch);
    } else {
      work_.hand_on_gradient(action.stage, action.micro_batch);
    }
  }

  void optimize(int index, int stage) {
    reductions_.wait_for_stage(stage);
    const auto i = static_cast<std::size_t>(index);
    record_.start[i] = steady_now();
    work_.optimize(stage);
    end(i);
  }

  void end(std::size_t i) {
    if (options_.exact_times) work_.synchronize();
    record_.end[i] = steady_now();
  }

  [[nodiscard]] bool has_norm() const {
    return std::any_of(program_.actions.begin(), program_.actions.end(),
                       [](const RankAction& a) { return a.kind == ActionKind::kNorm; });
  }

  const RankProgram& program_;
  ExecuteOptions options_;
  RankWork& work_;
  RankOrder order_;
  StepRecord record_;
  Duration waiting_{0};
  StepTransfers transfers_;
  StepReductions reductions_;
};

StepExecutor::StepExecutor(const RankProgram& program, RankWork& work, Transport& transport,
                           Communicators& communicators, const ExecuteOptions& options)
    : impl_(std::make_unique<Impl>(program, work, transport, communicators, options)) {}
StepExecutor::StepExecutor(const RankProgram& program, RankWork& work, Transport& transport,
                           const ExecuteOptions& options) {
  Communicators own(transport);
  impl_ = std::make_unique<Impl>(program, work, transport, own, options);
}
StepExecutor::~StepExecutor() = default;

StepRecord StepExecutor::execute(std::int64_t step) { return impl_->execute(step); }
double StepExecutor::evaluate(std::int64_t step, std::int64_t batch) {
  return impl_->evaluate(step, batch);
}
CommunicatorId StepExecutor::job() const { return impl_->job(); }

}  // namespace penstock
