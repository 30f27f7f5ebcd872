// A pass places a warm-up down and up the V, levels the ranks, then alternates one I and one F per
// rank and fills gaps with W; what memory does not admit waits for a W. Passes are repeated as long
// as the idle times of one, known beforehand, make the next one idle less. The four variants differ
// in where gaps are filled.
#include "simulator/schedules/zb_v_heuristic.h"

namespace penstock {

ZbVHeuristic::ZbVHeuristic(const EqualCosts& costs, int ranks, int micro_batches)
    : costs_(costs),
      last_(ranks - 1),
      micro_batches_(micro_batches),
      ranks_(static_cast<std::size_t>(ranks)),
      ends_(4 * ranks_.size() * static_cast<std::size_t>(micro_batches)),
      lists_(ranks_.size(), 2, micro_batches),
      best_(lists_) {}

// Passes follow each other as long as the idle times of the one before help the next.
std::optional<Duration> ZbVHeuristic::run(const ZbVVariant& variant, std::int64_t limit,
                                          Duration most_idle) {
  variant_ = variant;
  limit_ = limit;
  most_admitted_ = 0;
  most_idle_before_ = Duration{-1};
  for (Rank& rank : ranks_) rank.idle_before = Duration{-1};
  std::optional<Duration> best;
  while (true) {
    bearable_ = best ? *best : most_idle;
    const Duration idle = pass();
    if (failed_ || (best && idle >= *best)) return best;
    best = idle;
    best_ = lists_;
    most_idle_before_ = idle;
    for (Rank& rank : ranks_) rank.idle_before = rank.idle;
  }
}

Duration ZbVHeuristic::pass() {
  reset();
  for (int r = 0; r <= last_; ++r) put(F0, r);
  for (int r = last_; r >= 0 && !failed_; --r) warm_up(r);
  for (int r = 1; r <= last_ && !failed_; ++r) level(r);
  for (int n = 0; n < 2 * micro_batches_ && !failed_; ++n) round();
  if (failed_) return Duration{0};
  for (Rank& rank : ranks_) {
    while (rank.pending()) put_weight(rank);
  }
  return most_idle_;
}

void ZbVHeuristic::reset() {
  failed_ = false;
  most_idle_ = Duration{0};
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.clock = rank.idle = Duration{0};
    rank.memory = 0;
    rank.done = {};
    rank.inputs.clear();
    rank.inputs.reserve(2 * static_cast<std::size_t>(micro_batches_));
    rank.weights = 0;
    rank.next = lists_.steps.data() + r * lists_.length();
  }
}

// Forwards down to this rank while the first micro-batch is on its way down and back up.
void ZbVHeuristic::warm_up(int r) {
  while (r < last_ && !failed_ && at(r).done[F0] < micro_batches_ &&
         at(r).clock + costs_.forward <= ends_[index(F1, r + 1, 0)] + costs_.transfer &&
         admits(at(r).memory + costs_.taken * (2 + 2 * r))) {
    for (int above = 0; above <= r; ++above) put(F0, above);
  }
  put(F1, r);
}

// Every rank gets as many forwards as the one above, and one more of chunk 1.
void ZbVHeuristic::level(int r) {
  const Rank& above = at(r - 1);
  for (Op op = F0;
       !failed_ && (at(r).forwards() < above.forwards() ||
                    (at(r).done[F1] <= above.done[F1] && above.done[F1] < micro_batches_));
       op = op == F0 ? F1 : F0) {
    for (int below = last_; below >= r; --below) {
      if (at(below).done[op] < micro_batches_) put(op, below);
    }
  }
}

// On every rank one I, then one forward.
void ZbVHeuristic::round() {
  for (int r = 0; r <= last_; ++r) at(r).input_now = next_input(r);
  for (int r = last_; r >= 0; --r) {
    if (at(r).input_now != I0) continue;
    fill(I0, r, true);
    put(I0, r);
  }
  for (int r = 0; r <= last_; ++r) {
    if (at(r).input_now != I1) continue;
    fill(I1, r, variant_.fill_before_inputs);
    put(I1, r);
  }
  for (int r = 0; r <= last_ && !failed_; ++r) {
    if (at(r).done[F1] == micro_batches_) continue;
    const std::optional<Op> op = next_forward(r);
    if (!op) continue;
    make_room(at(r));
    fill(*op, r, variant_.fill_before_forwards);
    put(*op, r);
  }
}

ZbVHeuristic::Op ZbVHeuristic::next_input(int r) const {
  const Rank& rank = at(r);
  if (rank.done[I0] >= rank.done[I1]) return I1;
  return rank.done[I1] == micro_batches_ || arrives(I0, r) ? I0 : I1;
}

std::optional<ZbVHeuristic::Op> ZbVHeuristic::next_forward(int r) const {
  const Rank& rank = at(r);
  if (rank.done[F1] >= rank.done[F0]) return F0;
  if (arrives(F1, r)) return F1;
  if (rank.done[F0] < micro_batches_ && arrives(F0, r)) return F0;
  return std::nullopt;
}

int ZbVHeuristic::sender(Op op, int r) const {
  if (op == F0 || op == I1) return r - 1;
  return r == last_ ? -1 : r + 1;
}

// Whether the rank's next action of this kind gets what another rank sends for it.
bool ZbVHeuristic::arrives(Op op, int r) const {
  const int from = sender(op, r);
  return from < 0 || at(from).done[op] > at(r).done[op];
}

// At the ends of the way the micro-batch turns on the rank itself.
bool ZbVHeuristic::can_run(Op op, int r) const {
  const std::array<int, 4>& done = at(r).done;
  if (done[op] >= micro_batches_ || !arrives(op, r)) return false;
  if (op == F1) return done[F0] > done[F1];
  if (op == I1) return done[F1] > done[I1];
  if (op == I0) return done[I1] > done[I0];
  return true;
}

Duration ZbVHeuristic::arrival(Op op, int r) const {
  return ends_[index(op, sender(op, r), at(r).done[op])] + costs_.transfer;
}

bool ZbVHeuristic::admits(std::int64_t memory) {
  if (memory > limit_) return false;
  most_admitted_ = std::max(most_admitted_, memory);
  return true;
}

void ZbVHeuristic::make_room(Rank& rank) {
  while (!admits(rank.memory + costs_.taken) && rank.pending()) put_weight(rank);
}

// W before an action that has to wait for a transfer.
void ZbVHeuristic::fill(Op op, int r, bool partial) {
  if (sender(op, r) < 0 || !arrives(op, r)) return;
  Rank& rank = at(r);
  const Duration until = arrival(op, r);
  while (rank.pending() && rank.clock + costs_.weight_gradient <= until) put_weight(rank);
  if (!partial || !rank.pending()) return;
  // What the rank may idle without being the one that idles most, now or in the pass before.
  const Duration bearable = std::max(most_idle_, most_idle_before_ - rank.idle_before) - rank.idle;
  if (until - rank.clock > bearable) put_weight(rank);
}

void ZbVHeuristic::put(Op op, int r) {
  Rank& rank = at(r);
  const bool forward = op == F0 || op == F1;
  const bool fits = !forward || admits(rank.memory + costs_.taken);
  if (!fits || !can_run(op, r)) {
    failed_ = true;
    return;
  }
  if (sender(op, r) >= 0) {
    const Duration gap = std::max(arrival(op, r) - rank.clock, Duration{0});
    if (rank.done[F0] > 0) rank.idle += gap;
    most_idle_ = std::max(most_idle_, rank.idle);
    failed_ = failed_ || most_idle_ > bearable_;
    rank.clock += gap;
  }
  rank.clock += forward ? costs_.forward : costs_.input_gradient;
  rank.memory += forward ? costs_.taken : -costs_.freed_by_input;
  ends_[index(op, r, rank.done[op]++)] = rank.clock;
  const auto chunk = static_cast<std::uint8_t>(op == F1 || op == I1);
  if (!forward) rank.inputs.push_back(chunk);
  *rank.next++ = {forward ? ActionKind::kForward : ActionKind::kInputGradient, chunk};
}

void ZbVHeuristic::put_weight(Rank& rank) {
  rank.clock += costs_.weight_gradient;
  rank.memory -= costs_.freed_by_weight;
  *rank.next++ = {ActionKind::kWeightGradient, rank.inputs[rank.weights++]};
}

std::size_t ZbVHeuristic::index(Op op, int r, int micro_batch) const {
  const std::size_t row = op * ranks_.size() + static_cast<std::size_t>(r);
  return row * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(micro_batch);
}

}  // namespace penstock
