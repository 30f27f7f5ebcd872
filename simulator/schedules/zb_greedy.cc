#include "simulator/schedules/zb_greedy.h"

#include <algorithm>

namespace penstock {

ZbGreedy::ZbGreedy(const StageCosts& costs, int micro_batches, Shortest shortest)
    : micro_batches_(micro_batches),
      shortest_(shortest),
      stages_(costs.forward.size()),
      forward_ends_(stages_.size() * static_cast<std::size_t>(micro_batches)),
      input_ends_(forward_ends_.size()),
      lists_(stages_.size(), 1, micro_batches) {
  const std::vector<PipelineStage> stages = pipeline_stages(costs);
  for (std::size_t j = 0; j < stages_.size(); ++j) {
    const std::size_t row = j * static_cast<std::size_t>(micro_batches);
    static_cast<PipelineStage&>(stages_[j]) = stages[j];
    stages_[j].forward_ends = forward_ends_.data() + row;
    stages_[j].input_ends = input_ends_.data() + row;
  }
  while (leaves_ < stages_.size()) leaves_ *= 2;
  offers_.resize(leaves_);
  first_.resize(2 * leaves_);
}

std::optional<Duration> ZbGreedy::run(InFlight in_flight, std::span<const std::int64_t> limits,
                                      Duration best) {
  best_ = best;
  reset(limits);
  cap(in_flight);
  for (std::size_t j = 0; j < stages_.size(); ++j) renew_offer(j);
  // There is always an offer: the micro-batch that is furthest can go on.
  for (std::size_t left = lists_.steps.size(); left > 0 && !lost_; --left) {
    const std::size_t j = first_[1];
    put(j, Offer(offers_[j]));
  }
  if (lost_) return std::nullopt;
  Duration longest{0};
  for (const Stage& stage : stages_) longest = std::max(longest, stage.idle + stage.charged);
  return longest;
}

void ZbGreedy::reset(std::span<const std::int64_t> limits) {
  lost_ = false;
  for (std::size_t j = 0; j < stages_.size(); ++j) {
    Stage& stage = stages_[j];
    stage.clock = stage.idle = Duration{0};
    stage.charged = micro_batches_ * (stage.forward + stage.input_gradient + stage.weight_gradient);
    stage.limit = limits[j];
    stage.memory = 0;
    stage.forwards = stage.inputs = stage.weights = 0;
    stage.next = lists_.steps.data() + j * lists_.length();
    lost_ = lost_ || stage.charged >= best_;
  }
  std::fill(offers_.begin(), offers_.end(), Offer{});
  for (std::size_t leaf = 0; leaf < leaves_; ++leaf) first_[leaves_ + leaf] = leaf;
  for (std::size_t node = leaves_; node-- > 1;) first_[node] = first_[2 * node];
}

// A stage never has more in flight than the one before. As needed: the round trip over the time
// that the pipeline takes per micro-batch, given the work and the memory of every stage.
void ZbGreedy::cap(InFlight in_flight) {
  std::int64_t most = micro_batches_;
  Duration cycle{1};
  for (Stage& stage : stages_) {
    if (stage.taken > 0) most = std::min(most, stage.limit / stage.taken);
    stage.most_in_flight = static_cast<int>(most);
    cycle = std::max({cycle, stage.work, (stage.round_trip + Duration{most - 1}) / most});
  }
  if (in_flight == InFlight::kAsMemoryAllows) return;
  for (Stage& stage : stages_) {
    const std::int64_t needed = (stage.round_trip + cycle - Duration{1}) / cycle;
    const std::int64_t capped = std::min<std::int64_t>(needed, stage.most_in_flight);
    stage.most_in_flight = static_cast<int>(std::max<std::int64_t>(1, capped));
  }
}

ZbGreedy::Offer ZbGreedy::offer(std::size_t j) const {
  const Stage& stage = stages_[j];
  const Offer forward = forward_offer(j);
  const Offer input = input_offer(j);
  const Offer first = input.before(forward) ? input : forward;
  // A W goes only where it delays nothing that is known to come.
  const bool fits =
      stage.weights < stage.inputs &&
      (first.at == Duration::max() || stage.clock + stage.weight_gradient <= first.at);
  return fits ? Offer{stage.clock, ActionKind::kWeightGradient, 3} : first;
}

ZbGreedy::Offer ZbGreedy::forward_offer(std::size_t j) const {
  const Stage& stage = stages_[j];
  const int m = stage.forwards;
  if (m == micro_batches_ || m - stage.inputs >= stage.most_in_flight) return {};
  if (j > 0 && stages_[j - 1].forwards <= m) return {};
  const Duration arrival = j == 0 ? Duration{0} : stages_[j - 1].forward_ends[m] + stage.activation;
  const Duration at = std::max(stage.clock, arrival);
  if (stage.memory + stage.taken <= stage.limit) return {at, ActionKind::kForward, 2};
  // Room has to be made by a W.
  if (stage.weights < stage.inputs) return {at, ActionKind::kWeightGradient, 2};
  return {};
}

ZbGreedy::Offer ZbGreedy::input_offer(std::size_t j) const {
  const Stage& stage = stages_[j];
  const int m = stage.inputs;
  if (m == stage.forwards) return {};
  const bool last = j + 1 == stages_.size();
  if (!last && stages_[j + 1].inputs <= m) return {};
  const Duration arrival = last ? Duration{0} : stages_[j + 1].input_ends[m] + stage.gradient;
  return {std::max(stage.clock, arrival), ActionKind::kInputGradient, 1};
}

void ZbGreedy::renew_offer(std::size_t j) {
  offers_[j] = offer(j);
  for (std::size_t node = (leaves_ + j) / 2; node >= 1; node /= 2) {
    const std::size_t left = first_[2 * node];
    const std::size_t right = first_[2 * node + 1];
    first_[node] = offers_[right].before(offers_[left]) ? right : left;
  }
}

void ZbGreedy::put(std::size_t j, const Offer& offer) {
  Stage& stage = stages_[j];
  if (offer.kind == ActionKind::kWeightGradient) {
    stage.clock += stage.weight_gradient;
    stage.memory -= stage.freed_by_weight;
    ++stage.weights;
  } else if (offer.kind == ActionKind::kInputGradient) {
    wait(stage, offer.at);
    stage.clock += stage.input_gradient;
    stage.memory -= stage.freed_by_input;
    stage.input_ends[stage.inputs++] = stage.clock;
    if (j > 0) renew_offer(j - 1);
  } else {
    wait(stage, offer.at);
    stage.clock += stage.forward;
    stage.memory += stage.taken;
    stage.forward_ends[stage.forwards++] = stage.clock;
    if (j + 1 < stages_.size()) renew_offer(j + 1);
  }
  *stage.next++ = {offer.kind, 0};
  renew_offer(j);
}

void ZbGreedy::wait(Stage& stage, Duration until) {
  if (stage.forwards > 0) {
    stage.idle += until - stage.clock;
  } else if (shortest_ == Shortest::kMakespan) {
    stage.charged += until;
  }
  stage.clock = until;
  lost_ = lost_ || stage.idle + stage.charged >= best_;
}

}  // namespace penstock
