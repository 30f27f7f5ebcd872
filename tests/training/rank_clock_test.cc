#include "training/rank_clock.h"

#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

using std::chrono::hours;

constexpr SteadyTime at(Duration since_begin) { return SteadyTime{since_begin}; }

TEST_CASE("a clock that jumps goes from one deadline to the next, and takes no time for it") {
  JumpingClock clock(2);
  std::vector<SteadyTime> seen[2];
  const auto rank = [&](int which, Duration pause) {
    for (int i = 1; i <= 3; ++i) {
      clock.sleep_until(clock.now() + pause);
      seen[which].push_back(clock.now());
    }
    clock.leave();
  };
  const SteadyTime begin = steady_now();
  std::thread first(rank, 0, hours(2)), second(rank, 1, hours(3));
  first.join();
  second.join();
  CHECK(seen[0] == std::vector{at(hours(2)), at(hours(4)), at(hours(6))});
  CHECK(seen[1] == std::vector{at(hours(3)), at(hours(6)), at(hours(9))});
  CHECK(steady_now() - begin < hours(1));
}

TEST_CASE("who is woken runs at that time, though its deadline is far away") {
  JumpingClock clock(2);
  std::mutex mutex;
  std::condition_variable changed;
  bool said = false;
  SteadyTime heard;
  std::thread listener([&] {
    std::unique_lock lock(mutex);
    while (!said) clock.wait(lock, changed, at(hours(1000)));
    heard = clock.now();
    clock.leave();
  });
  std::thread speaker([&] {
    clock.sleep_until(at(hours(5)));
    {
      const std::lock_guard lock(mutex);
      said = true;
      clock.wake(changed);
    }
    clock.sleep_until(at(hours(7)));
    clock.leave();
  });
  listener.join();
  speaker.join();
  CHECK(heard == at(hours(5)));
  CHECK(clock.now() == at(hours(7)));
}

TEST_CASE("nobody who waits in vain keeps a clock that jumps from his deadline") {
  JumpingClock clock(1);
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  clock.wait(lock, changed, at(hours(3)));
  CHECK(clock.now() == at(hours(3)));
}

}  // namespace
}  // namespace penstock
