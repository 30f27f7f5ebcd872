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

#include "manager/choose_plan.h"
#include "morphing/checkpoint_interval.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRemembered = 512;  // changes of the machines
constexpr std::size_t kMostCommands = 4096;
constexpr int kBadInputCode = 2;  // of a rank: trying again would not help
constexpr int kStoppedCode = 4;   // it was told to end and has a checkpoint
// One loss in three hours, until any is seen: for the interval of checkpoints only.
constexpr Duration kPriorLife = std::chrono::hours(3);
constexpr Duration kAllowance = std::chrono::seconds(2);  // for a signal to arrive
constexpr int kSilentSteps = 10;

std::string count(std::int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

class Decider {
 public:
  Decider(const JobRules& rules, const JobState& state, const Event& event, UtcTime now)
      : rules_(rules), limits_(rules.job.limits), event_(event), now_(now) {
    decision_.next = state;
  }

  JobDecision run() {
    std::visit([this](const auto& event) { handle(event); }, event_);
    while (!next().has_ended() && settle()) {
    }
    if (!next().has_ended()) decision_.wake = wake();
    return std::move(decision_);
  }

 private:
  JobState& next() { return decision_.next; }
  Generation& generation() { return next().generation; }

  void log(std::string decision, std::string reason) {
    decision_.log.push_back(
        {now_, generation().number, words_of(event_), std::move(decision), std::move(reason)});
  }

  JobMachine* machine(const std::string& name) {
    const auto found = std::ranges::find(next().machines, name, &JobMachine::name);
    return found == next().machines.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool ranks_live() const {
    return std::ranges::any_of(decision_.next.generation.ranks,
                               [](const PlacedRank& rank) { return !rank.ended; });
  }
  [[nodiscard]] bool in_use(const std::string& name) const {
    return std::ranges::any_of(decision_.next.generation.ranks, [&](const PlacedRank& rank) {
      return !rank.ended && rank.machine == name;
    });
  }
  [[nodiscard]] bool up() const {
    return decision_.next.phase == JobPhase::kRunning ||
           decision_.next.phase == JobPhase::kStarting;
  }
  [[nodiscard]] Duration step_time() const {
    return decision_.next.step_time.value_or(decision_.next.generation.predicted_step);
  }
  // Before a machine goes: the step that runs, a checkpoint half as long again, the signal.
  [[nodiscard]] Duration lead() const {
    return scaled(step_time() + decision_.next.write_time, 1.5) + kAllowance;
  }

  // --- the books ---

  void handle(const TimePassed& /*event*/) {}

  void handle(const MachineJoined& event) { join(event.machine, event.gpus); }

  void join(const std::string& name, int gpus) {
    if (next().has_ended()) return;
    if (JobMachine* known = machine(name)) {
      known->gone_by.reset();
      if (known->gpus == gpus) return log("ignore", "It was there already.");
      known->gpus = gpus;
      remember({}, {});
      return fits_still(name, gpus);
    }
    JobMachine joined;
    joined.name = name;
    joined.gpus = gpus;
    joined.since = now_;
    next().machines.push_back(std::move(joined));
    std::ranges::sort(next().machines, {}, &JobMachine::name);
    remember({name}, {});
    log("note", "It is one of " + count(std::ssize(next().machines), "machine") + " now.");
  }

  // A machine has more or fewer GPUs than before.
  void fits_still(const std::string& name, int gpus) {
    const bool fits = std::ranges::none_of(generation().ranks, [&](const PlacedRank& rank) {
      return !rank.ended && rank.machine == name && rank.local_rank >= gpus;
    });
    if (fits || !up()) return log("note", "It was there with another number of GPUs.");
    stop(AfterStop::kStartAgain, ProcessSignal::kKill,
         "machine " + name + " has no more than " + count(gpus, "GPU") + " now");
    next().stopping->failure = false;
  }

  void handle(const MachineLeaves& event) { announce(event.machine, event.gone_by); }

  bool announce(const std::string& name, UtcTime gone_by) {
    JobMachine* known = machine(name);
    if (known == nullptr || next().has_ended()) return false;
    if (known->gone_by == gone_by) return true;
    known->gone_by = gone_by;
    if (next().stopping && in_use(name)) {
      next().stopping->kill_at = std::min(next().stopping->kill_at, latest_kill(gone_by));
    }
    if (in_use(name)) {
      log("note", "The job uses it, and needs " + to_text(lead()) +
                      " to write a checkpoint before it goes.");
    } else {
      log("ignore", "The job does not use it.");
      decision_.acts.emplace_back(ReleaseMachine{name});
    }
    return true;
  }

  void handle(const NoticeWithdrawn& event) {
    JobMachine* known = machine(event.machine);
    if (known == nullptr || !known->gone_by || next().has_ended()) return;
    known->gone_by.reset();
    log("note", "It stays.");
  }

  void handle(const MachineLost& event) {
    if (machine(event.machine) == nullptr || next().has_ended()) return;
    lose(event.machine, event.reason.empty() ? "it was lost" : event.reason);
  }

  // Its ranks count as ended: nobody can tell what became of them, and the token and the generation
  // keep them from the next one's store.
  void lose(const std::string& name, const std::string& reason) {
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
      follow("machine " + name + " is gone: " + reason, false);
    } else {
      log("note", "The ranks are ending anyway.");
    }
  }

  void remember(std::vector<std::string> added, std::vector<std::string> lost) {
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
    history.push_back(std::move(change));
    if (history.size() > kMostRemembered) history.erase(history.begin());
    next().look_again = now_;
  }

  void handle(const MachineSlow& event) {
    JobMachine* known = machine(event.machine);
    if (known == nullptr || known->slow_factor == event.factor || next().has_ended()) return;
    known->slow_factor = std::max(1.0, event.factor);
    next().look_again = now_;
    log("note", "Plans that use it are expected to take so much longer.");
  }

  [[nodiscard]] bool is_current(std::int64_t number) const {
    return number == decision_.next.generation.number;
  }

  void handle(const RanksReady& event) {
    if (!is_current(event.generation) || next().phase != JobPhase::kStarting) return;
    ready();
  }

  void ready() {
    next().phase = JobPhase::kRunning;
    next().why.clear();
    generation().ready = now_;
    next().last_sign = now_;
    next().restart_time = std::max(Duration{1}, now_ - generation().started);
    next().look_again = now_;
    log("run", "All ranks have met " + to_text(next().restart_time) + " after they were started.");
  }

  void handle(const StepFinished& event) {
    if (!is_current(event.generation) || next().has_ended()) return;
    if (next().phase == JobPhase::kStarting) ready();
    if (!generation().has_stepped) {
      generation().has_stepped = true;
      generation().first_step = event.step - 1;
      next().lost_steps += std::max<std::int64_t>(0, next().last_step - generation().first_step);
    }
    next().last_step = event.step;
    next().last_loss = event.loss;
    next().step_time = event.time;
    next().last_sign = now_;
  }

  void handle(const CheckpointWritten& event) {
    if (next().has_ended() || event.step <= next().checkpoint_step) return;
    next().checkpoint_step = event.step;
    next().failures = 0;
    if (is_current(event.generation)) next().last_sign = now_;
    if (event.took) next().write_time = std::max(Duration{1}, *event.took);
  }

  void handle(const RankEnded& event) {
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
  }

  static std::string last_words(const RankEnded& event) {
    return event.last_words.empty() ? "" : ": " + event.last_words;
  }

  // Of a generation that nobody told to end.
  void first_end(const RankEnded& event) {
    if (event.code == 0) return follow("the ranks have done all steps", false);
    if (event.code == kBadInputCode) {
      stop(AfterStop::kFail, ProcessSignal::kKill, words_of(event_) + last_words(event));
    } else if (event.code == kStoppedCode) {
      stop(AfterStop::kStartAgain, ProcessSignal::kCheckpointAndExit,
           "somebody else told rank " + std::to_string(event.rank) + " to end");
    } else {
      follow(words_of(event_) + last_words(event), true);
    }
  }

  // --- the ends of a generation ---

  void begin_stopping(AfterStop then, bool with_checkpoint, bool failure, UtcTime kill_at,
                      const std::string& reason) {
    Stopping stopping;
    stopping.then = then;
    stopping.with_checkpoint = with_checkpoint;
    stopping.failure = failure;
    stopping.kill_at = kill_at;
    stopping.reason = reason;
    next().stopping = std::move(stopping);
    next().phase = JobPhase::kStopping;
    next().why = reason;
    next().look_again.reset();
  }

  // The others end by themselves: they lack a peer, and may write an emergency checkpoint first.
  void follow(const std::string& reason, bool failure) {
    begin_stopping(AfterStop::kStartAgain, false, failure, now_ + limits_.exit, reason);
    log("follow", "The other ranks end by themselves within " + to_text(limits_.exit) +
                      ", or are killed: " + reason + ".");
    if (failure) ++next().breaks;
  }

  // Told to end; `until`: a machine goes then.
  void stop(AfterStop then, ProcessSignal signal, const std::string& reason,
            std::optional<UtcTime> until = std::nullopt) {
    const bool killed = signal == ProcessSignal::kKill;
    const UtcTime patience = now_ + std::max(limits_.exit, lead());
    begin_stopping(then, !killed, killed && then == AfterStop::kStartAgain,
                   until ? std::min(patience, latest_kill(*until)) : patience, reason);
    next().stopping->killed = killed;
    decision_.acts.emplace_back(SignalRanks{generation().number, signal, ""});
    log("stop",
        std::string(killed ? "The ranks are killed: " : "The ranks write a checkpoint and exit: ") +
            reason + ".");
  }

  // The end of a machine; of one that should be gone already, but is not, as long as ranks get.
  [[nodiscard]] UtcTime latest_kill(UtcTime gone_by) const {
    return gone_by > now_ ? gone_by : now_ + limits_.exit;
  }

  // --- commands ---

  void handle(const CommandGiven& command) {
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

  void answer(const CommandGiven& command, bool accepted, std::string words) {
    decision_.answer = CommandAnswer{command.id, accepted, std::move(words)};
  }

  void obey(const CommandGiven& command) {
    switch (command.kind) {
      case CommandKind::kJoin:
        if (command.machine.empty() || command.gpus < 1) {
          return answer(command, false, "a machine that joins has a name and one GPU at least");
        }
        join(command.machine, command.gpus);
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

  void leave(const CommandGiven& command) {
    const UtcTime gone_by = command.at.value_or(now_);
    if (!announce(command.machine, gone_by)) {
      return answer(command, false, "there is no machine '" + command.machine + "' in this job");
    }
    answer(command, true, command.machine + " will not be used after " + to_text(gone_by));
  }

  void checkpoint(const CommandGiven& command) {
    if (next().phase != JobPhase::kRunning) {
      return answer(command, false,
                    "no ranks are running; the job is " + std::string(name_of(next().phase)));
    }
    ask_checkpoint("it was asked for by " + command.who);
    answer(command, true, "a checkpoint is written after this step");
  }

  void ask_checkpoint(const std::string& reason) {
    decision_.acts.emplace_back(SignalRanks{generation().number, ProcessSignal::kCheckpoint, ""});
    log("checkpoint", "The ranks write a checkpoint and go on: " + reason + ".");
  }

  void morph(const CommandGiven& command) {
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

  void stop_job(const CommandGiven& command) {
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

  // --- transitions ---

  // Whether there was one.
  bool settle() {
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

  void forget_machines_that_went() {
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

  bool try_start() {
    if (next().pause_until && *next().pause_until > now_) return false;
    next().pause_until.reset();
    const std::optional<ChosenPlan> chosen = plan_to_start(rules_, next(), now_);
    if (!chosen) return wait_for_machines();
    start(*chosen);
    return true;
  }

  bool wait_for_machines() {
    int gpus = 0;
    for (const JobMachine& each : usable_machines(next(), now_)) gpus += each.gpus;
    std::string why = "the smallest plan of the book needs " +
                      count(rules_.pages.front().gpus, "GPU") + ", and there " +
                      (gpus == 1 ? "is " : "are ") + std::to_string(gpus);
    if (why == next().why) return false;
    next().why = std::move(why);
    log("wait", "The job waits for machines: " + next().why + ".");
    return false;
  }

  void start(const ChosenPlan& chosen) {
    Generation made;
    made.number = generation().number + 1;
    made.page = chosen.page.page;
    made.predicted_step = chosen.page.step;
    made.ranks = chosen.ranks;
    made.started = now_;
    next().restarts += made.number > 1 ? 1 : 0;
    next().generation = std::move(made);
    next().phase = JobPhase::kStarting;
    next().why = "the ranks of generation " + std::to_string(generation().number) + " are starting";
    next().last_sign = now_;
    next().step_time.reset();
    decision_.acts.emplace_back(StartRanks{generation().number, generation().page,
                                           generation().ranks, steps_between_checkpoints()});
    log("start", "Generation " + std::to_string(generation().number) + " runs the plan for " +
                     count(chosen.page.gpus, "GPU") + " on " + machines_text() + ", from step " +
                     std::to_string(next().checkpoint_step) + ".");
  }

  std::string machines_text() {
    std::string text;
    for (const PlacedRank& rank : generation().ranks) {
      if (rank.local_rank == 0) text += (text.empty() ? "" : ", ") + rank.machine;
    }
    return text;
  }

  bool give_up_starting() {
    if (next().phase != JobPhase::kStarting) return false;
    if (now_ < generation().started + limits_.start) return false;
    stop(AfterStop::kStartAgain, ProcessSignal::kKill,
         "the ranks have not met within " + to_text(limits_.start));
    return true;
  }

  bool leave_machines() {
    for (const JobMachine& each : next().machines) {
      if (!each.gone_by || !in_use(each.name) || now_ < *each.gone_by - lead()) continue;
      stop(AfterStop::kStartAgain, ProcessSignal::kCheckpointAndExit,
           "machine " + each.name + " will be gone by " + to_text(*each.gone_by), *each.gone_by);
      return true;
    }
    return false;
  }

  [[nodiscard]] std::optional<UtcTime> silent_at() const {
    const JobState& state = decision_.next;
    if (limits_.silence == Duration{} || state.phase != JobPhase::kRunning || !state.last_sign) {
      return std::nullopt;
    }
    return *state.last_sign + limits_.silence + kSilentSteps * step_time();
  }

  bool give_up_silent() {
    const std::optional<UtcTime> at = silent_at();
    if (!at || now_ < *at) return false;
    stop(AfterStop::kStartAgain, ProcessSignal::kKill,
         "no step was finished since " + to_text(*next().last_sign));
    return true;
  }

  bool change_plan() {
    if (next().phase != JobPhase::kRunning) return false;
    if (!next().look_again || *next().look_again > now_) return false;
    const BetterPlan better = better_plan(rules_, next(), now_, false);
    next().look_again = better.look_again;
    if (!better.plan) return false;
    stop(AfterStop::kStartAgain, ProcessSignal::kCheckpointAndExit, better.reason);
    return true;
  }

  // Of the checkpoints in the background: Daly's rule, unless the job file says.
  [[nodiscard]] std::int64_t steps_between_checkpoints() const {
    const JobState& state = decision_.next;
    Duration every = rules_.job.checkpoint_every.value_or(Duration{});
    if (!rules_.job.checkpoint_every) {
      const Duration life = (now_ - state.created + kPriorLife) / (state.breaks + 1);
      every = checkpoint_interval(state.write_time, std::max(Duration{1}, life));
    }
    if (every <= Duration{}) return 0;
    return std::max<std::int64_t>(1, every / std::max(Duration{1}, generation_step()));
  }
  [[nodiscard]] Duration generation_step() const {
    return decision_.next.generation.predicted_step;
  }

  bool kill_what_is_left() {
    Stopping& stopping = *next().stopping;
    if (now_ < stopping.kill_at) return false;
    if (stopping.killed) count_out_of_reach();
    stopping.killed = true;
    stopping.kill_at = now_ + limits_.exit;
    decision_.acts.emplace_back(SignalRanks{generation().number, ProcessSignal::kKill, ""});
    log("kill", "Ranks that are left are killed: the time to end by themselves is over.");
    return true;
  }

  // A second time: on machines that should have gone nobody answers any more.
  void count_out_of_reach() {
    for (PlacedRank& rank : generation().ranks) {
      const JobMachine* on = machine(rank.machine);
      if (on == nullptr || (on->gone_by && *on->gone_by <= now_)) rank.ended = true;
    }
  }

  bool all_ended() {
    if (ranks_live()) return false;
    const Stopping stopping = *next().stopping;
    next().stopping.reset();
    release_machines();
    if (is_done()) {
      end(JobPhase::kFinished, "all " + count(rules_.job.steps, "step") + " are done");
    } else if (stopping.then == AfterStop::kFail) {
      end(JobPhase::kFailed, stopping.reason);
    } else if (stopping.then == AfterStop::kStop) {
      end(JobPhase::kStopped, stopping.reason);
    } else {
      start_again(stopping);
    }
    return true;
  }

  [[nodiscard]] bool is_done() const {
    const std::vector<PlacedRank>& ranks = decision_.next.generation.ranks;
    return decision_.next.checkpoint_step >= rules_.job.steps ||
           std::ranges::all_of(ranks, [](const PlacedRank& rank) { return rank.code == 0; });
  }

  void release_machines() {
    for (const JobMachine& each : next().machines) {
      if (each.gone_by) decision_.acts.emplace_back(ReleaseMachine{each.name});
    }
  }

  void start_again(const Stopping& stopping) {
    next().phase = JobPhase::kWaiting;
    next().why.clear();
    if (!stopping.failure) return;
    if (++next().failures >= limits_.attempts) {
      return end(JobPhase::kFailed,
                 count(next().failures, "failure") + " without a new checkpoint after step " +
                     std::to_string(next().checkpoint_step) + "; the last: " + stopping.reason);
    }
    if (next().failures < 2) return;
    Duration pause = limits_.pause;
    for (int i = 2; i < next().failures && pause < limits_.longest_pause; ++i) pause *= 2;
    pause = std::min(pause, limits_.longest_pause);
    next().pause_until = now_ + pause;
    next().why = "pausing after " + count(next().failures, "failure") + " in a row";
    log("pause", "The job starts again in " + to_text(pause) + ", after " +
                     count(next().failures, "failure") + " without a new checkpoint.");
  }

  void end(JobPhase phase, const std::string& reason) {
    next().phase = phase;
    next().why = reason;
    log(std::string(name_of(phase)), "The job has ended: " + reason + ".");
  }

  // --- when to look again ---

  [[nodiscard]] std::optional<UtcTime> wake() const {
    const JobState& state = decision_.next;
    std::optional<UtcTime> first;
    const auto at = [&](std::optional<UtcTime> time) {
      if (time && (!first || *time < *first)) first = time;
    };
    if (state.phase == JobPhase::kWaiting) at(state.pause_until);
    if (state.phase == JobPhase::kStarting) at(state.generation.started + limits_.start);
    if (state.phase == JobPhase::kRunning) at(state.look_again);
    if (state.stopping) at(state.stopping->kill_at);
    at(silent_at());
    for (const JobMachine& each : state.machines) {
      if (!each.gone_by) continue;
      if (up() && in_use(each.name)) at(*each.gone_by - lead());
      if (!in_use(each.name)) at(*each.gone_by);
    }
    return first ? std::optional{std::max(*first, now_ + Duration{1})} : std::nullopt;
  }

  const JobRules& rules_;
  const JobLimits& limits_;
  const Event& event_;
  UtcTime now_;
  JobDecision decision_;
};

}  // namespace

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
  state.pause_until.reset();
  // They may have changed in the meantime, and join anew.
  state.machines.clear();
  return state;
}

JobDecision decide(const JobRules& rules, const JobState& state, const Event& event, UtcTime now) {
  return Decider(rules, state, event, now).run();
}

}  // namespace penstock
