// Cutting planes (J. E. Kelley, 1960) for a step that is convex in the times of the stages: with a
// fixed order of actions it is the longest of finitely many sums of them. The planes are exact up
// to transfers, and where all sections of a stage divide their work alike between F and B; the
// model proposes, the replay decides.
#include "search/step_model.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

// Moves that least_near() goes, uphill too; of one step so many chains are kept.
constexpr int kReach = 4;
constexpr std::size_t kMostChains = 48;

}  // namespace

bool make_move(const CutMove& move, std::vector<int>& cuts) {
  const auto from = static_cast<std::size_t>(move.from), to = static_cast<std::size_t>(move.to);
  if (cuts[from + 1] - cuts[from] < 2) return false;
  for (std::size_t cut = from + 1; cut <= to; ++cut) --cuts[cut];
  for (std::size_t cut = to + 1; cut <= from; ++cut) ++cuts[cut];
  return true;
}

StepModel::StepModel(const CutReplay& replay)
    : stages_(static_cast<std::size_t>(replay.plan().stages_per_copy())) {
  const Plan& plan = replay.plan();
  work_.reserve(stages_);
  for (std::size_t s = 0; s < stages_; ++s) {
    const auto& sums = replay.work_sums(static_cast<int>(s));
    work_.emplace_back(sums.begin(), sums.end());
  }
  const auto micro_batches = static_cast<double>(first_load(plan).micro_batches);
  planes_.assign(static_cast<std::size_t>(plan.pipeline), {0, std::vector<double>(stages_, 0)});
  for (int s = 0; s < plan.stages(); ++s) {
    planes_[static_cast<std::size_t>(plan.rank_of(s))]
        .slope[static_cast<std::size_t>(s) % stages_] += micro_batches / plan.copies();
  }
  ranks_ = oldest_ = planes_.size();
}

double StepModel::work(std::size_t stage, const std::vector<int>& cuts) const {
  return work_[stage][static_cast<std::size_t>(cuts[stage + 1])] -
         work_[stage][static_cast<std::size_t>(cuts[stage])];
}

double StepModel::section_work(std::size_t stage, int section) const {
  const auto s = static_cast<std::size_t>(section);
  return work_[stage][s + 1] - work_[stage][s];
}

void StepModel::add(const std::vector<int>& cuts, const CutReplay::Result& replayed) {
  if (replayed.on_chain.empty()) return;
  Plane plane{static_cast<double>(replayed.step_time.count()), std::vector<double>(stages_, 0)};
  for (std::size_t s = 0; s < replayed.on_chain.size(); ++s) {
    const auto on_chain = static_cast<double>(replayed.on_chain[s].count());
    plane.constant -= on_chain;
    plane.slope[s % stages_] += on_chain;
  }
  for (std::size_t s = 0; s < stages_; ++s) {
    const double each = work(s, cuts);
    plane.constant += each > 0 ? 0 : plane.slope[s];
    plane.slope[s] = each > 0 ? plane.slope[s] / each : 0;
  }
  if (planes_.size() < ranks_ + kMostChains) {
    planes_.push_back(std::move(plane));
    return;
  }
  planes_[oldest_] = std::move(plane);
  oldest_ = oldest_ + 1 < planes_.size() ? oldest_ + 1 : ranks_;
}

// In ascending order of the model. A move shifts every cut between its two stages by one section,
// so its part of each chain is a difference of sums over these cuts.
std::vector<StepModel::Scored> StepModel::moves_from(const std::vector<int>& cuts) const {
  std::vector<double> step(stages_ * stages_, 0), down(stages_), up(stages_);
  for (const Plane& plane : planes_) {
    double now = plane.constant;
    for (std::size_t s = 0; s < stages_; ++s) now += plane.slope[s] * work(s, cuts);
    down[0] = up[0] = 0;
    for (std::size_t s = 1; s < stages_; ++s) {
      const int last = cuts[s] - 1, first = cuts[s];  // of the stage before, of this one
      down[s] = down[s - 1] + plane.slope[s] * section_work(s, last) -
                plane.slope[s - 1] * section_work(s - 1, last);
      up[s] = up[s - 1] + plane.slope[s - 1] * section_work(s - 1, first) -
              plane.slope[s] * section_work(s, first);
    }
    for (std::size_t from = 0; from < stages_; ++from) {
      double* row = step.data() + from * stages_;
      for (std::size_t to = 0; to < from; ++to) {
        row[to] = std::max(row[to], now + up[from] - up[to]);
      }
      for (std::size_t to = from + 1; to < stages_; ++to) {
        row[to] = std::max(row[to], now + down[to] - down[from]);
      }
    }
  }
  std::vector<Scored> moves;
  for (std::size_t from = 0; from < stages_; ++from) {
    if (cuts[from + 1] - cuts[from] < 2) continue;
    for (std::size_t to = 0; to < stages_; ++to) {
      if (to == from) continue;
      moves.push_back({step[from * stages_ + to], {static_cast<int>(from), static_cast<int>(to)}});
    }
  }
  return moves;
}

bool StepModel::comes_later(const Scored& a, const Scored& b) {
  const auto key = [](const Scored& one) {
    return std::tuple(one.step, one.move.from, one.move.to);
  };
  return key(b) < key(a);
}

std::optional<StepModel::Next> StepModel::least_near(const std::vector<int>& cuts,
                                                     const Admits& fits,
                                                     const Admits& counts) const {
  std::optional<Next> least;
  std::vector<std::vector<int>> been{cuts};
  std::vector<int> at = cuts, next;
  for (int moved = 0; moved < kReach; ++moved) {
    std::vector<int> on;
    // Mostly a few of many moves are looked at: a heap gives the next one when it is asked for.
    std::vector<Scored> moves = moves_from(at);
    std::make_heap(moves.begin(), moves.end(), comes_later);
    for (auto left = moves.end(); left != moves.begin(); --left) {
      std::pop_heap(moves.begin(), left, comes_later);
      const auto& [step, move] = *std::prev(left);
      const bool may_be_least = !least || step < least->step;
      if (!on.empty() && !may_be_least) break;
      next = at;
      make_move(move, next);
      if (std::find(been.begin(), been.end(), next) != been.end()) continue;
      const bool is_least = may_be_least && counts(next);
      if ((!on.empty() && !is_least) || !fits(next)) continue;
      if (on.empty()) on = next;
      if (is_least) least = Next{next, step};
    }
    if (on.empty()) break;
    been.push_back(on);
    at = std::move(on);
  }
  return least;
}

}  // namespace penstock
