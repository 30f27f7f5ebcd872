#include "cli/io/jobs_view.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/values/error.h"
#include "core/values/run_log.h"

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings{500};
constexpr std::chrono::seconds kBetweenLines{10};
constexpr const char* kWaits = "waits";
constexpr const char* kRuns = "runs";

}  // namespace

JobProgress read_progress(const std::string& log) {
  std::ifstream file(log, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  JobProgress progress;
  if (!file || text.str().find('\n') == std::string::npos) return progress;
  const RunLog run = read_run_log(text.str(), log);
  if (run.steps.empty()) return progress;
  progress.steps = run.steps.back().step + 1;
  progress.loss = run.steps.back().loss;
  for (const MeasuredStep& step : run.steps) progress.in_steps += step.step_time;
  return progress;
}

std::string job_line(const ViewedJob& job, const JobProgress& progress, const std::string& state) {
  std::string line = fmt::format(
      "{:<16} rank{} {:<8} {:>6} of {} steps", job.name, job.ranks.size() == 1 ? " " : "s",
      fmt::format("{}", fmt::join(job.ranks, ",")), progress.steps, job.steps);
  if (progress.loss) line += fmt::format("   loss {:.4f}", *progress.loss);
  const std::int64_t left = job.steps - progress.steps;
  if (state != kRuns) {
    line += "   " + state;
  } else if (progress.steps > 0 && left > 0) {
    line += "   about " + to_text(progress.in_steps / progress.steps * left) + " left";
  }
  return line;
}

std::string words_of(const JobEnd& end) {
  if (!end.was_started) return "not started";
  if (end.signal != 0) {
    return fmt::format("ended by signal {} ({})", end.signal, strsignal(end.signal));
  }
  if (end.exit_code == 4) return "stopped on request";
  return end.exit_code == 0 ? "done" : fmt::format("failed: exit code {}", end.exit_code);
}

JobsView::JobsView(std::vector<ViewedJob> jobs)
    : jobs_(std::move(jobs)),
      states_(jobs_.size(), kWaits),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + kBetweenLines) {}

void JobsView::job_started(std::size_t job) {
  states_[job] = kRuns;
  if (terminal_) return draw();
  std::fprintf(stderr, "%s starts on rank%s %s\n", jobs_[job].name.c_str(),
               jobs_[job].ranks.size() == 1 ? "" : "s",
               fmt::format("{}", fmt::join(jobs_[job].ranks, ", ")).c_str());
}

void JobsView::job_ended(std::size_t job, const JobEnd& end) {
  states_[job] = words_of(end);
  if (terminal_) return draw();
  std::fprintf(stderr, "%s\n", line_of(job).c_str());
}

void JobsView::time_passed() {
  const auto now = Clock::now();
  if (now < next_) return;
  if (terminal_) {
    next_ = now + kBetweenDrawings;
    return draw();
  }
  next_ = now + kBetweenLines;
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    if (states_[job] == kRuns) std::fprintf(stderr, "%s\n", line_of(job).c_str());
  }
}

// All lines over again.
void JobsView::draw() {
  next_ = Clock::now() + kBetweenDrawings;
  std::string text = is_drawn_ ? fmt::format("\033[{}A", jobs_.size()) : "";
  for (std::size_t job = 0; job < jobs_.size(); ++job) text += line_of(job) + "\033[K\n";
  std::fputs(text.c_str(), stderr);
  is_drawn_ = true;
}

// A log that is damaged is the job's own business.
std::string JobsView::line_of(std::size_t job) const {
  JobProgress progress;
  try {
    if (states_[job] != kWaits) progress = read_progress(jobs_[job].log);
  } catch (const Error&) {
    progress = {};
  }
  return job_line(jobs_[job], progress, states_[job]);
}

}  // namespace penstock
