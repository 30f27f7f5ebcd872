// List scheduling: of all ranks the one whose next action can start first takes it; among the
// actions of a rank gradients go before forwards and forwards before W, and a W goes only where it
// delays nothing that is known to come. How many micro-batches a stage may have in flight is capped
// in one of several ways (InFlight), since greedy forwards would use up memory that later stages
// need.
//
// A run that lost is remembered with what its limits had room for: another whose limits have room
// for the same, and for no more, would go the same way and is not run. Invariant: there is always
// an offer, because the micro-batch that is furthest can go on; so a run always ends.
#include "simulator/schedules/zb_greedy.h"

#include <array>
#include <utility>

namespace penstock {

ZbGreedy::ZbGreedy(const StageCosts& costs, int micro_batches, Shortest shortest)
    : chunks_(costs.forward.size() / costs.limit.size()),
      micro_batches_(micro_batches),
      shortest_(shortest),
      stages_(costs.forward.size()),
      ranks_(costs.limit.size()),
      forward_ends_(stages_.size() * static_cast<std::size_t>(micro_batches)),
      input_ends_(forward_ends_.size()),
      lists_(ranks_.size(), chunks_, micro_batches) {
  const std::vector<PipelineStage> stages = pipeline_stages(costs);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const std::size_t row = s * static_cast<std::size_t>(micro_batches);
    static_cast<PipelineStage&>(stages_[s]) = stages[s];
    stages_[s].forward_ends = forward_ends_.data() + row;
    stages_[s].input_ends = input_ends_.data() + row;
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].inputs.reserve(chunks_ * static_cast<std::size_t>(micro_batches));
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      ranks_[r].work += stages_[stage_of(r, chunk)].work;
    }
  }
  while (leaves_ < ranks_.size()) leaves_ *= 2;
  offers_.resize(leaves_);
  first_.resize(2 * leaves_);
}

std::optional<Duration> ZbGreedy::run(const GreedyVariant& variant,
                                      std::span<const std::int64_t> limits, Duration best) {
  best_ = best;
  patient_ = variant.patient;
  reset(limits);
  if (lost_ || !cap(variant.in_flight) || is_known_to_lose()) return std::nullopt;
  for (std::size_t r = 0; r < ranks_.size(); ++r) renew_offer(r);
  // There is always an offer: the micro-batch that is furthest can go on.
  for (std::size_t left = lists_.steps.size(); left > 0 && !lost_; --left) {
    const std::size_t r = first_[1];
    put(r, Offer(offers_[r]));
  }
  Duration longest{0};
  for (const Rank& rank : ranks_) longest = std::max(longest, rank.idle + rank.charged);
  note_lost(lost_ ? best : longest);
  return lost_ ? std::nullopt : std::optional(longest);
}

// A run depends on its limits only by what they have room for. So one with the same caps, whose
// limits have room for all that the limits of another had room for, and for nothing that these had
// not, goes the same way, and loses against all that the other lost against.
bool ZbGreedy::is_known_to_lose() const {
  return std::any_of(known_to_lose_.begin(), known_to_lose_.end(),
                     [&](const Lost& known) { return best_ <= known.best && is_as(known); });
}

bool ZbGreedy::is_as(const Lost& known) const {
  if (patient_ != known.patient) return false;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s].most_in_flight != known.most_in_flight[s]) return false;
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const LimitsAlike& alike = known.limits[r];
    if (ranks_[r].limit < alike.least || ranks_[r].limit >= alike.below) return false;
  }
  return true;
}

void ZbGreedy::note_lost(Duration best) {
  Lost& run = known_to_lose_.emplace_back();
  run.patient = patient_;
  run.best = best;
  run.most_in_flight.reserve(stages_.size());
  for (const Stage& stage : stages_) run.most_in_flight.push_back(stage.most_in_flight);
  run.limits.reserve(ranks_.size());
  for (const Rank& rank : ranks_) run.limits.push_back(rank.alike);
}

void ZbGreedy::reset(std::span<const std::int64_t> limits) {
  lost_ = false;
  for (Stage& stage : stages_) stage.forwards = stage.inputs = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.clock = rank.idle = Duration{0};
    rank.charged = micro_batches_ * rank.work;
    rank.limit = limits[r];
    rank.memory = 0;
    rank.alike = {};
    rank.inputs.clear();
    rank.weights = 0;
    rank.begun = false;
    rank.next = lists_.steps.data() + r * lists_.length();
    lost_ = lost_ || rank.charged >= best_;
  }
  std::fill(offers_.begin(), offers_.end(), Offer{});
  for (std::size_t leaf = 0; leaf < leaves_; ++leaf) first_[leaves_ + leaf] = leaf;
  for (std::size_t node = leaves_; node-- > 1;) first_[node] = first_[2 * node];
}

// False where a kind of cap comes out as kAsMemoryAllows does. On the V the stages of a rank share
// its memory, and where each had as much as it could take, those at the beginning would leave
// nothing to those at the end, which all wait for.
bool ZbGreedy::cap(InFlight in_flight) {
  return chunks_ == 1 ? cap_stages(in_flight) : cap_in_proportion(in_flight);
}

// A stage never has more in flight than the one before. As needed: the round trip over the time
// that the pipeline takes per micro-batch, given the work and the memory of every stage.
bool ZbGreedy::cap_stages(InFlight in_flight) {
  std::int64_t most = micro_batches_;
  Duration cycle{1};
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    Stage& stage = stages_[s];
    if (stage.taken > 0) most = std::min(most, ranks_[s].limit / stage.taken);
    stage.most_in_flight = static_cast<int>(most);
    cycle = std::max({cycle, stage.work, (stage.round_trip + Duration{most - 1}) / most});
  }
  if (in_flight == InFlight::kAsMemoryAllows) return true;
  for (Stage& stage : stages_) {
    const std::int64_t needed = (stage.round_trip + cycle - Duration{1}) / cycle;
    const std::int64_t capped = std::min<std::int64_t>(needed, stage.most_in_flight);
    stage.most_in_flight = static_cast<int>(std::max<std::int64_t>(1, capped));
  }
  return true;
}

bool ZbGreedy::cap_in_proportion(InFlight in_flight) {
  int most = 1;  // at the first stage
  for (int above = micro_batches_ + 1; above - most > 1;) {
    const int middle = most + (above - most) / 2;
    cap_in_proportion(middle);
    (stays_within_limits() ? most : above) = middle;
  }
  Duration cycle{1};
  for (const Rank& rank : ranks_) cycle = std::max(cycle, rank.work);
  const std::int64_t needed = (stages_.front().round_trip + cycle - Duration{1}) / cycle;
  if (in_flight != InFlight::kAsMemoryAllows && needed >= most) return false;
  if (in_flight == InFlight::kAsNeeded) most = static_cast<int>(needed);
  cap_in_proportion(most);
  return true;
}

// Of `at_first` micro-batches in flight from the first stage on, those in flight from every stage
// on.
void ZbGreedy::cap_in_proportion(int at_first) {
  const std::int64_t whole = std::max<std::int64_t>(1, stages_.front().round_trip.count());
  for (Stage& stage : stages_) {
    const std::int64_t share = (at_first * stage.round_trip.count() + whole - 1) / whole;
    stage.most_in_flight = static_cast<int>(std::max<std::int64_t>(1, share));
  }
}

bool ZbGreedy::stays_within_limits() const {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    std::int64_t held = 0;
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const Stage& stage = stages_[stage_of(r, chunk)];
      held += stage.most_in_flight * stage.taken;
    }
    if (held > ranks_[r].limit) return false;
  }
  return true;
}

Duration ZbGreedy::lower_bound(std::span<const std::int64_t> limits) const {
  Duration bound{0};
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    double occupied = 0;  // memory times time of one micro-batch
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const Stage& stage = stages_[stage_of(r, chunk)];
      occupied += static_cast<double>(stage.taken) * static_cast<double>(stage.round_trip.count());
    }
    bound = std::max(bound, micro_batches_ * ranks_[r].work);
    if (limits[r] == 0) continue;
    const double least = micro_batches_ * occupied / static_cast<double>(limits[r]);
    // A little less, for what a double rounds.
    bound = std::max(bound, Duration{static_cast<std::int64_t>(least * (1 - 1e-9)) - 1});
  }
  return bound;
}

ZbGreedy::Offer ZbGreedy::offer(std::size_t r) {
  const Rank& rank = ranks_[r];
  const Offer first = first_wanted(r);
  if (!rank.pending()) return first;
  // A W goes only where it delays nothing that is known to come.
  const std::uint8_t oldest = rank.inputs[rank.weights];
  const Duration takes = stages_[stage_of(r, oldest)].weight_gradient;
  const bool fits = first.at == Duration::max() || rank.clock + takes <= first.at;
  return fits ? Offer{rank.clock, ActionKind::kWeightGradient, oldest, 4} : first;
}

// The first that can start. A patient rank puts a forward off for what goes before it and is known
// to come within half of its time.
ZbGreedy::Offer ZbGreedy::first_wanted(std::size_t r) {
  std::array<Offer, 4> offers;
  for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
    offers[2 * chunk] = forward_offer(r, chunk);
    offers[2 * chunk + 1] = input_offer(r, chunk);
  }
  const std::span<const Offer> made(offers.data(), 2 * chunks_);
  Offer first;
  for (const Offer& offer : made) {
    if (offer.before(first)) first = offer;
  }
  if (!patient_ || first.kind != ActionKind::kForward || first.at == Duration::max()) return first;
  const Duration until = first.at + stages_[stage_of(r, first.chunk)].forward / 2;
  Offer better = first;
  for (const Offer& offer : made) {
    if (offer.at < until && offer.order < better.order) better = offer;
  }
  return better;
}

bool ZbGreedy::has_room(Rank& rank, std::int64_t more) {
  const std::int64_t needed = rank.memory + more;
  const bool fits = needed <= rank.limit;
  if (fits) {
    rank.alike.least = std::max(rank.alike.least, needed);
  } else {
    rank.alike.below = std::min(rank.alike.below, needed);
  }
  return fits;
}

// Of equal times what is nearer to the end of its way goes first.
ZbGreedy::Offer ZbGreedy::forward_offer(std::size_t r, std::size_t chunk) {
  Rank& rank = ranks_[r];
  const std::size_t s = stage_of(r, chunk);
  const Stage& stage = stages_[s];
  const int m = stage.forwards;
  if (m == micro_batches_ || m - stage.inputs >= stage.most_in_flight) return {};
  if (s > 0 && stages_[s - 1].forwards <= m) return {};
  const Duration arrival = s == 0 ? Duration{0} : stages_[s - 1].forward_ends[m] + stage.activation;
  const Duration at = std::max(rank.clock, arrival);
  const int order = chunk == 1 ? 2 : 3;
  if (has_room(rank, stage.taken)) {
    return {at, ActionKind::kForward, static_cast<std::uint8_t>(chunk), order};
  }
  // Room has to be made by a W.
  if (rank.pending()) {
    return {at, ActionKind::kWeightGradient, rank.inputs[rank.weights], order};
  }
  return {};
}

ZbGreedy::Offer ZbGreedy::input_offer(std::size_t r, std::size_t chunk) const {
  const std::size_t s = stage_of(r, chunk);
  const Stage& stage = stages_[s];
  const int m = stage.inputs;
  if (m == stage.forwards) return {};
  const bool last = s + 1 == stages_.size();
  if (!last && stages_[s + 1].inputs <= m) return {};
  const Duration arrival = last ? Duration{0} : stages_[s + 1].input_ends[m] + stage.gradient;
  return {std::max(ranks_[r].clock, arrival), ActionKind::kInputGradient,
          static_cast<std::uint8_t>(chunk), chunk == 0 ? 0 : 1};
}

void ZbGreedy::renew_offer(std::size_t r) {
  const Offer next = offer(r);
  if (next == offers_[r]) return;
  offers_[r] = next;
  for (std::size_t node = (leaves_ + r) / 2; node >= 1; node /= 2) {
    const std::size_t left = first_[2 * node];
    const std::size_t right = first_[2 * node + 1];
    const std::size_t first = offers_[right].before(offers_[left]) ? right : left;
    const std::size_t before = std::exchange(first_[node], first);
    if (first != r && before != r) return;  // above, another rank's offer counts as it did
  }
}

void ZbGreedy::put(std::size_t r, const Offer& offer) {
  Rank& rank = ranks_[r];
  const std::size_t s = stage_of(r, offer.chunk);
  Stage& stage = stages_[s];
  std::size_t waiting = r;  // the rank that this was for
  if (offer.kind == ActionKind::kWeightGradient) {
    rank.clock += stage.weight_gradient;
    rank.memory -= stage.freed_by_weight;
    ++rank.weights;
  } else if (offer.kind == ActionKind::kInputGradient) {
    wait(rank, offer.at);
    rank.clock += stage.input_gradient;
    rank.memory -= stage.freed_by_input;
    stage.input_ends[stage.inputs++] = rank.clock;
    rank.inputs.push_back(offer.chunk);
    if (s > 0) waiting = rank_of(s - 1);
  } else {
    wait(rank, offer.at);
    rank.clock += stage.forward;
    rank.memory += stage.taken;
    rank.begun = true;
    stage.forward_ends[stage.forwards++] = rank.clock;
    if (s + 1 < stages_.size()) waiting = rank_of(s + 1);
  }
  if (waiting != r) renew_offer(waiting);
  *rank.next++ = {offer.kind, offer.chunk};
  renew_offer(r);
}

void ZbGreedy::wait(Rank& rank, Duration until) {
  if (rank.begun) {
    rank.idle += until - rank.clock;
  } else if (shortest_ == Shortest::kMakespan) {
    rank.charged += until;
  }
  rank.clock = until;
  lost_ = lost_ || rank.idle + rank.charged >= best_;
}

}  // namespace penstock
