// A job is a chain of generations of ranks. In every phase there is one way on:
//
//   waiting --start--> starting --all met--> running --told to end, or a rank ended--> stopping
//      ^                                                                                  |
//      +---------------- all ranks have ended (start again) -----------------------------+--> ended
//
// An event changes the books first (a handler each); then settle() takes whatever transition the
// books and the time ask for, one after the other, until none is left. So it does not matter which
// event made a deadline visible, and a deadline that passed while no manager lived is acted on by
// the first event after it.
//
// What holds: a generation starts only when all ranks of the one before it have ended; acts name
// the generation that the next state has; nothing but an event or the time changes the state.
#include "manager/decide.h"

#include <algorithm>
#include <utility>

#include "manager/decider.h"

namespace penstock {
namespace {

constexpr Duration kAllowance = std::chrono::seconds(2);  // for a signal to arrive

}  // namespace

JobDecision Decider::run() {
  std::visit([this](const auto& event) { handle(event); }, event_);
  while (!next().has_ended() && settle()) {
  }
  if (!next().has_ended()) decision_.wake = wake();
  return std::move(decision_);
}

void Decider::log(std::string decision, std::string reason) {
  decision_.log.push_back(
      {now_, generation().number, words_of(event_), std::move(decision), std::move(reason)});
}

JobMachine* Decider::machine(const std::string& name) {
  const auto found = std::ranges::find(next().machines, name, &JobMachine::name);
  return found == next().machines.end() ? nullptr : &*found;
}

bool Decider::ranks_live() const {
  return std::ranges::any_of(decision_.next.generation.ranks,
                             [](const PlacedRank& rank) { return !rank.ended; });
}

bool Decider::in_use(const std::string& name) const {
  return std::ranges::any_of(decision_.next.generation.ranks, [&](const PlacedRank& rank) {
    return !rank.ended && rank.machine == name;
  });
}

bool Decider::up() const {
  return decision_.next.phase == JobPhase::kRunning || decision_.next.phase == JobPhase::kStarting;
}

Duration Decider::step_time() const {
  return decision_.next.step_time.value_or(decision_.next.generation.predicted_step);
}

// Before a machine goes: the step that runs and a checkpoint, or what it took the last times until
// ranks that were told so had ended; half as long again; the signal.
Duration Decider::lead() const {
  const Duration known = decision_.next.change_times.end(WayToEnd::kTold).value_or(Duration{});
  return scaled(std::max(known, step_time() + decision_.next.write_time), 1.5) + kAllowance;
}

void Decider::begin_stopping(AfterStop then, WayToEnd way, bool failure, UtcTime kill_at,
                             const std::string& reason) {
  Stopping stopping;
  stopping.then = then;
  stopping.way = way;
  stopping.with_checkpoint = way == WayToEnd::kTold;
  stopping.killed = way == WayToEnd::kKilled;
  stopping.failure = failure;
  stopping.began = now_;
  stopping.kill_at = kill_at;
  stopping.reason = reason;
  next().stopping = std::move(stopping);
  next().phase = JobPhase::kStopping;
  next().why = reason;
  next().look_again.reset();
}

// The others end by themselves: they lack a peer, and may write an emergency checkpoint first.
void Decider::follow(const std::string& reason, WayToEnd way, bool failure) {
  const bool starts = next().phase == JobPhase::kStarting;
  begin_stopping(AfterStop::kStartAgain, starts ? WayToEnd::kFailedStart : way, failure,
                 now_ + limits_.exit, reason);
  expect_first_step();
  log("follow", "The other ranks end by themselves within " + to_text(limits_.exit) +
                    ", or are killed: " + reason + "." + expectation());
  if (failure) ++next().breaks;
}

// Told to end; `until`: a machine goes then.
void Decider::stop(AfterStop then, ProcessSignal signal, const std::string& reason,
                   std::optional<UtcTime> until) {
  const bool killed = signal == ProcessSignal::kKill;
  const UtcTime patience = now_ + std::max(limits_.exit, lead());
  begin_stopping(then, killed ? WayToEnd::kKilled : WayToEnd::kTold,
                 killed && then == AfterStop::kStartAgain,
                 until ? std::min(patience, latest_kill(*until)) : patience, reason);
  expect_first_step();
  decision_.acts.emplace_back(SignalRanks{generation().number, signal, ""});
  log("stop",
      std::string(killed ? "The ranks are killed: " : "The ranks write a checkpoint and exit: ") +
          reason + "." + expectation());
}

// The end of a machine; of one that should be gone already, but is not, as long as ranks get.
UtcTime Decider::latest_kill(UtcTime gone_by) const {
  return gone_by > now_ ? gone_by : now_ + limits_.exit;
}

// While ranks end. Where one hangs, the others have kept every finished step when they end, and
// nobody need wait for it.
void Decider::note_what_is_kept() {
  Stopping& stopping = *next().stopping;
  const bool some_ended = std::ranges::any_of(generation().ranks, &PlacedRank::ended);
  const bool all_kept = next().checkpoint_step >= next().last_step && next().last_step > 0;
  stopping.kept_at = some_ended && all_kept ? std::optional{now_} : std::nullopt;
}

UtcTime Decider::kill_at() const {
  const Stopping& stopping = *decision_.next.stopping;
  if (!stopping.kept_at) return stopping.kill_at;
  return std::min(stopping.kill_at, *stopping.kept_at + kAllowance);
}

std::optional<UtcTime> Decider::wake() const {
  const JobState& state = decision_.next;
  std::optional<UtcTime> first;
  const auto at = [&](std::optional<UtcTime> time) {
    if (time && (!first || *time < *first)) first = time;
  };
  if (state.phase == JobPhase::kWaiting) at(state.pause_until);
  if (state.phase == JobPhase::kStarting) at(start_ends());
  if (state.phase == JobPhase::kRunning) at(state.look_again);
  if (state.stopping) at(kill_at());
  at(silent_at());
  for (const JobMachine& each : state.machines) {
    if (!each.gone_by) continue;
    if (up() && in_use(each.name)) at(*each.gone_by - lead());
    if (!in_use(each.name)) at(*each.gone_by);
  }
  return first ? std::optional{std::max(*first, now_ + Duration{1})} : std::nullopt;
}
JobState first_state(const JobRules& rules, const std::string& token, UtcTime now) {
  JobState state;
  state.job = rules.job.name;
  state.token = token;
  state.created = now;
  state.write_time = rules.write;
  state.restart_time = rules.job.restart;
  return state;
}

JobState reopened(JobState state) {
  if (state.phase != JobPhase::kStopped && state.phase != JobPhase::kFailed) return state;
  state.phase = JobPhase::kWaiting;
  state.why.clear();
  state.failures = 0;
  state.failed_starts = 0;
  state.pause_until.reset();
  // They may have changed in the meantime, and join anew.
  state.machines.clear();
  return state;
}

JobDecision decide(const JobRules& rules, const JobState& state, const Event& event, UtcTime now,
                   bool more) {
  return Decider(rules, state, event, now, more).run();
}

}  // namespace penstock
