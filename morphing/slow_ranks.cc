// Varuna's rule, mended. Varuna calls a GPU slow that takes 15 % more than the median of the
// replicas of its stage, once, by the forward alone. Here:
//
// - All compute of a step counts, and the median of a window of steps, so that one pause of a
//   machine is no sign.
// - Each time is divided by what the plan predicts for the rank, so that replicas with unequal
//   shares of the batch, and stages of unequal work, can be compared.
// - A median over fewer than three replicas says little; then the median is over all ranks of the
//   job. That finds a slow GPU of one pipeline, and cannot tell it from a stage for which the plan
//   predicts too little: `whole_stage` says so.
// - Two windows in a row, and two in a row to be well again.
//
// Invariant: what observe() finds depends on the steps that it was given and nothing else.
#include "morphing/slow_ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/values/action_rules.h"
#include "core/values/durations.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::size_t kEnoughReplicas = 3;

// What the ranks of the Program compute in a step, by its own numbering.
std::vector<Duration> predicted_compute(const PlanFile& plan) {
  std::vector<Duration> sums(static_cast<std::size_t>(plan.program.ranks()));
  for (const Action& action : plan.program.actions) {
    if (!is_of_micro_batch(action.kind)) continue;
    sums[static_cast<std::size_t>(plan.program.rank_of(action).value)] +=
        duration_of(plan.prices, plan.executor, action.kind, priced_place(plan.program, action));
  }
  return sums;
}

// The pipeline that each replica runs.
std::vector<const Pipeline*> pipelines_of(const Program& program) {
  std::vector<const Pipeline*> pipelines;
  for (const Pipeline& pipeline : program.pipelines) {
    pipelines.insert(pipelines.end(), static_cast<std::size_t>(pipeline.replicas), &pipeline);
  }
  return pipelines;
}

// Of an even number the mean of the two in the middle; of two the lesser, since the mean would hide
// half of what one is behind the other.
double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (values.size() == 2) return values.front();
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

Duration median_of(std::vector<Duration>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int replicas_of(const std::vector<RankShare>& shares, int pipeline_rank) {
  return static_cast<int>(std::count_if(
      shares.begin(), shares.end(),
      [pipeline_rank](const RankShare& share) { return share.pipeline_rank == pipeline_rank; }));
}

}  // namespace

std::vector<RankShare> rank_shares(const PlanFile& plan) {
  const std::vector<Duration> predicted = predicted_compute(plan);
  const std::vector<const Pipeline*> pipelines = pipelines_of(plan.program);
  const Plan& of = plan.plan;
  std::vector<RankShare> shares(static_cast<std::size_t>(of.pipeline * of.data));
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const int place = static_cast<int>(rank);
    const bool inner = of.placement == Placement::kPipelineInner;
    RankShare& share = shares[rank];
    share.pipeline_rank = inner ? place % of.pipeline : place / of.data;
    share.replica = inner ? place / of.pipeline : place % of.data;
    const Pipeline& pipeline = *pipelines.at(static_cast<std::size_t>(share.replica));
    const int predicted_rank = pipeline.first_rank + share.pipeline_rank;
    share.predicted = predicted.at(static_cast<std::size_t>(predicted_rank));
  }
  return shares;
}

std::vector<Duration> rank_compute(const PlanFile& plan, const MeasuredStep& step) {
  const int all = plan.plan.pipeline * plan.plan.data;
  const auto ranks = static_cast<std::size_t>(all);
  if (step.rank_compute.size() == ranks) return step.rank_compute;
  if (step.ranks.size() != ranks) return {};
  std::vector<std::vector<const Action*>> lists(static_cast<std::size_t>(plan.program.ranks()));
  for (const Action& action : plan.program.actions) {
    lists[static_cast<std::size_t>(plan.program.rank_of(action).value)].push_back(&action);
  }
  std::vector<Duration> compute(ranks);
  for (const MeasuredRank& rank : step.ranks) {
    const auto r = static_cast<std::size_t>(rank.rank), k = static_cast<std::size_t>(rank.pipeline);
    if (r >= ranks || k >= plan.program.pipelines.size()) return {};
    const int listed = plan.program.pipelines[k].first_rank + rank.pipeline_rank;
    const auto& list = lists.at(static_cast<std::size_t>(listed));
    if (list.size() != rank.start.size()) return {};
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!is_of_micro_batch(list[i]->kind)) continue;
      if (rank.end[i] == kNotMeasured) return {};
      compute[r] += rank.end[i] - rank.start[i];
    }
  }
  return compute;
}

std::vector<double> slowness(const std::vector<RankShare>& shares,
                             const std::vector<Duration>& measured) {
  std::vector<double> result(shares.size(), 0.0), all;
  std::map<int, std::vector<double>> of_stages;  // by pipeline rank
  for (std::size_t r = 0; r < shares.size(); ++r) {
    if (shares[r].predicted <= Duration{} || measured[r] <= Duration{}) continue;
    result[r] =
        static_cast<double>(measured[r].count()) / static_cast<double>(shares[r].predicted.count());
    all.push_back(result[r]);
    of_stages[shares[r].pipeline_rank].push_back(result[r]);
  }
  if (all.size() < 2) return std::vector<double>(shares.size(), 0.0);
  const double of_all = middle_of(std::move(all));
  std::map<int, double> middles;
  for (const auto& [pipeline_rank, ratios] : of_stages) {
    middles[pipeline_rank] = ratios.size() < kEnoughReplicas ? of_all : middle_of(ratios);
  }
  for (std::size_t r = 0; r < shares.size(); ++r) {
    if (result[r] > 0.0) result[r] /= middles[shares[r].pipeline_rank];
  }
  return result;
}

SlowWatch::SlowWatch(std::vector<RankShare> shares, const SlowRule& rule)
    : shares_(std::move(shares)), rule_(rule), samples_(shares_.size()), states_(shares_.size()) {}

bool SlowWatch::observe(std::int64_t step, const std::vector<Duration>& compute) {
  if (compute.size() != shares_.size()) {
    throw_bad_input("step " + std::to_string(step) + " says what " +
                    std::to_string(compute.size()) + " ranks computed, and the plan has " +
                    std::to_string(shares_.size()) +
                    "\nhelp: look at a run with the plan that it ran");
  }
  if (seen_++ < rule_.warm_up) return false;
  if (samples_.empty()) return false;
  if (samples_.front().empty()) window_begin_ = step;
  for (std::size_t r = 0; r < compute.size(); ++r) samples_[r].push_back(compute[r]);
  return std::ssize(samples_.front()) >= rule_.window && end_window(step);
}

bool SlowWatch::end_window(std::int64_t step) {
  std::vector<Duration> medians(samples_.size());
  for (std::size_t r = 0; r < samples_.size(); ++r) {
    medians[r] = median_of(samples_[r]);
    samples_[r].clear();
  }
  ++windows_;
  const std::vector<double> factors = slowness(shares_, medians);
  bool changed = false;
  for (std::size_t r = 0; r < states_.size(); ++r) {
    State& state = states_[r];
    const bool hit = factors[r] > 1.0 + rule_.threshold;
    state.streak = hit ? std::max(state.streak, 0) + 1 : std::min(state.streak, 0) - 1;
    if (hit) note_hit(r, factors[r], step);
    const bool was_slow = state.is_slow;
    if (state.streak >= rule_.in_a_row) state.is_slow = true;
    if (-state.streak >= rule_.in_a_row) state.is_slow = false;
    changed = changed || state.is_slow != was_slow;
  }
  return changed;
}

void SlowWatch::note_hit(std::size_t rank, double factor, std::int64_t step) {
  State& state = states_[rank];
  const RankShare& share = shares_[rank];
  const int replicas = replicas_of(shares_, share.pipeline_rank);
  if (state.streak == 1 && !state.is_slow) {
    state.found.since_step = window_begin_;
    state.found.from_start = windows_ == 1;
  }
  state.found.rank = static_cast<int>(rank);
  state.found.pipeline_rank = share.pipeline_rank;
  state.found.replica = share.replica;
  state.found.factor = factor;
  state.found.replicas = replicas < static_cast<int>(kEnoughReplicas) ? 0 : replicas;
  state.found.seen_step = step;
}

bool SlowWatch::is_slow_on_all_replicas(int pipeline_rank) const {
  for (std::size_t r = 0; r < shares_.size(); ++r) {
    if (shares_[r].pipeline_rank == pipeline_rank && !states_[r].is_slow) return false;
  }
  return true;
}

std::vector<RankSlowness> SlowWatch::slow() const {
  std::vector<RankSlowness> slow;
  for (const State& state : states_) {
    if (!state.is_slow) continue;
    slow.push_back(state.found);
    slow.back().whole_stage = is_slow_on_all_replicas(state.found.pipeline_rank);
  }
  return slow;
}

}  // namespace penstock
