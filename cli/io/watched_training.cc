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

void on_stop(int) { stop_requested = 1; }

// SIGINT and SIGTERM find the default again the second time.
void handle(int signal, unsigned flags) {
  struct sigaction action = {};
  action.sa_handler = on_stop;
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

// A launcher of ours has blocked SIGUSR1 for us until there is a handler.
TrainingSignals::TrainingSignals() {
  stop_requested = 0;
  handle(SIGUSR1, 0);
  sigset_t waiting;
  sigemptyset(&waiting);
  sigaddset(&waiting, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &waiting, nullptr);
}

void TrainingSignals::keep_interrupts() {
  handle(SIGINT, SA_RESETHAND);
  handle(SIGTERM, SA_RESETHAND);
}

TrainingSignals::~TrainingSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, SIG_DFL);
}

RunRequest TrainingSignals::requested() {
  return stop_requested != 0 ? RunRequest::kStop : RunRequest::kGoOn;
}

}  // namespace penstock
