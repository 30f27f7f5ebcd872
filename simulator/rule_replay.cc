// The rules are those of arXiv 2111.04007 and of its code; docs/schedules.md, "Varuna", states
// them. Invariant: a rank decides only with what has arrived by the time that it is free, and it
// decides only up to knows_until(), before which nothing unknown can arrive. So ranks may be run
// ahead one after the other in any order, and the answer is that of the event engine.
#include "simulator/rule_replay.h"

#include <algorithm>

#include "core/values/rule_facts.h"
#include "simulator/schedules/varuna.h"

namespace penstock {

RuleReplay::RuleReplay(const Schedule& schedule, const std::vector<MicroBatchRun>& runs,
                       const Program& program, std::size_t pipeline, const PriceTable& prices,
                       bool transfers, std::vector<std::int64_t>& arrivals)
    : schedule_(schedule),
      ranks_(static_cast<std::size_t>(schedule.ranks)),
      last_(ranks_.size() - 1),
      micro_batches_(static_cast<Count>(schedule.micro_batches)),
      transfers_(transfers) {
  for (const MicroBatchRun& run : runs) {
    run_end_.push_back((run_end_.empty() ? 0 : run_end_.back()) + static_cast<Count>(run.count));
  }
  set_costs(program, pipeline, prices, transfers);
  const std::size_t each = micro_batches_;
  if (arrivals.size() < 2 * each * ranks_.size()) arrivals.resize(2 * each * ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.activations = arrivals.data() + 2 * each * r;
    rank.gradients = rank.activations + each;
    rank.from_before.arrival = rank.activations;
    rank.from_behind.arrival = rank.gradients;
    rank.due = static_cast<Count>(
        varuna_forwards_first(schedule.ranks, static_cast<int>(r), schedule.micro_batches));
    for (Receives* receives : {&rank.from_before, &rank.from_behind}) {
      receives->in_run.push_back(0);
      receives->in_run.insert(receives->in_run.end(), run_end_.begin(), run_end_.end() - 1);
    }
  }
}

void RuleReplay::set_costs(const Program& program, std::size_t pipeline, const PriceTable& prices,
                           bool transfers) {
  const Pipeline& tables = program.pipelines[pipeline];
  const bool can_be_early = facts_of(schedule_.rule).recomputes_early;
  costs_.reserve(ranks_.size() * run_end_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.soonest_activation = rank.soonest_gradient = kUnknown;
    for (std::uint32_t run = 0; run < run_end_.size(); ++run) {
      const auto price = [&](ActionKind kind) {
        Action action;
        action.kind = kind;
        action.stage =
            StageId{static_cast<std::uint16_t>(tables.first_stage + static_cast<int>(r))};
        action.micro_batch = MicroBatchId{tables.first_micro_batch + run};
        return prices.of(action).count();
      };
      Costs costs;
      costs.forward = price(ActionKind::kForward);
      costs.backward = price(ActionKind::kFusedBackward);
      if (!is_last(r)) costs.recompute = price(ActionKind::kRecompute);
      if (transfers) {
        costs.activation_delay = price(ActionKind::kSendActivation);
        costs.gradient_delay = price(ActionKind::kSendGradient);
      }
      all_take_time_ = all_take_time_ && costs.forward > 0 && costs.backward > 0;
      const Time before = is_last(r) ? costs.forward : can_be_early ? 0 : costs.recompute;
      rank.soonest_activation =
          std::min(rank.soonest_activation, costs.forward + costs.activation_delay);
      rank.soonest_gradient =
          std::min(rank.soonest_gradient, before + costs.backward + costs.gradient_delay);
      costs_.push_back(costs);
    }
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].costs = costs_.data() + r * run_end_.size();
  }
}

bool RuleReplay::run() {
  for (;;) {
    Time now = kDone;
    for (const Rank& rank : ranks_) now = std::min(now, rank.next);
    if (now >= kUnknown) {
      for (std::size_t r = 0; r + 1 < ranks_.size(); ++r) count_gradient(r);
      return now == kDone;
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) run_ahead(r, now);
  }
}

// `now`: no rank starts anything before.
void RuleReplay::run_ahead(std::size_t r, Time now) {
  const Time until = knows_until(r, now);
  Rank& rank = ranks_[r];
  while (rank.next < until) {
    rank.waits_for_activation = rank.waits_for_gradient = false;
    if (is_last(r)) {
      look_on_last(r);
    } else {
      count_gradient(r);
      look(r);
    }
  }
}

// What has arrived before that time is known.
RuleReplay::Time RuleReplay::knows_until(std::size_t r, Time now) const {
  Time until = kUnknown;
  if (r > 0) {
    const Rank& before = ranks_[r - 1];
    until = std::max(now, before.not_before) + before.soonest_activation;
  }
  if (!is_last(r)) {
    const Rank& behind = ranks_[r + 1];
    until = std::min(until, std::max(now, behind.not_before) + behind.soonest_gradient);
  }
  return std::min(until, kUnknown);
}

// The rank is free at rank.next, and takes what its list or the rule say.
void RuleReplay::look(std::size_t r) {
  Rank& rank = ranks_[r];
  const Time now = rank.next;
  if (rank.recomputed) {
    if (gradient_of(r) <= now) return backward(r, now);
    return wait(r, false, true);
  }
  bool or_gradient = false;
  if (!rank.forward_is_next && rank.forwards >= rank.due) {  // its list has the recompute next
    if (gradient_of(r) <= now) {
      rank.busy += rank.costs[rank.backward_run].recompute;
      return backward(r, now + rank.costs[rank.backward_run].recompute);
    }
    if (rank.forwards == micro_batches_) {
      if (!facts_of(schedule_.rule).recomputes_early) return wait(r, false, true);
      rank.recomputed = true;
      rank.busy += rank.costs[rank.backward_run].recompute;
      rank.next = rank.not_before = now + rank.costs[rank.backward_run].recompute;
      return;
    }
    or_gradient = facts_of(schedule_.rule).waits_for_either;
    rank.forward_is_next = !or_gradient;
  }
  if (activation_of(r) <= now) return forward(r);
  wait(r, true, or_gradient);
}

// It keeps its activations, and its list has each backward behind its forward.
void RuleReplay::look_on_last(std::size_t r) {
  if (activation_of(r) > ranks_[r].next) return wait(r, true, false);
  forward(r);
  backward(r, ranks_[r].next);
}

void RuleReplay::forward(std::size_t r) {
  Rank& rank = ranks_[r];
  const Time start = rank.next;
  if (r > 0) count_receive(rank.from_before, ranks_[r - 1].forwards, rank.forwards, start);
  if (rank.first < 0) [[unlikely]]
    rank.first = start;
  const Costs& costs = rank.costs[rank.forward_run];
  const Count m = rank.forwards++;
  if (rank.forwards == run_end_[rank.forward_run]) [[unlikely]]
    ++rank.forward_run;
  rank.peak = std::max(rank.peak, rank.forwards - rank.backwards);
  if (stashes_differ_) [[unlikely]] {
    rank.stash += costs.stash;
    rank.most_stash = std::max(rank.most_stash, rank.stash);
  }
  rank.forward_is_next = false;
  rank.busy += costs.forward;
  rank.next = rank.not_before = start + costs.forward;
  if (is_last(r)) return;
  ranks_[r + 1].activations[m] = rank.next + costs.activation_delay;
  if (ranks_[r + 1].waits_for_activation) find_next(r + 1);
}

void RuleReplay::backward(std::size_t r, Time start) {
  Rank& rank = ranks_[r];
  const Costs& costs = rank.costs[rank.backward_run];
  const Count m = rank.backwards++;
  if (rank.backwards == run_end_[rank.backward_run]) [[unlikely]]
    ++rank.backward_run;
  if (rank.backwards % kVarunaGroup == 0) {
    rank.due = std::min(rank.due + kVarunaGroup, micro_batches_);
  }
  if (stashes_differ_) [[unlikely]]
    rank.stash -= costs.stash;
  rank.recomputed = false;
  rank.busy += costs.backward;
  rank.backward_start = start;
  rank.last = start + costs.backward;
  rank.next = rank.not_before = rank.backwards == micro_batches_ ? kDone : rank.last;
  if (r == 0) return;
  ranks_[r - 1].gradients[m] = rank.last + costs.gradient_delay;
  if (ranks_[r - 1].waits_for_gradient) find_next(r - 1);
}

void RuleReplay::wait(std::size_t r, bool for_activation, bool for_gradient) {
  ranks_[r].waits_for_activation = for_activation;
  ranks_[r].waits_for_gradient = for_gradient;
  find_next(r);
}

// Of what it waits for the first to arrive. What was not sent yet may be that.
void RuleReplay::find_next(std::size_t r) {
  Rank& rank = ranks_[r];
  const Time activation = rank.waits_for_activation ? activation_of(r) : kDone;
  const Time gradient = rank.waits_for_gradient ? gradient_of(r) : kDone;
  rank.next = std::min(activation, gradient);
  if (activation != kUnknown && gradient != kUnknown) rank.not_before = rank.next;
}

// One of them is consumed now, after all that have arrived up to now. Within a run they arrive in
// their order; the next run's may overtake.
void RuleReplay::count_receive(Receives& receives, Count sent, Count consumed, Time now) const {
  const Time* const arrival = receives.arrival;
  const std::size_t runs = run_end_.size();
  for (std::size_t run = receives.first_run; run < runs; ++run) {
    const Count from = receives.in_run[run], end = std::min(sent, run_end_[run]);
    Count at = from;
    while (at < end && arrival[at] <= now) ++at;
    receives.in_run[run] = at;
    receives.arrived += at - from;
    if (end < run_end_[run]) break;
    if (at == end && run == receives.first_run) ++receives.first_run;
  }
  receives.most = std::max(receives.most, receives.arrived - consumed);
}

// When the backward was begun, what arrives until it starts was not all known.
void RuleReplay::count_gradient(std::size_t r) {
  Rank& rank = ranks_[r];
  if (rank.backward_start < 0) return;
  count_receive(rank.from_behind, ranks_[r + 1].backwards, rank.backwards - 1, rank.backward_start);
  rank.backward_start = -1;
}

PipelineTimes RuleReplay::times() const {
  PipelineTimes times;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    times.ranks.push_back({ranks_[r].first, ranks_[r].busy, ranks_[r].last});
    times.stages.push_back(
        {ranks_[r].last, (is_last(r) ? 2 : 3) * std::int64_t{schedule_.micro_batches}});
  }
  return times;
}

std::vector<RankLiveness> RuleReplay::held() const {
  std::vector<RankLiveness> result;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const auto count = [](Count of) { return static_cast<std::int32_t>(of); };
    const Rank& rank = ranks_[r];
    RankLiveness held;
    held.stages = {static_cast<int>(r)};
    held.peaks = {{{count(rank.peak)}, {0}}};
    held.peak_chunks = rank.peak;
    const bool before = transfers_ && r > 0, behind = transfers_ && !is_last(r);
    held.activation_receives = {before ? count(rank.from_before.most) : 0};
    held.gradient_receives = {behind ? count(rank.from_behind.most) : 0};
    held.sends_activation = {behind};
    held.sends_gradient = {before};
    result.push_back(std::move(held));
  }
  return result;
}

void RuleReplay::set_stash(const std::vector<MicroBatchRun>& runs, const StagePrices& prices) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Costs* const costs = costs_.data() + r * runs.size();
    for (std::size_t run = 0; run < runs.size(); ++run) {
      costs[run].stash = prices.compute_of(static_cast<int>(r), runs[run].each.shape).stash.count;
      stashes_differ_ = stashes_differ_ || costs[run].stash != costs[0].stash;
    }
  }
}

std::vector<Bytes> RuleReplay::most_stash() const {
  std::vector<Bytes> bytes;
  bytes.reserve(ranks_.size());
  for (const Rank& rank : ranks_) {
    bytes.push_back(Bytes{stashes_differ_ ? rank.most_stash : rank.peak * rank.costs->stash});
  }
  return bytes;
}

std::int64_t RuleReplay::actions() const {
  const auto ranks = static_cast<std::int64_t>(ranks_.size());
  return (3 * ranks - 1) * std::int64_t{micro_batches_};
}

}  // namespace penstock
