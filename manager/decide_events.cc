// How events, commands among them, change the books.
#include <algorithm>
#include <iterator>
#include <utility>

#include "manager/decider.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRemembered = 512;  // changes of the machines
constexpr std::size_t kMostCommands = 4096;
constexpr int kBadInputCode = 2;  // of a rank: trying again would not help

}  // namespace

// Empty: it may.
std::string Decider::why_not_join(const std::string& name, const std::string& device) {
  if (rules_.types.empty()) return "";
  if (std::ranges::find(rules_.types, device) == rules_.types.end()) {
    return "The book has no plans for " +
           (device.empty() ? std::string("GPUs whose type nobody has said")
                           : "GPUs of type " + device) +
           ", only for " + joined(rules_.types, ", ") + ".";
  }
  const JobMachine* known = machine(name);
  if (known == nullptr || known->device.empty() || known->device == device) return "";
  return "It was there already, with GPUs of type " + known->device + ".";
}

void Decider::join(const std::string& name, int gpus, const std::string& device) {
  if (next().has_ended()) return;
  if (const std::string why_not = why_not_join(name, device); !why_not.empty()) {
    return log("ignore", why_not);
  }
  if (JobMachine* known = machine(name)) return join_again(*known, gpus, device);
  JobMachine added;
  added.name = name;
  added.gpus = gpus;
  added.device = device;
  added.since = now_;
  next().machines.push_back(std::move(added));
  std::ranges::sort(next().machines, {}, &JobMachine::name);
  remember({name}, {});
  log("note", "The job has " + count_of(std::ssize(next().machines), "machine") + " now.");
}

// A machine that joined before the book counted types has none until somebody says it.
void Decider::join_again(JobMachine& known, int gpus, const std::string& device) {
  const bool was_leaving = known.gone_by.has_value();
  const bool gets_type = known.device.empty() && !device.empty();
  const bool as_many = known.gpus == gpus;
  known.gone_by.reset();
  known.gpus = gpus;
  if (gets_type) known.device = device;
  if (was_leaving) log("note", "Its notice is withdrawn: the job may use it again.");
  if (gets_type || !as_many) remember({}, {});
  if (!as_many) return fits_still(known.name, gpus);
  if (gets_type) return log("note", "Its GPUs are of type " + device + ".");
  if (!was_leaving) log("ignore", "It was there already.");
}

// A machine has more or fewer GPUs than before.
void Decider::fits_still(const std::string& name, int gpus) {
  const bool fits = std::ranges::none_of(generation().ranks, [&](const PlacedRank& rank) {
    return !rank.ended && rank.machine == name && rank.local_rank >= gpus;
  });
  if (fits || !up()) return log("note", "It was there already, with another number of GPUs.");
  stop(AfterStop::kStartAgain, ProcessSignal::kKill,
       "machine " + name + " has no more than " + count_of(gpus, "GPU") + " now");
  next().stopping->failure = false;
}

bool Decider::announce(const std::string& name, UtcTime gone_by) {
  JobMachine* known = machine(name);
  if (known == nullptr || next().has_ended()) return false;
  if (known->gone_by == gone_by) return true;
  known->gone_by = gone_by;
  if (next().stopping && in_use(name)) {
    next().stopping->kill_at = std::min(next().stopping->kill_at, latest_kill(gone_by));
  }
  if (in_use(name)) {
    log("note",
        "The job uses it, and needs " + to_text(lead()) + " to write a checkpoint before it goes.");
  } else {
    log("ignore", "The job does not use it.");
    decision_.acts.emplace_back(ReleaseMachine{name});
  }
  return true;
}

void Decider::handle(const NoticeWithdrawn& event) {
  JobMachine* known = machine(event.machine);
  if (known == nullptr || !known->gone_by || next().has_ended()) return;
  known->gone_by.reset();
  log("note", "Its notice is withdrawn: the job may use it again.");
}

void Decider::handle(const MachineLost& event) {
  if (machine(event.machine) == nullptr || next().has_ended()) return;
  lose(event.machine, event.reason.empty() ? "it was lost" : event.reason);
}

// Its ranks count as ended: nobody can tell what became of them, and the token and the generation
// keep them from the next one's store.
void Decider::lose(const std::string& name, const std::string& reason) {
  const bool used = in_use(name);
  if (used) {
    decision_.acts.emplace_back(SignalRanks{generation().number, ProcessSignal::kKill, name});
    for (PlacedRank& rank : generation().ranks) {
      if (rank.machine == name) rank.ended = true;
    }
  }
  std::erase_if(next().machines, [&](const JobMachine& each) { return each.name == name; });
  remember({}, {name});
  if (!used) return log("note", "The job did not use it.");
  if (up()) {
    follow("machine " + name + " is gone: " + reason, WayToEnd::kLostUnseen, false);
  } else {
    log("note", "The ranks are ending anyway.");
  }
}

void Decider::remember(std::vector<std::string> added, std::vector<std::string> lost) {
  SeenChange change;
  change.at = now_;
  std::vector<SeenChange>& history = next().history;
  if (!history.empty()) {
    change.at = std::max(change.at, history.back().at + Duration{1});
  }
  for (const JobMachine& each : next().machines) change.gpus += each.gpus;
  change.added = std::move(added);
  change.lost = std::move(lost);
  const bool runs = up() && std::ranges::none_of(generation().ranks, &PlacedRank::ended);
  if (runs) change.running = static_cast<int>(generation().ranks.size());
  if (!rules_.types.empty()) {
    if (runs) change.page = generation().page;
    change.of_types = gpus_by_type(rules_.types, next().machines);
  }
  history.push_back(std::move(change));
  if (history.size() > kMostRemembered) history.erase(history.begin());
  next().look_again = now_;
}

void Decider::handle(const MachineSlow& event) {
  JobMachine* known = machine(event.machine);
  if (known == nullptr || known->slow_factor == event.factor || next().has_ended()) return;
  known->slow_factor = std::max(1.0, event.factor);
  next().look_again = now_;
  if (in_use(event.machine)) generation().slowed_step.reset();
  if (known->slow_factor == 1.0) {
    log("note", "Plans that use it take as long as was predicted.");
  } else if (rules_.advised && in_use(event.machine)) {
    log("simulate", "A simulation compares keeping it, leaving it out and planning around it.");
  } else {
    log("note", "Plans that use it are expected to take that much longer.");
  }
}

void Decider::handle(const SlowAdvised& event) {
  if (!is_current(event.generation) || next().phase != JobPhase::kRunning) return;
  generation().slowed_step = event.kept;
  if (event.other) {
    TailoredPlan made;
    made.page = *event.other;
    made.ranks = generation().ranks;
    for (PlacedRank& rank : made.ranks) {
      rank = {rank.rank, rank.machine, rank.local_rank, false, std::nullopt, 0};
      const JobMachine* its = machine(rank.machine);
      made.factors.push_back(its == nullptr ? 1.0 : its->slow_factor);
    }
    next().tailored = std::move(made);
  }
  next().look_again = now_;
  if (change_plan()) return;
  log("keep", "No other plan is fast enough for a change to pay off.");
}

void Decider::handle(const PlanFound& event) {
  std::vector<PlanPage>& found = next().found_pages;
  if (next().has_ended() || std::ranges::find(found, event.page) != found.end()) return;
  found.push_back(event.page);
  std::ranges::stable_sort(found, {}, &PlanPage::gpus);
  next().look_again = now_;
  log("note", "It counts like a plan of the book.");
}

bool Decider::is_current(std::int64_t number) const {
  return number == decision_.next.generation.number;
}

void Decider::handle(const RanksReady& event) {
  if (!is_current(event.generation) || next().phase != JobPhase::kStarting) return;
  ready();
}

void Decider::ready() {
  next().phase = JobPhase::kRunning;
  next().why.clear();
  next().failed_starts = 0;
  generation().ready = now_;
  next().last_sign = now_;
  next().restart_time = std::max(Duration{1}, now_ - generation().started);
  next().look_again = now_;
  log("run",
      "All ranks were connected " + to_text(next().restart_time) + " after they were started.");
}

void Decider::handle(const StepFinished& event) {
  if (!is_current(event.generation) || next().has_ended()) return;
  if (next().phase == JobPhase::kStarting) ready();
  if (!generation().has_stepped) {
    learn_start(event.time);
    // Where this generation is already told to end, the step that is awaited is the next one's.
    if (!next().stopping) compare_expectation();
    generation().has_stepped = true;
    generation().first_step = event.step - 1;
    next().lost_steps += std::max<std::int64_t>(0, next().last_step - generation().first_step);
  }
  next().last_step = event.step;
  if (next().stopping) note_what_is_kept();
  next().last_loss = event.loss;
  next().step_time = event.time;
  next().last_sign = now_;
}

void Decider::handle(const CheckpointWritten& event) {
  if (next().has_ended() || event.step <= next().checkpoint_step) return;
  next().checkpoint_step = event.step;
  next().failures = 0;
  if (is_current(event.generation)) next().last_sign = now_;
  note_interval(event);
  if (event.took) next().write_time = std::max(Duration{1}, *event.took);
  if (next().stopping) note_what_is_kept();
}

// Whoever asked for it: neither the last one of a generation, nor what survivors write, since what
// ended it did not wait for a checkpoint.
void Decider::note_interval(const CheckpointWritten& event) {
  if (!is_current(event.generation) || next().stopping) return;
  if (std::ranges::any_of(generation().ranks, &PlacedRank::ended)) return;
  std::optional<UtcTime>& before = generation().checkpointed;
  if (before && now_ > *before) {
    std::vector<Duration>& intervals = next().kept_intervals;
    intervals.push_back(now_ - *before);
    if (intervals.size() > JobState::kIntervals) intervals.erase(intervals.begin());
  }
  before = now_;
}

void Decider::handle(const RankEnded& event) {
  if (!is_current(event.generation)) return;
  const auto rank = std::ranges::find(generation().ranks, event.rank, &PlacedRank::rank);
  if (rank == generation().ranks.end() || rank->ended) return;
  rank->ended = true;
  rank->code = event.code;
  rank->signal = event.signal;
  if (up()) {
    first_end(event);
  } else if (next().stopping && event.code == kBadInputCode) {
    next().stopping->then = AfterStop::kFail;
    next().stopping->reason = words_of(event_) + last_words(event);
  }
  if (!next().stopping) return;
  note_what_is_kept();
  rethink_expectation(event);
}

std::string Decider::last_words(const RankEnded& event) {
  return event.last_words.empty() ? "" : "; it said last: " + event.last_words;
}

// One that was killed is seen to end before the others have noticed; one that ends by itself has
// noticed that another one is silent.
WayToEnd Decider::way_of_loss(const RankEnded& event) {
  if (event.code.has_value() && event.signal == 0) return WayToEnd::kSilentPeer;
  return event.code.has_value() || event.signal != 0 ? WayToEnd::kLostPeer : WayToEnd::kLostUnseen;
}

// Of a generation that nobody told to end.
void Decider::first_end(const RankEnded& event) {
  if (event.code == 0) return follow("the ranks have done all steps", WayToEnd::kTold, false);
  if (event.code == kBadInputCode) {
    stop(AfterStop::kFail, ProcessSignal::kKill, words_of(event_) + last_words(event));
  } else if (event.code == kStoppedCode) {
    stop(AfterStop::kStartAgain, ProcessSignal::kCheckpointAndExit,
         "somebody else told rank " + std::to_string(event.rank) + " to end");
  } else {
    follow(words_of(event_) + last_words(event), way_of_loss(event), true);
  }
}

void Decider::handle(const CommandGiven& command) {
  std::vector<std::string>& handled = next().handled_commands;
  if (std::ranges::find(handled, command.id) != handled.end()) {
    return answer(command, false, "this command was handled before; nothing changes");
  }
  handled.push_back(command.id);
  if (handled.size() > kMostCommands) handled.erase(handled.begin());
  if (next().has_ended()) {
    return answer(command, false, "the job is " + std::string(name_of(next().phase)));
  }
  obey(command);
}

void Decider::answer(const CommandGiven& command, bool accepted, std::string words) {
  decision_.answer = CommandAnswer{command.id, accepted, std::move(words)};
}

void Decider::obey(const CommandGiven& command) {
  switch (command.kind) {
    case CommandKind::kJoin:
      if (command.machine.empty() || command.gpus < 1) {
        return answer(command, false, "a machine that joins needs a name and at least one GPU");
      }
      if (!rules_.types.empty() &&
          std::ranges::find(rules_.types, command.device) == rules_.types.end()) {
        return answer(command, false,
                      "the book counts device types, and a machine that joins needs one of them: " +
                          joined(rules_.types, ", "));
      }
      if (const std::string why_not = why_not_join(command.machine, command.device);
          !why_not.empty()) {
        return answer(command, false, why_not);
      }
      join(command.machine, command.gpus, command.device);
      return answer(command, true, command.machine + " has joined");
    case CommandKind::kLeave:
    case CommandKind::kPreempt:
      return leave(command);
    case CommandKind::kCheckpoint:
      return checkpoint(command);
    case CommandKind::kMorph:
      return morph(command);
    case CommandKind::kStop:
      return stop_job(command);
  }
}

void Decider::leave(const CommandGiven& command) {
  const UtcTime gone_by = command.at.value_or(now_);
  if (!announce(command.machine, gone_by)) {
    return answer(command, false, "there is no machine '" + command.machine + "' in this job");
  }
  answer(command, true, command.machine + " will not be used after " + to_text(gone_by));
}

void Decider::checkpoint(const CommandGiven& command) {
  if (next().phase != JobPhase::kRunning) {
    return answer(command, false,
                  "no ranks are running; the job is " + std::string(name_of(next().phase)));
  }
  ask_checkpoint("it was asked for by " + command.who);
  answer(command, true, "a checkpoint is written after this step");
}

void Decider::ask_checkpoint(const std::string& reason) {
  decision_.acts.emplace_back(SignalRanks{generation().number, ProcessSignal::kCheckpoint, ""});
  log("checkpoint", "The ranks write a checkpoint and go on: " + reason + ".");
}

void Decider::morph(const CommandGiven& command) {
  if (next().phase != JobPhase::kRunning) {
    return answer(command, false,
                  "no ranks are running; the job is " + std::string(name_of(next().phase)));
  }
  const BetterPlan better = better_plan(rules_, next(), now_, true);
  if (!better.plan) return answer(command, false, "the plan that runs is the fastest there is");
  stop(AfterStop::kStartAgain, ProcessSignal::kCheckpointAndExit,
       command.who + " asked for it, and " + better.reason);
  answer(command, true, better.reason);
}

void Decider::stop_job(const CommandGiven& command) {
  const std::string reason = "it was asked for by " + command.who;
  if (next().phase == JobPhase::kWaiting) {
    end(JobPhase::kStopped, reason);
  } else if (next().phase == JobPhase::kStopping) {
    if (next().stopping->then != AfterStop::kFail) next().stopping->then = AfterStop::kStop;
    log("stop", "The job stops when its ranks have ended: " + reason + ".");
  } else {
    stop(AfterStop::kStop, ProcessSignal::kCheckpointAndExit, reason);
  }
  answer(command, true, "the job stops");
}

}  // namespace penstock
