#include "cli/io/watched_training.h"

#include <csignal>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "report/training_report.h"

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings{100};
constexpr std::chrono::seconds kBetweenLines{10};

volatile std::sig_atomic_t stop_requested = 0;

volatile std::sig_atomic_t checkpoint_requested = 0;

void on_stop(int) { stop_requested = 1; }
void on_checkpoint(int) { checkpoint_requested = 1; }

// SIGINT and SIGTERM find the default again the second time.
void handle(int signal, unsigned flags, void (*handler)(int) = on_stop) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(flags | SA_RESTART);
  sigaction(signal, &action, nullptr);
}

}  // namespace

WatchedTraining::WatchedTraining(const RunHeader& header, PlanSequence plans, std::int64_t end_step,
                                 const Files& files)
    : plans_(std::move(plans)),
      end_step_(end_step),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_line_(Clock::now()) {
  run_.header = header;
  if (!files.log.empty()) log_.emplace(files.log, header);
  if (!files.tensorboard.empty()) tensorboard_.emplace(files.tensorboard, header.first_step);
}

WatchedTraining::~WatchedTraining() {
  if (line_is_open_) std::fputc('\n', stderr);
}

void WatchedTraining::step_finished(const MeasuredStep& measured) {
  MeasuredStep step = measured;
  const PlanFromStep& plan = plan_at(plans_, step.step);
  if (plan.hash != run_.header.plan_hash) {
    step.plan = plan.path;
    step.plan_hash = plan.hash;
  }
  if (log_) log_->add(step);
  if (tensorboard_) tensorboard_->add(step);
  run_.steps.push_back(step);
  run_.steps.back().ranks.clear();
  const auto now = Clock::now();
  if (now < next_line_ && step.step + 1 < end_step_ && !step.evaluation) return;
  next_line_ = now + (terminal_ ? std::chrono::nanoseconds(kBetweenDrawings)
                                : std::chrono::nanoseconds(kBetweenLines));
  const std::string line = step_line(step, end_step_);
  std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
  std::fflush(stderr);
  line_is_open_ = terminal_;
}

// A launcher of ours has blocked both for us until there are handlers.
TrainingSignals::TrainingSignals() {
  stop_requested = 0;
  checkpoint_requested = 0;
  handle(SIGUSR1, 0);
  handle(SIGUSR2, 0, on_checkpoint);
  sigset_t waiting;
  sigemptyset(&waiting);
  sigaddset(&waiting, SIGUSR1);
  sigaddset(&waiting, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &waiting, nullptr);
}

void TrainingSignals::keep_interrupts() {
  handle(SIGINT, SA_RESETHAND);
  handle(SIGTERM, SA_RESETHAND);
}

TrainingSignals::~TrainingSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_DFL);
}

RunRequest TrainingSignals::requested() {
  if (stop_requested != 0) return RunRequest::kStop;
  if (checkpoint_requested == 0) return RunRequest::kGoOn;
  checkpoint_requested = 0;
  return RunRequest::kCheckpoint;
}

}  // namespace penstock
