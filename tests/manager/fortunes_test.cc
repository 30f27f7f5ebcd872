// Seeded misfortune: a world in virtual time whose machines come, go and die, whose ranks crash and
// hang, and whose manager is killed between any two steps. Whatever happens, decide() must keep the
// rules below, and the job must end soon after the world has calmed down.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/manager/jobs.h"
#include "tests/watched.h"

namespace penstock::test {
namespace {

constexpr std::int64_t kSteps = 300;
constexpr int kMayhem = 900;     // seconds
constexpr int kPatience = 4000;  // seconds of calm within which the job must have ended

JobRules rules_of_fortune() {
  JobRules rules = rules_of_test(kSteps);
  rules.job.limits.attempts = 1000;  // the world is to blame, not the job
  rules.job.limits.longest_pause = seconds(20);
  return rules;
}

struct LiveRank {
  int rank = 0;
  std::string machine;
  bool exits_at_once = false;
};

class World {
 public:
  explicit World(unsigned seed) : random_(seed), rules_(rules_of_fortune()) {
    rules_.advised = seed % 2 == 0;
    state_ = first_state(rules_, "secret", now());
  }

  void live() {
    for (second_ = 0; second_ < kMayhem + kPatience && !state_.has_ended(); ++second_) {
      if (second_ < kMayhem) {
        misfortune();
      } else if (second_ == kMayhem) {
        hangs_ = false;
        give(MachineJoined{"calm", 4});
        machines_["calm"] = 4;
      }
      machines_go();
      ranks_work();
      give(TimePassed{});
    }
    INFO("phase ", name_of(state_.phase), ": ", state_.why);
    CHECK(state_.phase == JobPhase::kFinished);
    CHECK(newest_checkpoint_ == kSteps);
    CHECK(ranks_.empty());
  }

 private:
  [[nodiscard]] UtcTime now() const { return at(seconds(second_)); }
  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  int below(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }

  // --- the manager ---

  void give(const Event& event) {
    if (state_.has_ended()) return;
    const JobDecision decision = decide(rules_, state_, event, now());
    state_ = decision.next;
    // It was killed and started again: the state comes from the store. Nearly all time goes there.
    if (!testing::kWatched || ++given_ % 16 == 0) {
      const Json stored = write_job_state(decision.next);
      state_ = read_job_state(parse_json(to_text(stored), "state"), "state");
      REQUIRE(state_ == decision.next);
    }
    for (const LogEntry& entry : decision.log) CHECK(entry.reason.back() == '.');
    if (decision.wake) CHECK(*decision.wake > now());
    // Acts may be carried out twice.
    const int times = chance(20) ? 2 : 1;
    for (int i = 0; i < times; ++i) {
      for (const Act& act : decision.acts) carry_out(read_act(write_act(act), "act"));
    }
  }

  void carry_out(const Act& act) {
    if (const auto* start = std::get_if<StartRanks>(&act)) start_ranks(*start);
    if (const auto* signal = std::get_if<SignalRanks>(&act)) signal_ranks(*signal);
  }

  void start_ranks(const StartRanks& start) {
    if (start.generation == generation_) return;  // carried out before
    CHECK(start.generation == generation_ + 1);
    for (const LiveRank& left : ranks_) {
      INFO("rank ", left.rank, " on ", left.machine, " still lives");
      CHECK(unreachable_.contains(left.machine));
    }
    ranks_.clear();
    CHECK(static_cast<int>(start.ranks.size()) <= start.page);
    std::set<std::pair<std::string, int>> places;
    for (const PlacedRank& rank : start.ranks) {
      const auto machine = machines_.find(rank.machine);
      // A machine may die before anybody could say so.
      if (machine != machines_.end()) CHECK(rank.local_rank < machine->second);
      const auto known = std::ranges::find(state_.machines, rank.machine, &JobMachine::name);
      REQUIRE(known != state_.machines.end());
      CHECK((!known->gone_by || *known->gone_by > now()));
      CHECK(places.emplace(rank.machine, rank.local_rank).second);
      ranks_.push_back({rank.rank, rank.machine, machine == machines_.end()});
    }
    generation_ = start.generation;
    step_ = newest_checkpoint_;
    every_ = start.checkpoint_every;
    ready_at_ = second_ + 3 + below(12);
    next_step_at_ = ready_at_ + 1;
    ready_ = false;
    hung_ = false;
    exit_at_.reset();
  }

  void signal_ranks(const SignalRanks& signal) {
    // Of an act that is carried out twice, the second may come too late.
    CHECK(signal.generation <= generation_);
    if (signal.generation != generation_) return;
    if (signal.signal == ProcessSignal::kKill) {
      for (LiveRank& rank : ranks_) {
        if (signal.machine.empty() || rank.machine == signal.machine) rank.exits_at_once = true;
      }
    } else if (signal.signal == ProcessSignal::kCheckpointAndExit && !hung_ && !exit_at_) {
      exit_at_ = second_ + 1 + below(4);
      exit_code_ = 4;
    }
  }

  // --- the world ---

  void misfortune() {
    if (chance(15)) {
      const std::string name = "m" + std::to_string(below(6));
      const int gpus = 1 + below(4);
      // It may be one that is there: as a cloud that gives a name again.
      for (LiveRank& rank : ranks_) {
        if (rank.machine == name && machines_[name] != gpus) rank.exits_at_once = true;
        // And one that was lost, and comes back before anybody has seen that.
        if (rank.machine == name && unreachable_.contains(name)) rank.exits_at_once = true;
      }
      machines_[name] = gpus;
      unreachable_.erase(name);
      goes_at_.erase(name);
      give(MachineJoined{name, gpus});
    }
    if (machines_.empty()) return;
    auto it = machines_.begin();
    std::advance(it, below(static_cast<int>(machines_.size())));
    const std::string name = it->first;
    if (chance(30)) {
      const int in = below(60) - 10;
      goes_at_[name] = second_ + std::max(1, in);
      give(MachineLeaves{name, at(seconds(second_ + in)), "notice"});
    }
    if (chance(100) && goes_at_.erase(name) > 0) give(NoticeWithdrawn{name});
    if (chance(60)) lose(name, chance(2));
    if (chance(60) && !ranks_.empty()) crash();
    if (chance(200)) hung_ = hangs_;
    if (chance(60)) give(MachineSlow{name, 1.0 + 0.5 * below(3)});
    if (chance(60) && state_.phase == JobPhase::kRunning) advise();
    if (chance(200)) give(PlanFound{{kFirstFoundPage + 100, 3, milliseconds(1300)}});
    if (chance(40)) give(CommandGiven{std::to_string(below(200)), a_command(), "test", name});
  }

  // With a plan for the ranks that there are, or none.
  void advise() {
    SlowAdvised advised;
    advised.generation = state_.generation.number - below(2);
    advised.kept = milliseconds(500 * (1 + below(8)));
    const auto gpus = static_cast<int>(state_.generation.ranks.size());
    if (chance(2)) {
      advised.other = PlanPage{kFirstFoundPage + 1 + below(50), gpus, scaled(advised.kept, 0.7)};
    }
    give(advised);
  }

  CommandKind a_command() {
    return std::vector{CommandKind::kCheckpoint,
                       CommandKind::kMorph}[static_cast<std::size_t>(below(2))];
  }

  void crash() {
    ranks_[static_cast<std::size_t>(below(static_cast<int>(ranks_.size())))].exits_at_once = true;
  }

  void lose(const std::string& name, bool announced) {
    machines_.erase(name);
    goes_at_.erase(name);
    unreachable_.insert(name);
    bool used = false;
    for (const LiveRank& rank : ranks_) used = used || rank.machine == name;
    if (used) peers_lost();
    if (announced) {
      std::erase_if(ranks_, [&](const LiveRank& rank) { return rank.machine == name; });
      give(MachineLost{name, "test"});
    } else {
      // Whoever watches the machine notices it later.
      lost_later_[name] = second_ + 5 + below(20);
    }
  }

  void machines_go() {
    for (auto it = lost_later_.begin(); it != lost_later_.end();) {
      const std::string name = it->first;
      if (it->second > second_) {
        ++it;
        continue;
      }
      it = lost_later_.erase(it);
      if (machines_.contains(name)) continue;
      std::erase_if(ranks_, [&](const LiveRank& rank) { return rank.machine == name; });
      give(MachineLost{name, "no answer"});
    }
    std::vector<std::string> going;
    for (const auto& [name, when] : goes_at_) {
      if (when <= second_) going.push_back(name);
    }
    for (const std::string& name : going) lose(name, false);
  }

  void peers_lost() {
    if (exit_at_ && exit_code_ == 3) return;
    exit_at_ = second_ + 2 + below(6);
    exit_code_ = 3;
  }

  void ranks_work() {
    const std::int64_t generation = generation_;
    for (const LiveRank& rank : std::vector<LiveRank>(ranks_)) {
      if (!rank.exits_at_once || generation != generation_) continue;
      end_of(rank, std::nullopt, 9);
      if (generation == generation_) peers_lost();
    }
    if (ranks_.empty() || generation != generation_) return;
    if (exit_at_ && !hung_ && second_ >= *exit_at_) return exit_all();
    if (exit_at_ || hung_ || !complete()) return;
    if (!ready_ && second_ >= ready_at_) {
      ready_ = true;
      give(RanksReady{generation_});
    }
    if (generation != generation_ || !ready_ || second_ < next_step_at_) return;
    step();
  }

  [[nodiscard]] bool complete() const {
    return ranks_.size() == state_.generation.ranks.size() &&
           std::ranges::none_of(
               ranks_, [&](const LiveRank& rank) { return unreachable_.contains(rank.machine); });
  }

  void step() {
    next_step_at_ = second_ + static_cast<int>(4 / ranks_.size());
    ++step_;
    give(StepFinished{generation_, step_, 1.0 / static_cast<double>(step_), seconds(1)});
    if (step_ == kSteps || (every_ > 0 && step_ % every_ == 0)) write_checkpoint();
    if (step_ == kSteps) {
      exit_at_ = second_ + 1;
      exit_code_ = 0;
    }
  }

  void write_checkpoint() {
    newest_checkpoint_ = std::max(newest_checkpoint_, step_);
    give(CheckpointWritten{generation_, step_, seconds(3)});
  }

  void exit_all() {
    const std::int64_t generation = generation_;
    if (exit_code_ == 4) write_checkpoint();
    for (const LiveRank& rank : std::vector<LiveRank>(ranks_)) {
      if (generation != generation_) return;
      if (!unreachable_.contains(rank.machine)) end_of(rank, exit_code_, 0);
    }
  }

  void end_of(const LiveRank& rank, std::optional<int> code, int signal) {
    if (unreachable_.contains(rank.machine)) return;
    const std::int64_t generation = generation_;
    std::erase_if(ranks_, [&](const LiveRank& each) { return each.rank == rank.rank; });
    give(RankEnded{generation, rank.rank, code, signal, ""});
    // The same news twice.
    if (chance(10)) give(RankEnded{generation, rank.rank, code, signal, ""});
  }

  std::mt19937 random_;
  JobRules rules_;
  JobState state_;
  int second_ = 0, given_ = 0;
  std::map<std::string, int> machines_;
  std::map<std::string, int> goes_at_, lost_later_;
  std::set<std::string> unreachable_;
  std::vector<LiveRank> ranks_;
  std::int64_t generation_ = 0, step_ = 0, every_ = 0, newest_checkpoint_ = 0;
  int ready_at_ = 0, next_step_at_ = 0;
  bool ready_ = false, hung_ = false, hangs_ = true;
  std::optional<int> exit_at_;
  int exit_code_ = 0;
};

TEST_CASE("whatever happens, the rules hold and the job ends when machines suffice") {
  const unsigned seeds = testing::kWatched ? 4 : 20;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    INFO("seed ", seed);
    World(seed).live();
  }
}

}  // namespace
}  // namespace penstock::test
