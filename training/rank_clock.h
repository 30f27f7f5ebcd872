// The clock that ranks of one process live by: the steady clock of the machine, or one that jumps
// from event to event, so that ranks which only sleep keep their times to the nanosecond and a
// run takes no longer than its threads need to wake each other.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>

#include "training/steady_time.h"

namespace penstock {

class RankClock {
 public:
  virtual ~RankClock() = default;
  [[nodiscard]] virtual SteadyTime now() const = 0;
  virtual void sleep_until(SteadyTime deadline) = 0;
  // Lets go of `lock` until wake(changed) was called or the deadline has come; like a condition
  // variable it may return for no reason.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                    SteadyTime deadline) = 0;
  // All that wait for it, by whoever holds the mutex of their locks.
  virtual void wake(std::condition_variable& changed) = 0;
};

// The machine's.
class SteadyRankClock : public RankClock {
 public:
  [[nodiscard]] SteadyTime now() const override { return steady_now(); }
  void sleep_until(SteadyTime deadline) override;
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            SteadyTime deadline) override;
  void wake(std::condition_variable& changed) override;
};

// Begins at 0 and stands still while any of its threads runs. When all of them sleep or wait, it
// jumps to the earliest deadline. A thread that was woken runs, whether it has noticed or not.
class JumpingClock : public RankClock {
 public:
  explicit JumpingClock(int threads) : running_(threads) {}
  // By each of the threads, when it does nothing more that takes time.
  void leave();

  [[nodiscard]] SteadyTime now() const override;
  void sleep_until(SteadyTime deadline) override;
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            SteadyTime deadline) override;
  void wake(std::condition_variable& changed) override;

 private:
  struct Sleeper {
    SteadyTime deadline;
    const std::condition_variable* waits_for;  // null: only for the deadline
    std::condition_variable awake;
    bool is_awake = false;
  };
  using Sleepers = std::list<Sleeper>;

  Sleepers::iterator fall_asleep(SteadyTime deadline, const std::condition_variable* waits_for);
  void sleep(std::unique_lock<std::mutex>& own, Sleepers::iterator sleeper);
  void wake(Sleeper& sleeper);
  void jump_if_nobody_runs();

  mutable std::mutex mutex_;  // taken after that of a lock, never before
  SteadyTime now_{};
  int running_;
  Sleepers sleepers_;
};

}  // namespace penstock
