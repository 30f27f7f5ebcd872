// What a search tells the person who waits for it, and how that person stops it. The only clock and
// the only signal handler of the program.
#pragma once

#include <chrono>
#include <optional>

#include "search/best_plans.h"

namespace penstock {

// While it lives, Ctrl-C asks for a stop (a second one kills), and progress goes to stderr: on a
// terminal a line that changes once a search takes more than a second, else a line every 30 s.
class WatchedSearch : public SearchProgress {
 public:
  explicit WatchedSearch(std::optional<Duration> budget);
  ~WatchedSearch() override;
  WatchedSearch(const WatchedSearch&) = delete;
  WatchedSearch& operator=(const WatchedSearch&) = delete;

  void update(std::int64_t done, std::int64_t candidates, Duration best_step) override;
  bool stop() override;

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<Duration> budget_;
  Clock::time_point begin_, next_line_;
  bool terminal_;
  bool line_is_open_ = false;
};

}  // namespace penstock
