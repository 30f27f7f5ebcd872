// Whether a search is to end, asked from work that several threads share.
#pragma once

#include <atomic>
#include <mutex>

#include "search/best_plans.h"

namespace penstock {

// Any thread asks, one at a time as SearchProgress wants: the one that waits for the others cannot.
// Once it is so it stays so.
class AskedToStop {
 public:
  explicit AskedToStop(SearchProgress& progress) : progress_(progress) {}
  AskedToStop(const AskedToStop&) = delete;
  AskedToStop& operator=(const AskedToStop&) = delete;

  bool operator()() {
    if (stops_) return true;
    const std::scoped_lock turn(turn_);
    if (!stops_ && progress_.stop()) stops_ = true;
    return stops_;
  }

  // Whether somebody was told to stop, and left out what was to be done.
  [[nodiscard]] bool stopped() const { return stops_; }

 private:
  SearchProgress& progress_;
  std::mutex turn_;
  std::atomic<bool> stops_ = false;
};

}  // namespace penstock
