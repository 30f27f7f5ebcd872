// Starting from cuts that are even per stage, one section at a time is moved from a stage of the
// busiest ranks (or of those over memory) to another one, as long as the score falls: bytes over
// memory, then the busiest rank's work, then the sum of squares. The score falls strictly, so it
// ends. Without memory the best move is taken, found with differences of prefix sums; within memory
// the first that helps. A limit on moves bounds it where there are many stages.
#include "search/joint_cuts.h"

#include <algorithm>
#include <cstdint>

#include "search/run_totals.h"

namespace penstock {
namespace {

// Moves scored times stages, of one evening out. Within memory it serves thousands of candidates,
// and a move costs more; without, the result serves all schedules of a map.
constexpr int kMostScored = 1 << 13, kMostScoredWithin = 1 << 10;

// What moves make smaller, the first first.
struct Score {
  std::int64_t over = 0;     // bytes over memory, of all ranks
  std::int64_t busiest = 0;  // ns
  std::int64_t uneven = 0;   // sum of squares of the ranks' work
  auto operator<=>(const Score&) const = default;
};

class Evening {
 public:
  Evening(const RankSums& sums, const StageMemory* memory, const Plan& plan, BackwardKind backward)
      : memory_(memory),
        plan_(plan),
        per_copy_(plan.stages_per_copy()),
        left_((memory == nullptr ? kMostScored : kMostScoredWithin) / plan.stages()) {
    rank_of_.reserve(static_cast<std::size_t>(plan.stages()));
    prefix_.reserve(rank_of_.capacity());
    for (int s = 0; s < plan.stages(); ++s) {
      rank_of_.push_back(static_cast<std::size_t>(plan.rank_of(s)));
      prefix_.push_back(sums[plan.rank_of(s)].work_of(backward).data());
    }
    work_.resize(static_cast<std::size_t>(plan.pipeline));
    over_.resize(work_.size());
  }

  std::vector<int> run(std::vector<int> cuts) {
    Score now = score(cuts);
    const int most_rounds = 2 * cuts.back();
    for (int round = 0; round < most_rounds; ++round) {
      const Score before = now;
      best_move(cuts, now);
      if (now == before) break;
    }
    return cuts;
  }

 private:
  Score score(const std::vector<int>& cuts) {
    Score score;
    std::fill(work_.begin(), work_.end(), 0);
    for (std::size_t s = 0; s < rank_of_.size(); ++s) {
      const std::size_t at = s % static_cast<std::size_t>(per_copy_);
      work_[rank_of_[s]] += prefix_[s][cuts[at + 1]] - prefix_[s][cuts[at]];
    }
    for (std::size_t r = 0; r < work_.size(); ++r) {
      score.busiest = std::max(score.busiest, work_[r]);
      score.uneven += squared(work_[r]);
      if (memory_ == nullptr) continue;
      const Bytes over = memory_->total_of_rank(r, cuts) - memory_->capacity()[static_cast<int>(r)];
      over_[r] = std::max<std::int64_t>(0, over.count);
      score.over += over_[r];
    }
    return score;
  }

  // The ranks whose stages give sections away: those over memory, else the busiest.
  std::vector<bool> givers(const std::vector<int>& cuts) {
    const Score now = score(cuts);
    std::vector<bool> gives(work_.size());
    for (std::size_t r = 0; r < gives.size(); ++r) {
      gives[r] = now.over > 0 ? over_[r] > 0 : work_[r] == now.busiest;
    }
    return gives;
  }

  [[nodiscard]] bool may_give(int stage, const std::vector<int>& cuts,
                              const std::vector<bool>& gives) const {
    const auto s = static_cast<std::size_t>(stage);
    const bool has_to =
        gives[rank_of_[s]] ||
        (plan_.copies() > 1 && gives[rank_of_[s + static_cast<std::size_t>(per_copy_)]]);
    return has_to && cuts[s + 1] - cuts[s] >= 2;
  }

  // One section from one stage to another: those between them pass one on.
  static std::vector<int> moved(std::vector<int> cuts, int from, int to) {
    for (int cut = from + 1; cut <= to; ++cut) --cuts[static_cast<std::size_t>(cut)];
    for (int cut = to + 1; cut <= from; ++cut) ++cuts[static_cast<std::size_t>(cut)];
    return cuts;
  }

  void best_move(std::vector<int>& cuts, Score& now) {
    if (memory_ == nullptr) {
      best_move_of_work(cuts, now);
      return;
    }
    const std::vector<bool> gives = givers(cuts);
    for (int from = 0; from < per_copy_; ++from) {
      if (!may_give(from, cuts, gives)) continue;
      for (int to = 0; to < per_copy_; ++to) {
        if (to == from) continue;
        if (--left_ < 0) return;  // where many stages make this long, cuts stay as they are
        std::vector<int> other = moved(cuts, from, to);
        const Score then = score(other);
        if (!(then < now)) continue;
        now = then;
        cuts = std::move(other);  // the first that helps: the best one costs too much
        return;
      }
    }
  }

  // The best of all. From one receiver to the next little changes: the one before it passes the
  // section on instead of keeping it.
  void best_move_of_work(std::vector<int>& cuts, Score& now) {
    const std::vector<bool> gives = givers(cuts);
    const std::vector<std::int64_t> before = work_;
    const std::int64_t uneven = now.uneven;
    const auto cut = [&](int stage) { return cuts[static_cast<std::size_t>(stage)]; };
    int best_from = -1, best_to = -1;
    for (int from = 0; from < per_copy_; ++from) {
      if (!may_give(from, cuts, gives)) continue;
      for (const bool ahead : {true, false}) {
        work_ = before;
        uneven_ = uneven;
        const int end = ahead ? from : per_copy_;
        if (ahead) {  // all before it pass one on, until one of them keeps it
          for (int stage = 0; stage < from; ++stage) {
            change(stage, cut(stage + 1), 1);
            change(stage, cut(stage), -1);
          }
        }
        change(from, ahead ? cut(from) : cut(from + 1) - 1, -1);
        for (int to = ahead ? 0 : from + 1; to < end; ++to) {
          if (--left_ < 0) return;  // as above
          change(to, ahead ? cut(to) : cut(to) - 1, 1);
          const Score then{0, busiest(), uneven_};
          if (then < now) {
            now = then;
            best_from = from;
            best_to = to;
          }
          change(to, ahead ? cut(to + 1) : cut(to + 1) - 1, -1);
        }
      }
    }
    if (best_from >= 0) cuts = moved(std::move(cuts), best_from, best_to);
  }

  // The stage has a section more or less, on the ranks of all copies.
  void change(int stage, int section, int by) {
    const auto step = static_cast<std::size_t>(per_copy_);
    for (auto s = static_cast<std::size_t>(stage); s < rank_of_.size(); s += step) {
      std::int64_t& work = work_[rank_of_[s]];
      uneven_ -= squared(work);
      work += by * (prefix_[s][section + 1] - prefix_[s][section]);
      uneven_ += squared(work);
    }
  }
  [[nodiscard]] std::int64_t busiest() const {
    std::int64_t busiest = 0;
    for (const std::int64_t work : work_) busiest = std::max(busiest, work);
    return busiest;
  }
  static std::int64_t squared(std::int64_t work) {
    const std::int64_t rounded = work >> 10U;
    return rounded * rounded;
  }

  const StageMemory* memory_;
  const Plan& plan_;
  int per_copy_;
  int left_;                                 // moves that may be scored
  std::vector<std::size_t> rank_of_;         // stages of all copies
  std::vector<const std::int64_t*> prefix_;  // likewise: the work of its rank
  std::vector<std::int64_t> work_, over_;    // ranks, of the cuts that were scored last
  std::int64_t uneven_ = 0;                  // likewise
};

// Stage i and stage S - 1 - i lie on one rank, or on the same two ranks. Level i hands them out;
// then the sections of [front, back) are left for the levels behind it.
class Pairs {
 public:
  Pairs(const StageMemory& memory, const Plan& plan, int sections)
      : memory_(memory),
        stages_(plan.stages_per_copy()),
        levels_((stages_ + 1) / 2),
        sections_(sections),
        two_copies_(plan.copies() > 1) {
    memory_.remember_states_if_layers_differ();
    ranks_.reserve(static_cast<std::size_t>(plan.pipeline));
    for (int rank = 0; rank < plan.pipeline; ++rank) {
      ranks_.emplace_back(memory_, static_cast<std::size_t>(rank));
    }
  }

  std::optional<std::vector<int>> solve() {
    if (reach(Keep::kFurthest, false)) return cuts();
    // With empty stages allowed nothing is lost by taking as much as fits from the back, for every
    // front: what is left of a solution when sections are taken out of it still is one.
    if (!reach(Keep::kFurthest, true)) return std::nullopt;
    // Taking as much as fits may leave a stage a section that it cannot hold, where less would not:
    // where it does not lead to the end, all that can be reached is kept.
    if (reach(Keep::kAll, false)) return cuts();
    return std::nullopt;
  }

 private:
  enum class Keep { kFurthest, kAll };
  struct State {
    int front = 0, back = 0;
    int before = -1;  // index into the states of the level before
  };

  [[nodiscard]] bool is_middle(int level) const { return 2 * level + 1 == stages_; }
  // The first stage always sends what the first section makes, the last one nothing.
  static int least_of(int level, bool may_be_empty) { return may_be_empty && level > 0 ? 0 : 1; }

  // From one question to the next mostly one of the runs changes.
  [[nodiscard]] bool fits(int level, StageMemory::Run front, StageMemory::Run back) {
    const auto within = [&](int rank, StageMemory::Run a, StageMemory::Run b) {
      RunTotals& totals = ranks_[static_cast<std::size_t>(rank)];
      totals.set(0, a);
      totals.set(1, b);
      return totals.total() <= memory_.capacity()[rank];
    };
    if (!within(level, front, back)) return false;
    return !two_copies_ || is_middle(level) || within(stages_ - 1 - level, back, front);
  }

  // States of every level; true when the last one takes what is left.
  bool reach(Keep keep, bool may_be_empty) {
    reached_.assign(static_cast<std::size_t>(levels_), {});
    reached_[0] = {State{0, sections_, -1}};
    for (int level = 0; level + 1 < levels_; ++level) {
      if (!next_level(level, keep, may_be_empty)) return false;
    }
    return finish(may_be_empty);
  }

  bool next_level(int level, Keep keep, bool may_be_empty) {
    const int least = least_of(level, may_be_empty);
    // Sections that the levels behind it need.
    const int behind = may_be_empty ? 0 : stages_ - 2 * (level + 1);
    const auto& states = reached_[static_cast<std::size_t>(level)];
    // furthest[front]: the smallest back so far, and where from; all: every (front, back) once.
    const auto width = static_cast<std::size_t>(sections_) + 1;
    std::vector<State> furthest(width, State{0, sections_ + 1, -1});
    std::vector<bool> known(keep == Keep::kAll ? width * width : 0);
    auto& next = reached_[static_cast<std::size_t>(level) + 1];
    for (std::size_t i = 0; i < states.size(); ++i) {
      const State& state = states[i];
      int back = state.front + least;  // as small as fits; grows with the front
      for (int front = state.front + least; front <= state.back - least - behind; ++front) {
        back = std::max(back, front + behind);
        while (back <= state.back - least &&
               !fits(level, {state.front, front}, {back, state.back})) {
          ++back;
        }
        if (back > state.back - least) break;
        const auto f = static_cast<std::size_t>(front);
        if (keep == Keep::kFurthest) {
          if (back < furthest[f].back) furthest[f] = {front, back, static_cast<int>(i)};
          continue;
        }
        for (int b = back; b <= state.back - least; ++b) {
          const std::size_t at = f * width + static_cast<std::size_t>(b);
          if (known[at]) continue;
          known[at] = true;
          next.push_back({front, b, static_cast<int>(i)});
        }
      }
    }
    for (const State& state : furthest) {
      if (state.before >= 0) next.push_back(state);
    }
    return !next.empty();
  }

  bool finish(bool may_be_empty) {
    const int level = levels_ - 1;
    const int least = least_of(level, may_be_empty);
    const auto& states = reached_[static_cast<std::size_t>(level)];
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto [front, back, before] = states[i];
      last_ = static_cast<int>(i);
      if (is_middle(level)) {
        const StageMemory::Run all{front, back};
        if (back - front >= least && fits(level, all, all)) return true;
        continue;
      }
      for (middle_ = front + least; middle_ <= back - least; ++middle_) {
        if (fits(level, {front, middle_}, {middle_, back})) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<int> cuts() const {
    std::vector<int> cuts(static_cast<std::size_t>(stages_) + 1);
    if (!is_middle(levels_ - 1)) cuts[static_cast<std::size_t>(levels_)] = middle_;
    int at = last_;
    for (int level = levels_ - 1; level >= 0; --level) {
      const State& state = reached_[static_cast<std::size_t>(level)][static_cast<std::size_t>(at)];
      cuts[static_cast<std::size_t>(level)] = state.front;
      cuts[static_cast<std::size_t>(stages_ - level)] = state.back;
      at = state.before;
    }
    return cuts;
  }

  StageMemory memory_;  // its own: what a run holds is asked for by every rank
  int stages_;          // of one copy
  int levels_;
  int sections_;
  bool two_copies_;
  std::vector<RunTotals> ranks_;
  std::vector<std::vector<State>> reached_;  // [level]
  int last_ = 0, middle_ = 0;                // of the last level
};

}  // namespace

std::vector<int> evened_out(const RankSums& sums, const StageMemory* memory, const Plan& plan,
                            BackwardKind backward, std::vector<int> cuts) {
  return Evening(sums, memory, plan, backward).run(std::move(cuts));
}

bool may_fit(const StageMemory& memory, const Plan& plan) {
  if (!memory.is_monotone()) return true;  // what repeats could be saved
  const int middle = memory.sections() - 2;
  std::int64_t most = 0;
  for (int r = 0; r < plan.pipeline; ++r) {
    const int of_rank =
        memory.most_middle_sections(static_cast<std::size_t>(r), plan.stages_per_copy());
    if (of_rank < 0) return false;
    most += of_rank;
  }
  return most >= std::int64_t{middle} * plan.copies();
}

bool are_pairs(const StageMemory& memory, const Plan& plan) {
  const bool nested = (plan.stage_map == StageMap::kV && plan.chunks == 2) ||
                      plan.stage_map == StageMap::kBidirectional;
  return nested && memory.is_monotone();
}

std::optional<std::vector<int>> pair_cuts(const StageMemory& memory, const Plan& plan,
                                          int sections) {
  return Pairs(memory, plan, sections).solve();
}

}  // namespace penstock
