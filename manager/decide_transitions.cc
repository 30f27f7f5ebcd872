// What follows from the books and the time: one transition after the other, until none is left.
#include <algorithm>
#include <utility>

#include "manager/decider.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr int kSilentSteps = 10;
constexpr int kMostDoublings = 3;  // of the time to start

}  // namespace

// Whether there was one.
bool Decider::settle() {
  forget_machines_that_went();
  switch (next().phase) {
    case JobPhase::kWaiting:
      return try_start();
    case JobPhase::kStarting:
    case JobPhase::kRunning:
      return give_up_starting() || leave_machines() || give_up_silent() || change_plan();
    case JobPhase::kStopping:
      return all_ended() || kill_what_is_left();
    default:
      return false;
  }
}

void Decider::forget_machines_that_went() {
  std::vector<std::string> gone;
  for (const JobMachine& each : next().machines) {
    if (each.gone_by && *each.gone_by <= now_ && !in_use(each.name)) gone.push_back(each.name);
  }
  for (const std::string& name : gone) {
    std::erase_if(next().machines, [&](const JobMachine& each) { return each.name == name; });
    remember({}, {name});
    log("note", "Machine " + name + " has gone, as was announced.");
  }
}

bool Decider::try_start() {
  if (more_) return false;
  if (next().pause_until && *next().pause_until > now_) return false;
  next().pause_until.reset();
  const std::optional<ChosenPlan> chosen = plan_to_start(rules_, next(), now_);
  if (!chosen) return wait_for_machines();
  start(*chosen);
  return true;
}

bool Decider::wait_for_machines() {
  const std::vector<JobMachine> usable = usable_machines(next(), now_);
  int gpus = 0;
  for (const JobMachine& each : usable) gpus += each.gpus;
  if (next().expected) next().expected->waited = true;
  std::string why = "the smallest plan of the book needs " +
                    count_of(rules_.pages.front().gpus, "GPU") + ", and there " +
                    (gpus == 1 ? "is " : "are ") + std::to_string(gpus);
  if (!rules_.types.empty()) {
    const std::vector<int> counts = gpus_by_type(rules_.types, usable);
    std::vector<std::string> there;
    there.reserve(counts.size());
    for (std::size_t t = 0; t < counts.size(); ++t) {
      there.push_back(std::to_string(counts[t]) + " " + rules_.types[t]);
    }
    why = "no plan of the book fits " + joined(there, ", ");
  }
  if (why == next().why) return false;
  next().why = std::move(why);
  log("wait", "The job waits for machines: " + next().why + ".");
  return false;
}

void Decider::start(const ChosenPlan& chosen) {
  Generation made;
  made.number = generation().number + 1;
  made.page = chosen.page.page;
  made.predicted_step = chosen.page.step;
  if (chosen.is_tailored) made.slowed_step = chosen.page.step;
  made.ranks = chosen.ranks;
  made.started = now_;
  next().restarts += made.number > 1 ? 1 : 0;
  next().generation = std::move(made);
  next().phase = JobPhase::kStarting;
  next().why = "the ranks of generation " + std::to_string(generation().number) + " are starting";
  next().last_sign = now_;
  next().step_time.reset();
  decision_.acts.emplace_back(StartRanks{generation().number, generation().page, generation().ranks,
                                         steps_between_checkpoints(), between_losses()});
  log("start", "Generation " + std::to_string(generation().number) + " runs the plan for " +
                   gpus_text(chosen.page) + " on " + machines_text() + ", from step " +
                   std::to_string(next().checkpoint_step) + ".");
}

std::string Decider::machines_text() {
  std::string text;
  for (const PlacedRank& rank : generation().ranks) {
    if (rank.local_rank == 0) text += (text.empty() ? "" : ", ") + rank.machine;
  }
  return text;
}

// Machines that are starved would fail every start within a fixed time, and the job would never
// move: each start in a row that took too long doubles the time that the next one has.
UtcTime Decider::start_ends() const {
  const int doublings = std::min(decision_.next.failed_starts, kMostDoublings);
  return decision_.next.generation.started + limits_.start * (1 << doublings);
}

bool Decider::give_up_starting() {
  if (next().phase != JobPhase::kStarting || now_ < start_ends()) return false;
  stop(AfterStop::kStartAgain, ProcessSignal::kKill,
       "the ranks did not connect within " + to_text(start_ends() - generation().started));
  ++next().failed_starts;
  return true;
}

bool Decider::leave_machines() {
  for (const JobMachine& each : next().machines) {
    if (!each.gone_by || !in_use(each.name) || now_ < *each.gone_by - lead()) continue;
    stop(AfterStop::kStartAgain, ProcessSignal::kCheckpointAndExit,
         "machine " + each.name + " will be gone by " + to_text(*each.gone_by), *each.gone_by);
    return true;
  }
  return false;
}

std::optional<UtcTime> Decider::silent_at() const {
  const JobState& state = decision_.next;
  if (limits_.silence == Duration{} || state.phase != JobPhase::kRunning || !state.last_sign) {
    return std::nullopt;
  }
  return *state.last_sign + limits_.silence + kSilentSteps * step_time();
}

bool Decider::give_up_silent() {
  const std::optional<UtcTime> at = silent_at();
  if (!at || now_ < *at) return false;
  stop(AfterStop::kStartAgain, ProcessSignal::kKill,
       "no step was finished since " + to_text(*next().last_sign));
  return true;
}

bool Decider::change_plan() {
  if (next().phase != JobPhase::kRunning) return false;
  if (!next().look_again || *next().look_again > now_) return false;
  const BetterPlan better = better_plan(rules_, next(), now_, false);
  next().look_again = better.look_again;
  if (!better.plan) return false;
  stop(AfterStop::kStartAgain, ProcessSignal::kCheckpointAndExit, better.reason);
  return true;
}

// As the job file says.
std::int64_t Decider::steps_between_checkpoints() const {
  const Duration every = rules_.job.checkpoint_every.value_or(Duration{});
  if (every <= Duration{}) return 0;
  return std::max<std::int64_t>(1, every / std::max(Duration{1}, generation_step()));
}

// Where it does not say: the ranks measure what a checkpoint costs them, and keep Daly's interval.
Duration Decider::between_losses() const {
  if (rules_.job.checkpoint_every) return {};
  return mean_between_losses(decision_.next, now_);
}

Duration Decider::generation_step() const { return decision_.next.generation.predicted_step; }

bool Decider::kill_what_is_left() {
  Stopping& stopping = *next().stopping;
  if (now_ < kill_at()) return false;
  if (stopping.killed) count_out_of_reach();
  const bool all_kept = stopping.kept_at.has_value();
  stopping.killed = true;
  stopping.outlived = true;
  stopping.kept_at.reset();
  stopping.kill_at = now_ + limits_.exit;
  decision_.acts.emplace_back(SignalRanks{generation().number, ProcessSignal::kKill, ""});
  log("kill", all_kept
                  ? "The remaining ranks are killed: the others have exited, and every finished "
                    "step is in a checkpoint."
                  : "The remaining ranks are killed: their time to exit is over.");
  return true;
}

// A second time: on machines that should have gone nobody answers any more.
void Decider::count_out_of_reach() {
  for (PlacedRank& rank : generation().ranks) {
    const JobMachine* on = machine(rank.machine);
    if (on == nullptr || (on->gone_by && *on->gone_by <= now_)) rank.ended = true;
  }
}

bool Decider::all_ended() {
  if (ranks_live()) return false;
  learn_end();
  const Stopping stopping = *next().stopping;
  next().stopping.reset();
  release_machines();
  if (is_done()) {
    end(JobPhase::kFinished, "all " + count_of(rules_.job.steps, "step") + " are done");
  } else if (stopping.then == AfterStop::kFail) {
    end(JobPhase::kFailed, stopping.reason);
  } else if (stopping.then == AfterStop::kStop) {
    end(JobPhase::kStopped, stopping.reason);
  } else {
    start_again(stopping);
  }
  return true;
}

bool Decider::is_done() const {
  const std::vector<PlacedRank>& ranks = decision_.next.generation.ranks;
  return decision_.next.checkpoint_step >= rules_.job.steps ||
         std::ranges::all_of(ranks, [](const PlacedRank& rank) { return rank.code == 0; });
}

void Decider::release_machines() {
  for (const JobMachine& each : next().machines) {
    if (each.gone_by) decision_.acts.emplace_back(ReleaseMachine{each.name});
  }
}

void Decider::start_again(const Stopping& stopping) {
  next().phase = JobPhase::kWaiting;
  next().why.clear();
  if (!stopping.failure) return;
  if (++next().failures >= limits_.attempts) {
    return end(JobPhase::kFailed,
               count_of(next().failures, "failure") + " without a new checkpoint after step " +
                   std::to_string(next().checkpoint_step) + "; the last: " + stopping.reason);
  }
  if (next().failures < 2) return;
  Duration pause = limits_.pause;
  for (int i = 2; i < next().failures && pause < limits_.longest_pause; ++i) pause *= 2;
  pause = std::min(pause, limits_.longest_pause);
  next().pause_until = now_ + pause;
  if (next().expected) {
    next().expected->time += pause;
    if (next().expected->end) *next().expected->end += pause;
  }
  next().why = "pausing after " + count_of(next().failures, "failure") + " in a row";
  log("pause", "The job starts again in " + to_text(pause) + ", after " +
                   count_of(next().failures, "failure") + " without a new checkpoint.");
}

void Decider::end(JobPhase phase, const std::string& reason) {
  next().phase = phase;
  next().why = reason;
  log(std::string(name_of(phase)), "The job has ended: " + reason + ".");
}

}  // namespace penstock
