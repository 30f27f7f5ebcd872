// A view of the job is made after every decision, and once a second while nothing happens; requests
// are answered from it by the port's thread, so that a manager that is busy is seen to be.
#include "manager/port/port_events.h"

#include <algorithm>
#include <utility>

#include "manager/port/metrics_text.h"

namespace penstock {
namespace {

constexpr std::size_t kDecisionsShown = 20;
constexpr Duration kShownFor = std::chrono::seconds(1);

PortView view_of(const PortSubject& subject, const JobStatus& status) {
  PortView view{subject.job, std::nullopt, to_text(write_job_status(status)) + "\n",
                metrics_text(status)};
  if (!subject.machines_are_fixed) return view;
  view.machines.emplace();
  for (const MachineStatus& machine : status.machines) view.machines->push_back(machine.name);
  return view;
}

}  // namespace

PortEvents::PortEvents(const HttpServerOptions& options, PortKey key, PortSubject subject,
                       std::function<UtcTime()> clock)
    : subject_(std::move(subject)),
      clock_(std::move(clock)),
      port_(options, std::move(key), {subject_.job, std::vector<std::string>{}, "{}\n", ""}) {}

void PortEvents::begin(const JobState& state) {
  state_ = state;
  most_steps_ = state.last_step;
  last_ = clock_();
  seen_.steps = subject_.steps;
  show();
}

void PortEvents::pass_time(UtcTime now) {
  if (now > last_) seen_.in_phase[std::string(name_of(state_.phase))] += now - last_;
  last_ = std::max(now, last_);
}

void PortEvents::see_step(const StepFinished& step) {
  if (step.step <= most_steps_) return;
  most_steps_ = step.step;
  seen_.productive += step.time;
}

void PortEvents::show() {
  const UtcTime now = clock_();
  pass_time(now);
  shown_ = now;
  const int page = state_.generation.page;
  const bool has_page = state_.generation.number > 0;
  seen_.plan = has_page && subject_.plan_words ? subject_.plan_words(page) : "";
  seen_.tokens_per_step = has_page && subject_.tokens_per_step ? subject_.tokens_per_step(page) : 0;
  port_.show(view_of(subject_, job_status(state_, seen_, now)));
}

std::vector<Event> PortEvents::poll() {
  std::vector<Event> events;
  for (PendingCommand& command : port_.take(Duration{})) {
    events.emplace_back(command.message.command);
    waiting_.push_back(std::move(command));
  }
  if (clock_() - shown_ >= kShownFor) show();
  return events;
}

void PortEvents::decided(const Event& event, const JobDecision& decision) {
  pass_time(clock_());
  if (const auto* step = std::get_if<StepFinished>(&event)) see_step(*step);
  if (decision.next.checkpoint_step != state_.checkpoint_step) seen_.checkpoint_at = last_;
  state_ = decision.next;
  for (const LogEntry& entry : decision.log) seen_.decisions.push_back(entry);
  if (seen_.decisions.size() > kDecisionsShown) {
    seen_.decisions.erase(seen_.decisions.begin(),
                          seen_.decisions.end() - std::ptrdiff_t{kDecisionsShown});
  }
  show();
  const auto* given = std::get_if<CommandGiven>(&event);
  if (given == nullptr) return;
  const auto found = std::ranges::find(
      waiting_, *given, [](const PendingCommand& command) { return command.message.command; });
  if (found == waiting_.end()) return;  // of another source
  const CommandAnswer answer = decision.answer.value_or(CommandAnswer{given->id, false, ""});
  port_.answer(*found, {answer.accepted, answer.words});
  waiting_.erase(found);
}

}  // namespace penstock
