// The list is walked once, by one thread. What may begin before its place (receives) is handed over
// ahead, within a bound; what needs something waits for just that. Invariant: ranks issue
// collectives in one order and messages between two ranks in the order of their sends, so no two
// ranks can wait for each other unless the plan's lists do, which the checker and
// check_rendezvous() have excluded.
#include "runtime_bridge/execute_step.h"

#include <algorithm>

#include "core/values/action_rules.h"
#include "core/values/error.h"
#include "runtime_bridge/rank_order.h"
#include "runtime_bridge/step_copies.h"
#include "runtime_bridge/step_exchanges.h"
#include "runtime_bridge/step_reductions.h"
#include "runtime_bridge/step_signals.h"
#include "runtime_bridge/step_transfers.h"

namespace penstock {
namespace {

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
    } else if (rule_of(kind).updates) {
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
        transport_(transport),
        has_waits_(!program.waits.empty() || !program.signals.empty()),
        order_(program),
        transfers_(program, work, transport, options.transfers_ahead),
        reductions_(program, work, transport, communicators.of_plan(program)),
        exchanges_(program, transport,
                   [this](int index) { return reductions_.communicator(index); }),
        copies_(program, work, has_ended_),
        signals_(program, transport) {}

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
    begin_standing(step);
    order_.begin();
    transfers_.begin(record_);
    reductions_.begin(record_);
    exchanges_.begin_step(record_);
    work_.exchange_through(&exchanges_);
    has_ended_.assign(program_.actions.size(), false);
    copies_.begin(record_, transport_.now());
    signals_.begin();
    begin();
    copies_.look_ahead();
    for (std::size_t at = 0; at < order_.list().size(); ++at) {
      if (options_.progress) options_.progress(step, static_cast<std::int64_t>(at));
      order_.decide(at, [this](int receive) { return transfers_.has_arrived(receive); });
      transfers_.look_ahead(order_.list(), at);
      carry_out(at);
    }
    reductions_.wait_for_gathers();
    hand_over_rest();
    copies_.wait_for_all();  // an update on the host is whole when its weights are back
    if (!standing_->can_finish) ++standing_->updated;
    transfers_.wait_for_sends();
    signals_.wait_for_sends();
    work_.synchronize();
    if (!has_norm()) reductions_.sum_loss();
    standing_->norm = record_.all;
    record_.phases = phases_of(program_, record_, waiting_);
    record_.peak_bytes = work_.peak_bytes();
    return std::move(record_);
  }

  [[nodiscard]] CommunicatorId job() const { return reductions_.communicator(program_.job); }

  [[nodiscard]] std::optional<StepStanding> standing() const {
    std::optional<StepStanding> now = standing_;
    if (now) now->reduced = reductions_.norm_begun();
    return now;
  }

  void finish(const NormShare& all) {
    if (standing_->norm_first && !standing_->norm) work_.set_global_norm(all);
    standing_->norm = all;
    for (std::size_t i = 0; i < program_.actions.size(); ++i) {
      if (program_.actions[i].kind != ActionKind::kOptimizer || has_ended_[i]) continue;
      work_.optimize(program_.actions[i].stage);
      has_ended_[i] = true;
      ++standing_->updated;
    }
    work_.synchronize();
  }

 private:
  // A gather counts as one update more, which a rank cannot do alone; so do copies to a host that
  // updates, which end with the step.
  void begin_standing(std::int64_t step) {
    standing_.emplace();
    standing_->step = step;
    bool has_norm = false;
    standing_->norm_first = true;
    for (const RankAction& action : program_.actions) {
      has_norm = has_norm || action.kind == ActionKind::kNorm;
      const bool ends_behind = action.kind == ActionKind::kUnshard || is_copy(action.kind);
      if (ends_behind) standing_->can_finish = false;
      if (action.kind != ActionKind::kOptimizer) continue;
      ++standing_->updates;
      standing_->norm_first = standing_->norm_first && has_norm;
    }
    if (!standing_->can_finish) ++standing_->updates;
  }

  void carry_out(std::size_t at) {
    const int index = order_.list()[at];
    const RankAction& action = program_.actions[static_cast<std::size_t>(index)];
    wait_for_needs(index);
    switch (rule_of(action.kind).lane) {
      case Lane::kWire:
        return transfers_.issue(order_.list(), at, end_of_batch(at));
      case Lane::kCollective:
        reductions_.issue(index);
        if (action.kind == ActionKind::kNorm) standing_->norm = record_.all;
        return;
      case Lane::kCompute:
        return action.kind == ActionKind::kOptimizer ? optimize(at) : compute(index, action);
      case Lane::kCopyIn:
      case Lane::kCopyOut:
      case Lane::kAtOnce:
        // Others are handed over ahead of their place, or when something waits for them.
        if (program_.signalled(index)) hand_over(index);
    }
  }

  // What slots and the plan file ask for; all else follows from the order and the kind.
  void wait_for_needs(int index) {
    if (!has_waits_ || copies_.is_copy(index)) return;
    const SteadyTime begin = transport_.now();
    for (const RankWait& wait : program_.waits_of(index)) wait_for_end(wait.needs);
    signals_.wait_for(index);
    if (is_compute(kind_of(index))) waiting_ += transport_.now() - begin;
  }

  void wait_for_end(int index) {
    const ActionKind kind = kind_of(index);
    if (is_compute(kind)) return;  // one after the other
    if (copies_.is_copy(index)) {
      hand_over(index);
      return copies_.wait_for(index);
    }
    if (is_send(kind)) {
      transfers_.wait_for_send(index);
    } else if (is_receive(kind)) {
      (void)transfers_.wait_for(index);
    } else {
      reductions_.wait_for_action(index);
    }
    note_end(index);
  }

  // With what must come before it: copies wait for each other on the device, and for all else here.
  void hand_over(int copy) {
    if (copies_.was_begun(copy)) return;
    for (const int each : copies_.waiting_up_to(copy)) {
      for (const RankWait& wait : program_.waits_of(each)) {
        if (copies_.is_copy(wait.needs)) {
          hand_over(wait.needs);
        } else {
          wait_for_end(wait.needs);
        }
      }
      const bool is_told = program_.signalled(each);
      if (is_told) signals_.wait_for(each);
      // To wait may have handed it over on the way.
      if (copies_.was_begun(each)) continue;
      copies_.hand_over(each, is_told ? transport_.now() : SteadyTime{});
    }
  }
  void hand_over_rest() {
    for (int i = 0; i < static_cast<int>(program_.actions.size()); ++i) {
      if (copies_.is_copy(i)) hand_over(i);
    }
  }

  // Transfers that wait for something of their own are issued at their places.
  [[nodiscard]] std::size_t end_of_batch(std::size_t at) const {
    const std::vector<int>& list = order_.list();
    if (!has_waits_) return list.size();
    std::size_t end = at + 1;
    while (end < list.size() && program_.waits_of(list[end]).empty() &&
           !program_.signalled(list[end])) {
      ++end;
    }
    return end;
  }

  void compute(int index, const RankAction& action) {
    if (action.needs != kNone && order_.waits(action)) {
      waiting_ += transfers_.wait_for(action.needs);
    }
    const auto i = static_cast<std::size_t>(index);
    record_.start[i] = transport_.now();
    work_.compute(action.kind, action.stage, action.micro_batch);
    end(index);
    if (!action.hands_on) return;
    if (action.kind == ActionKind::kForward) {
      work_.hand_on_activation(action.stage, action.micro_batch);
    } else {
      work_.hand_on_gradient(action.stage, action.micro_batch);
    }
  }

  void optimize(std::size_t at) {
    const int index = order_.list()[at];
    const auto i = static_cast<std::size_t>(index);
    reductions_.wait_for_stage(program_.actions[i].stage);
    if (const int norm = norm_behind(at); norm != kNone) reductions_.try_norm(norm);
    record_.start[i] = transport_.now();
    work_.optimize(program_.actions[i].stage);
    ++standing_->updated;
    end(index);
    gather_ahead(at);
  }

  // What is gathered after updates in a row begins beside those that it does not need.
  void gather_ahead(std::size_t at) {
    const std::vector<int>& list = order_.list();
    std::vector<int> to_update;
    while (++at < list.size()) {
      const RankAction& action = program_.actions[static_cast<std::size_t>(list[at])];
      if (action.kind == ActionKind::kOptimizer) {
        to_update.push_back(action.stage);
        continue;
      }
      const bool waits = std::count(to_update.begin(), to_update.end(), action.stage) > 0;
      if (action.kind != ActionKind::kUnshard || waits) return;
      reductions_.issue(list[at]);
    }
  }

  // The NORM that only updates separate from this place: they do not wait for it.
  [[nodiscard]] int norm_behind(std::size_t at) const {
    const std::vector<int>& list = order_.list();
    while (at < list.size() && kind_of(list[at]) == ActionKind::kOptimizer) ++at;
    return at < list.size() && kind_of(list[at]) == ActionKind::kNorm ? list[at] : kNone;
  }

  void end(int index) {
    if (options_.exact_times) work_.synchronize();
    record_.end[static_cast<std::size_t>(index)] = transport_.now();
    note_end(index);
  }
  void note_end(int index) {
    has_ended_[static_cast<std::size_t>(index)] = true;
    copies_.look_ahead();
    signals_.has_ended(index);
  }

  [[nodiscard]] ActionKind kind_of(int index) const {
    return program_.actions[static_cast<std::size_t>(index)].kind;
  }
  [[nodiscard]] bool has_norm() const {
    return std::any_of(program_.actions.begin(), program_.actions.end(),
                       [](const RankAction& a) { return a.kind == ActionKind::kNorm; });
  }

  const RankProgram& program_;
  ExecuteOptions options_;
  RankWork& work_;
  Transport& transport_;
  const bool has_waits_;
  RankOrder order_;
  StepRecord record_;
  std::optional<StepStanding> standing_;
  Duration waiting_{0};
  std::vector<bool> has_ended_;  // [action]: what copies may wait for
  StepTransfers transfers_;
  StepReductions reductions_;
  StepExchanges exchanges_;
  StepCopies copies_;
  StepSignals signals_;
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
std::optional<StepStanding> StepExecutor::standing() const { return impl_->standing(); }
void StepExecutor::finish(const NormShare& all) { impl_->finish(all); }
CommunicatorId StepExecutor::job() const { return impl_->job(); }

}  // namespace penstock
