#include "cli/io/progress.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>

#include <unistd.h>

#include "cli/answers/commands/rehearsal.h"
#include "report/words.h"

namespace penstock {
namespace {

// Any thread may be interrupted, and any may ask.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // as a signal handler needs

void on_interrupt(int) { interrupted = true; }

// The second one finds the default again, and kills.
void handle_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

constexpr std::chrono::milliseconds kBetweenDrawings{100};
constexpr std::chrono::seconds kQuietOnTerminal{1};
constexpr std::chrono::seconds kBetweenLines{30};

}  // namespace

WatchedSearch::WatchedSearch(std::optional<Duration> budget)
    : budget_(budget), begin_(Clock::now()), terminal_(isatty(STDERR_FILENO) == 1) {
  work_begins();
  next_line_ = begin_ + (terminal_ ? kQuietOnTerminal : kBetweenLines);
  handle_interrupts();
}

WatchedSearch::~WatchedSearch() {
  std::signal(SIGINT, SIG_DFL);
  if (line_is_open_) std::fputs("\r\033[K", stderr);
}

void WatchedSearch::update(std::int64_t done, std::int64_t candidates, Duration best_step) {
  const auto now = Clock::now();
  if (now < next_line_) return;
  std::string text = with_commas(done) + " of " + count_of(candidates, "candidate");
  text +=
      best_step > Duration{} ? ", best step so far " + to_text(best_step) : ", none fits so far";
  if (terminal_) {
    std::fprintf(stderr, "\r%s (Ctrl-C prints the best so far)\033[K", text.c_str());
    line_is_open_ = true;
    next_line_ = now + kBetweenDrawings;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
    next_line_ = now + kBetweenLines;
  }
  std::fflush(stderr);
}

bool WatchedSearch::stop() { return interrupted || (budget_ && Clock::now() - begin_ >= *budget_); }

}  // namespace penstock
