// What a training run prints while it goes on, and the signals that it obeys.
//
// On a terminal one line is drawn over again, at most ten times a second; elsewhere a line is
// printed every ten seconds. A line that must stay (a slow rank) ends the drawn one first. Signal
// handlers only set a flag: the run asks for it after every step (RunControl), so that nothing
// happens in the middle of one.
#include "cli/io/watched_training.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "cli/options/slow_watch_options.h"
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
                                 const Files& files, const std::optional<SlowRule>& slow_rule)
    : plans_(std::move(plans)),
      end_step_(end_step),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_line_(Clock::now()),
      slow_rule_(slow_rule),
      slow_machines_(files.slow_machines) {
  if (slow_rule_) slow_.threshold = slow_rule_->threshold;
  if (slow_rule_) slow_.window = slow_rule_->window;
  write_slow();
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
  if (slow_rule_) look_for_slow_ranks(plan, step);
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

// What changes is said once. Under another plan ranks have other shares: it begins anew.
void WatchedTraining::look_for_slow_ranks(const PlanFromStep& plan, const MeasuredStep& step) {
  if (!watch_ || watched_plan_ != plan.hash) {
    watch_.emplace(rank_shares(*plan.plan), *slow_rule_);
    watched_plan_ = plan.hash;
    slow_.slow.clear();
    write_slow();
  }
  if (!watch_->observe(step.step, step.rank_compute)) return;
  const std::vector<RankSlowness> before = std::exchange(slow_.slow, watch_->slow());
  write_slow();
  const auto is_among = [](const std::vector<RankSlowness>& ranks, const RankSlowness& one) {
    return std::ranges::find(ranks, one.rank, &RankSlowness::rank) != ranks.end();
  };
  for (const RankSlowness& rank : slow_.slow) {
    if (!is_among(before, rank)) tell("slow: " + words_of(rank, slow_.hosts));
  }
  for (const RankSlowness& rank : before) {
    if (is_among(slow_.slow, rank)) continue;
    tell("no longer slow: rank " + std::to_string(rank.rank) + ", at step " +
         std::to_string(step.step + 1));
  }
}

void WatchedTraining::write_slow() const {
  if (!slow_machines_.empty()) write_slow_machines(slow_machines_, slow_);
}

void WatchedTraining::tell(const std::string& line) {
  if (std::exchange(line_is_open_, false)) std::fputc('\n', stderr);
  std::fprintf(stderr, "%s\n", line.c_str());
}

void WatchedTraining::add_if_missing(const MeasuredStep& step) {
  if (log_ && log_->last_step() != step.step) log_->add(step);
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
