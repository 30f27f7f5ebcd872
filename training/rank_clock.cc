#include "training/rank_clock.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace penstock {

// To a deadline and not for a while: what happens in between does not make the sleep longer. On
// Linux std::chrono::steady_clock is CLOCK_MONOTONIC.
void SteadyRankClock::sleep_until(SteadyTime deadline) {
  const std::int64_t since = deadline.time_since_epoch().count();
  const timespec at{static_cast<std::time_t>(since / 1'000'000'000),
                    static_cast<long>(since % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

void SteadyRankClock::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                           SteadyTime deadline) {
  changed.wait_until(lock, deadline);
}

void SteadyRankClock::wake(std::condition_variable& changed) { changed.notify_all(); }

void JumpingClock::leave() {
  const std::lock_guard own(mutex_);
  --running_;
  jump_if_nobody_runs();
}

SteadyTime JumpingClock::now() const {
  const std::lock_guard own(mutex_);
  return now_;
}

void JumpingClock::sleep_until(SteadyTime deadline) {
  std::unique_lock own(mutex_);
  if (deadline <= now_) return;
  sleep(own, fall_asleep(deadline, nullptr));
}

// The sleeper is there before the caller's lock is let go, so that no wake() is lost.
void JumpingClock::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                        SteadyTime deadline) {
  std::unique_lock own(mutex_);
  if (deadline <= now_) return;
  const Sleepers::iterator sleeper = fall_asleep(deadline, &changed);
  lock.unlock();
  sleep(own, sleeper);
  own.unlock();
  lock.lock();
}

void JumpingClock::wake(std::condition_variable& changed) {
  {
    const std::lock_guard own(mutex_);
    for (Sleeper& sleeper : sleepers_) {
      if (sleeper.waits_for == &changed) wake(sleeper);
    }
  }
  changed.notify_all();  // those that wait for a moment that takes no time
}

JumpingClock::Sleepers::iterator JumpingClock::fall_asleep(
    SteadyTime deadline, const std::condition_variable* waits_for) {
  Sleeper& sleeper = sleepers_.emplace_back();
  sleeper.deadline = deadline;
  sleeper.waits_for = waits_for;
  --running_;
  const auto place = std::prev(sleepers_.end());
  jump_if_nobody_runs();
  return place;
}

void JumpingClock::sleep(std::unique_lock<std::mutex>& own, Sleepers::iterator sleeper) {
  sleeper->awake.wait(own, [&] { return sleeper->is_awake; });
  sleepers_.erase(sleeper);
}

void JumpingClock::wake(Sleeper& sleeper) {
  if (sleeper.is_awake) return;
  sleeper.is_awake = true;
  ++running_;
  sleeper.awake.notify_one();
}

void JumpingClock::jump_if_nobody_runs() {
  if (running_ > 0 || sleepers_.empty()) return;
  const auto earliest =
      std::min_element(sleepers_.begin(), sleepers_.end(),
                       [](const Sleeper& a, const Sleeper& b) { return a.deadline < b.deadline; });
  now_ = std::max(now_, earliest->deadline);
  for (Sleeper& sleeper : sleepers_) {
    if (sleeper.deadline <= now_) wake(sleeper);
  }
}

}  // namespace penstock
