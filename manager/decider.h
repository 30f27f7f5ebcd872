// One decision in the making. Private to manager/: decide.cc has what its parts share,
// decide_events.cc how events change the books, decide_transitions.cc what follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manager/choose_plan.h"
#include "manager/decide.h"

namespace penstock {

inline constexpr int kStoppedCode = 4;  // of a rank: it was told to end and has a checkpoint

class Decider {
 public:
  Decider(const JobRules& rules, const JobState& state, const Event& event, UtcTime now, bool more)
      : rules_(rules), limits_(rules.job.limits), event_(event), now_(now), more_(more) {
    decision_.next = state;
  }

  JobDecision run();

 private:
  JobState& next() { return decision_.next; }
  Generation& generation() { return next().generation; }
  void log(std::string decision, std::string reason);
  JobMachine* machine(const std::string& name);
  [[nodiscard]] bool ranks_live() const;
  [[nodiscard]] bool in_use(const std::string& name) const;
  [[nodiscard]] bool up() const;
  [[nodiscard]] Duration step_time() const;
  [[nodiscard]] Duration lead() const;

  // The books.

  void handle(const TimePassed& /*event*/) {}
  void handle(const MachineJoined& event) { join(event.machine, event.gpus, event.device); }
  std::string why_not_join(const std::string& name, const std::string& device);
  void join(const std::string& name, int gpus, const std::string& device);
  void join_again(JobMachine& known, int gpus, const std::string& device);
  void fits_still(const std::string& name, int gpus);
  void handle(const MachineLeaves& event) { announce(event.machine, event.gone_by); }
  bool announce(const std::string& name, UtcTime gone_by);
  void handle(const NoticeWithdrawn& event);
  void handle(const MachineLost& event);
  void lose(const std::string& name, const std::string& reason);
  void remember(std::vector<std::string> added, std::vector<std::string> lost);
  void handle(const MachineSlow& event);
  void handle(const SlowAdvised& event);
  void handle(const PlanFound& event);
  [[nodiscard]] bool is_current(std::int64_t number) const;
  void handle(const RanksReady& event);
  void ready();
  void handle(const StepFinished& event);
  void handle(const CheckpointWritten& event);
  void note_interval(const CheckpointWritten& event);
  void handle(const RankEnded& event);
  static std::string last_words(const RankEnded& event);
  static WayToEnd way_of_loss(const RankEnded& event);
  void first_end(const RankEnded& event);

  // The ends of a generation.

  void begin_stopping(AfterStop then, WayToEnd way, bool failure, UtcTime kill_at,
                      const std::string& reason);
  void follow(const std::string& reason, WayToEnd way, bool failure);
  void stop(AfterStop then, ProcessSignal signal, const std::string& reason,
            std::optional<UtcTime> until = std::nullopt);
  [[nodiscard]] UtcTime latest_kill(UtcTime gone_by) const;
  void note_what_is_kept();
  [[nodiscard]] UtcTime kill_at() const;

  // How long until there is a first step again (decide_expectations.cc).

  void expect_first_step();
  void rethink_expectation(const RankEnded& event);
  [[nodiscard]] std::string expectation() const;
  [[nodiscard]] Duration time_to_end() const;
  [[nodiscard]] Duration assumed_end(WayToEnd way) const;
  [[nodiscard]] std::optional<Duration> time_to_start(int ranks) const;
  void learn_end();
  void learn_start(Duration first_step);
  void compare_expectation();

  // Commands.

  void handle(const CommandGiven& command);
  void answer(const CommandGiven& command, bool accepted, std::string words);
  void obey(const CommandGiven& command);
  void leave(const CommandGiven& command);
  void checkpoint(const CommandGiven& command);
  void ask_checkpoint(const std::string& reason);
  void morph(const CommandGiven& command);
  void stop_job(const CommandGiven& command);

  // Transitions.

  bool settle();
  void forget_machines_that_went();
  bool try_start();
  bool wait_for_machines();
  void start(const ChosenPlan& chosen);
  std::string machines_text();
  [[nodiscard]] UtcTime start_ends() const;
  bool give_up_starting();
  bool leave_machines();
  [[nodiscard]] std::optional<UtcTime> silent_at() const;
  bool give_up_silent();
  bool change_plan();
  [[nodiscard]] std::int64_t steps_between_checkpoints() const;
  [[nodiscard]] Duration between_losses() const;
  [[nodiscard]] Duration generation_step() const;
  bool kill_what_is_left();
  void count_out_of_reach();
  bool all_ended();
  [[nodiscard]] bool is_done() const;
  void release_machines();
  void start_again(const Stopping& stopping);
  void end(JobPhase phase, const std::string& reason);

  // When to look again.

  [[nodiscard]] std::optional<UtcTime> wake() const;
  const JobRules& rules_;
  const JobLimits& limits_;
  const Event& event_;
  UtcTime now_;
  bool more_;
  JobDecision decision_;
};

}  // namespace penstock
