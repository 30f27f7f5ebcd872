#include "cli/io/manage_signals.h"

#include <csignal>
#include <string>
#include <utility>

namespace penstock {
namespace {

volatile std::sig_atomic_t checkpoint_asked = 0;
volatile std::sig_atomic_t stop_asked = 0;

void on_checkpoint(int /*signal*/) { checkpoint_asked = 1; }
void on_stop(int /*signal*/) { stop_asked = 1; }

void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

ManageSignals::ManageSignals(std::function<UtcTime()> clock) : clock_(std::move(clock)) {
  checkpoint_asked = 0;
  stop_asked = 0;
  handle(SIGUSR1, on_checkpoint);
  handle(SIGTERM, on_stop);
  handle(SIGINT, on_stop);
}

ManageSignals::~ManageSignals() {
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
}

void ManageSignals::begin(const JobState& /*state*/) {}

std::vector<Event> ManageSignals::poll() {
  std::vector<Event> events;
  const auto ask = [&](CommandKind kind, const char* who) {
    CommandGiven command;
    command.id = std::string(who) + " at " + to_text(clock_());
    command.kind = kind;
    command.who = who;
    events.emplace_back(std::move(command));
  };
  if (checkpoint_asked != 0) {
    checkpoint_asked = 0;
    ask(CommandKind::kCheckpoint, "SIGUSR1");
  }
  if (stop_asked != 0) {
    stop_asked = 0;
    ask(CommandKind::kStop, "SIGTERM or Ctrl-C");
  }
  return events;
}

void ManageSignals::decided(const Event& /*event*/, const JobDecision& /*decision*/) {}

}  // namespace penstock
