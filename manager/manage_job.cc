// Every decision is kept before it is acted on. A manager that is killed in between finds acts that
// nobody reported as done, and carries them out (again): they are keyed by generation, and doing
// them twice does no harm. Steps alone are kept once a second, since all that a kill can take of
// them are counters.
#include "manager/manage_job.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

namespace penstock {
namespace {

constexpr Duration kBetweenKeeps = std::chrono::seconds(1);

class Loop {
 public:
  Loop(const JobRules& rules, JobStore& store, JobWorld& world)
      : rules_(rules), store_(store), world_(world) {}

  JobState run(const JobState& first) {
    state_ = reopened(store_.state().value_or(first));
    // While no manager lived nothing was done.
    if (state_.expected) state_.expected->waited = true;
    state_.generation.checkpointed.reset();
    for (const Act& act : store_.acts_to_do()) carry_out(act);
    store_.acts_done();
    if (!state_.has_ended() && state_.phase != JobPhase::kWaiting) world_.ranks.adopt(state_);
    for (EventSource* source : world_.sources) source->begin(state_);
    while (!state_.has_ended()) look();
    return std::move(state_);
  }

 private:
  void look() {
    std::vector<Event> of_ranks = world_.ranks.poll();
    std::vector<Event> events;
    for (EventSource* source : world_.sources) {
      std::vector<Event> its = source->poll();
      std::ranges::move(its, std::back_inserter(events));
    }
    std::ranges::move(of_ranks, std::back_inserter(events));
    const UtcTime now = world_.clock();
    if (events.empty()) {
      if (!wake_ || now >= *wake_) events.emplace_back(TimePassed{});
      if (events.empty()) return world_.pause();
    }
    for (std::size_t i = 0; i < events.size() && !state_.has_ended(); ++i) {
      take(events[i], i + 1 < events.size());
    }
  }

  void take(const Event& event, bool more) {
    const UtcTime now = world_.clock();
    JobDecision decision = decide(rules_, state_, event, now, more);
    if (needs_keeping(event, decision, now)) keep(decision, now);
    state_ = decision.next;
    wake_ = decision.wake;
    // Without a deadline it is still looked at now and then.
    if (!wake_) wake_ = now + std::chrono::minutes(1);
    for (const LogEntry& entry : decision.log) world_.log(entry);
    for (const Act& act : decision.acts) carry_out(act);
    if (!decision.acts.empty()) store_.acts_done();
    for (EventSource* source : world_.sources) source->decided(event, decision);
  }

  [[nodiscard]] bool needs_keeping(const Event& event, const JobDecision& decision,
                                   UtcTime now) const {
    if (!decision.acts.empty() || !decision.log.empty()) return true;
    if (std::holds_alternative<StepFinished>(event)) return now >= kept_ + kBetweenKeeps;
    return !(decision.next == state_);
  }

  // A full disk may have room again: nothing is done that is not kept, and ranks run on meanwhile.
  void keep(const JobDecision& decision, UtcTime now) {
    std::string complained;
    while (const std::optional<std::string> wrong = store_.keep(decision)) {
      if (*wrong != complained) world_.complain(*wrong + "; it is tried again");
      complained = *wrong;
      world_.pause();
    }
    kept_ = now;
  }

  void carry_out(const Act& act) {
    if (const auto* start = std::get_if<StartRanks>(&act)) world_.ranks.start(*start);
    if (const auto* signal = std::get_if<SignalRanks>(&act)) world_.ranks.signal(*signal);
    // ReleaseMachine is for the source that announced the loss; it sees the decision.
  }

  const JobRules& rules_;
  JobStore& store_;
  JobWorld& world_;
  JobState state_;
  std::optional<UtcTime> wake_;
  UtcTime kept_{};
};

}  // namespace

JobState manage_job(const JobRules& rules, JobStore& store, const JobState& first,
                    JobWorld& world) {
  return Loop(rules, store, world).run(first);
}

}  // namespace penstock
