// How a transfer ended, told by the thread that saw it and waited for by the rank's own.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "training/steady_time.h"

namespace penstock {

class TransferOutcome {
 public:
  void set(bool succeeded) {
    const std::lock_guard lock(mutex_);
    succeeded_ = succeeded;
    time_ = steady_now();
    changed_.notify_all();
  }
  // Whether it succeeded; nothing while it is under way.
  [[nodiscard]] std::optional<bool> succeeded() const {
    const std::lock_guard lock(mutex_);
    return succeeded_;
  }
  [[nodiscard]] std::optional<bool> wait(Duration limit) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return succeeded_.has_value(); });
    return succeeded_;
  }
  [[nodiscard]] std::optional<SteadyTime> time() const {
    const std::lock_guard lock(mutex_);
    return time_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<bool> succeeded_;
  std::optional<SteadyTime> time_;
};

}  // namespace penstock
