// A job of the tests: a book with plans for 1, 2 and 4 GPUs.
#pragma once

#include <string>
#include <vector>

#include "manager/decide.h"

namespace penstock::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline UtcTime at(Duration since) { return UtcTime{std::chrono::hours(500'000) + since}; }

// 4 s a step on one GPU, 2 s on two, 1 s on four; a checkpoint takes 3 s, a start 10 s.
inline JobRules rules_of_test(std::int64_t steps = 100) {
  JobRules rules;
  rules.job.name = "test";
  rules.job.steps = steps;
  rules.job.restart = seconds(10);
  rules.job.checkpoint_every = seconds(20);
  rules.job.limits.start = seconds(60);
  rules.job.limits.exit = seconds(20);
  rules.job.limits.silence = seconds(30);
  rules.job.limits.attempts = 3;
  rules.job.limits.pause = seconds(5);
  rules.pages = {{1, 1, seconds(4)}, {2, 2, seconds(2)}, {4, 4, seconds(1)}};
  rules.write = seconds(3);
  return rules;
}

// A job, one event after the other, that remembers what was done last.
class Told {
 public:
  explicit Told(JobRules rules = rules_of_test())
      : rules_(std::move(rules)), state(first_state(rules_, "secret", at({}))) {}

  JobDecision& operator()(Duration when, const Event& event) {
    last = decide(rules_, state, event, at(when));
    state = last.next;
    return last;
  }
  // Machines with so many GPUs each, and a first generation that runs at 10 s.
  void run_on(const std::vector<std::pair<std::string, int>>& machines) {
    for (const auto& [name, gpus] : machines) (*this)(Duration{}, MachineJoined{name, gpus});
  }
  template <typename A>
  [[nodiscard]] std::vector<A> acts() const {
    std::vector<A> found;
    for (const Act& act : last.acts) {
      if (const auto* its = std::get_if<A>(&act)) found.push_back(*its);
    }
    return found;
  }
  [[nodiscard]] bool told(ProcessSignal signal) const {
    for (const SignalRanks& each : acts<SignalRanks>()) {
      if (each.signal == signal && each.generation == state.generation.number) return true;
    }
    return false;
  }
  void all_end(Duration when, std::optional<int> code) {
    const Generation generation = state.generation;
    for (const PlacedRank& rank : generation.ranks) {
      if (!rank.ended) (*this)(when, RankEnded{generation.number, rank.rank, code, 0, ""});
    }
  }

 private:
  JobRules rules_;

 public:
  JobState state;
  JobDecision last;
};

}  // namespace penstock::test
