#include "training/gloo/waiters.h"

#include <utility>

namespace penstock {

Waiters::~Waiters() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Waiters::run(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (jobs_.size() > idle_) {
    threads_.emplace_back([this] { work(); });
  } else {
    changed_.notify_one();
  }
}

void Waiters::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!jobs_.empty()) {
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
      continue;
    }
    if (ending_) return;
    ++idle_;
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    --idle_;
  }
}

}  // namespace penstock
