// Follows the order of decisions of the source, so that its published lists come out: a warm-up
// whose length memory and the way of the first gradient decide, then rounds of one forward and one
// input gradient per stage, with W filled in where a stage would otherwise wait. The variants
// switch single decisions. Invariant: memory stays within the limit at every step, since
// put_weight() makes room before a forward asks for it; least_limit() and what mattered tell a
// search under which other limits the run would have gone the same way.
#include "simulator/schedules/zb_heuristic.h"

namespace penstock {

ZbHeuristic::ZbHeuristic(const StageCosts& costs, int micro_batches, Shortest shortest)
    : micro_batches_(micro_batches),
      shortest_(shortest),
      stages_(costs.forward.size()),
      forward_ends_(costs.forward.size() * static_cast<std::size_t>(micro_batches)),
      lists_(costs.forward.size(), 1, micro_batches) {
  const std::vector<PipelineStage> stages = pipeline_stages(costs);
  for (std::size_t j = 0; j < stages_.size(); ++j) {
    static_cast<PipelineStage&>(stages_[j]) = stages[j];
    stages_[j].forward_ends = forward_ends_.data() + j * static_cast<std::size_t>(micro_batches);
  }
}

std::optional<Duration> ZbHeuristic::run(const ZbVariant& variant,
                                         std::span<const std::int64_t> limits, Duration best) {
  variant_ = variant;
  best_ = best;
  reset(limits);
  warm_up();
  for (int n = 1; n < micro_batches_ && !lost_; ++n) round();
  if (lost_) return std::nullopt;
  Duration longest{0};
  for (Stage& stage : stages_) {
    put_pending_weights(stage);
    longest = std::max(longest, stage.idle + stage.charged);
  }
  return longest;
}

void ZbHeuristic::reset(std::span<const std::int64_t> limits) {
  mattered_ = {};
  mattered_.hurry_gradient = !variant_.hurry_gradient;  // then nobody looks
  most_idle_ = Duration{0};
  lost_ = false;
  for (std::size_t j = 0; j < stages_.size(); ++j) {
    Stage& stage = stages_[j];
    stage.clock = stage.idle = Duration{0};
    stage.charged = micro_batches_ * (stage.forward + stage.input_gradient + stage.weight_gradient);
    stage.limit = limits[j];
    stage.memory = stage.most_admitted = 0;
    stage.forwards = stage.inputs = stage.weights = stage.warm_up = 0;
    stage.next = lists_.steps.data() + j * lists_.length();
    lost_ = lost_ || stage.charged >= best_;
  }
}

// One forward everywhere; then as many more as memory and the way back of the first gradient allow.
void ZbHeuristic::warm_up() {
  for (std::size_t j = 0; j < stages_.size(); ++j) put_forward(j);
  Duration end = stages_.back().clock + stages_.back().input_gradient;
  for (std::size_t j = stages_.size() - 1; j-- > 0;) {
    const Duration arrival = end + stages_[j].gradient;
    end = count_warm_up(stages_[j], arrival) + stages_[j].input_gradient;
  }
  for (std::size_t j = 1; j < stages_.size(); ++j) shape_warm_up(stages_[j - 1], stages_[j]);
  for (std::size_t j = 0; j < stages_.size(); ++j) {
    for (int k = 0; k < stages_[j].warm_up; ++k) put_forward(j);
  }
  for (std::size_t j = stages_.size(); j-- > 0;) put_input(j);
}

// Forwards until the first gradient arrives; returns when its I can start.
Duration ZbHeuristic::count_warm_up(Stage& stage, Duration arrival) {
  std::int64_t memory = stage.memory;
  Duration clock = stage.clock;
  while (1 + stage.warm_up < micro_batches_ && clock < arrival &&
         stage.admits(memory + stage.taken)) {
    if (clock + stage.forward > arrival) {
      mattered_.wait_for_gradient = true;
      if (variant_.wait_for_gradient) break;
    }
    memory += stage.taken;
    clock += stage.forward;
    ++stage.warm_up;
  }
  return std::max(clock, arrival);
}

// A stage never warms up with more forwards than the one before, which would not arrive.
void ZbHeuristic::shape_warm_up(const Stage& before, Stage& stage) {
  const int most = std::min(before.warm_up, stage.warm_up);
  const bool all = 1 + most == micro_batches_ && most == stage.warm_up;
  const int stepped = all ? most : std::clamp(before.warm_up - 1, 0, stage.warm_up);
  const int shared = proportional_share(stage, most);
  if (stepped != shared) mattered_.proportional_warm_up = true;
  stage.warm_up = variant_.proportional_warm_up ? shared : stepped;
}

// Of the activations that stage 0 may hold, those in flight from this stage on, rounded up; less
// the first, and at most `most`.
int ZbHeuristic::proportional_share(const Stage& stage, int most) {
  Stage& first = stages_.front();
  const std::int64_t whole = first.round_trip.count();
  const std::int64_t part = stage.round_trip.count();
  if (most == 0 || whole == 0 || first.taken == 0) return most;
  const std::int64_t held = std::min<std::int64_t>(micro_batches_, first.limit / first.taken);
  const std::int64_t share = std::max<std::int64_t>((held * part + whole - 1) / whole, 1) - 1;
  // Holding this many there the share would come out the same.
  const std::int64_t enough = share < most ? held : most * whole / part + 1;
  first.most_admitted = std::max(first.most_admitted, enough * first.taken);
  return static_cast<int>(std::min<std::int64_t>(share, most));
}

// One forward and one input gradient per stage, W where they fit.
void ZbHeuristic::round() {
  bool wanted = true;
  for (std::size_t j = stages_.size(); j-- > 0;) {
    const Stage& behind = stages_[std::min(j + 1, stages_.size() - 1)];
    wanted = wanted && wants_forward(stages_[j], behind);
    stages_[j].forward_now = wanted;
  }
  for (std::size_t j = 0; j < stages_.size(); ++j) {
    Stage& stage = stages_[j];
    if (!stage.forward_now) continue;
    // It ends: the warm-up left room for one more forward than is in flight now.
    while (!stage.admits(stage.memory + stage.taken)) put_weight(stage);
    if (j > 0) fill(stage, stages_[j - 1].forward_ends[stage.forwards] + stage.activation);
    put_forward(j);
  }
  for (std::size_t j = stages_.size(); j-- > 0;) {
    Stage& stage = stages_[j];
    if (j + 1 < stages_.size()) fill(stage, stages_[j + 1].gradient_end + stage.gradient);
    if (j == 0 && stage.forwards == micro_batches_) put_pending_weights(stage);
    put_input(j);
  }
}

bool ZbHeuristic::wants_forward(Stage& stage, const Stage& behind) {
  if (stage.forwards == micro_batches_) return false;
  if (!variant_.hurry_gradient || &stage == &behind || stage.forwards < behind.forwards + 2) {
    return true;
  }
  // When the next gradient arrives if the stage behind turns to it at once.
  const Duration arrival = behind.clock + behind.forward + behind.input_gradient + stage.gradient;
  const bool in_time = stage.clock + stage.forward + weights_before_forward(stage) <= arrival;
  const bool wants =
      stage.clock < arrival && (in_time || arrival - stage.clock > most_idle_ - stage.idle);
  if (!wants) mattered_.hurry_gradient = true;
  return wants;
}

// Time of the fewest pending W whose memory a forward needs; of all when they do not suffice.
Duration ZbHeuristic::weights_before_forward(Stage& stage) {
  int weights = 0;
  std::int64_t held = stage.memory + stage.taken;
  while (!stage.admits(held) && weights < stage.pending()) {
    held -= stage.freed_by_weight;
    ++weights;
  }
  return weights * stage.weight_gradient;
}

void ZbHeuristic::put_forward(std::size_t j) {
  Stage& stage = stages_[j];
  if (j > 0) wait(stage, stages_[j - 1].forward_ends[stage.forwards] + stage.activation);
  stage.clock += stage.forward;
  stage.memory += stage.taken;
  stage.forward_ends[stage.forwards++] = stage.clock;
  *stage.next++ = {ActionKind::kForward, 0};
}

void ZbHeuristic::put_input(std::size_t j) {
  Stage& stage = stages_[j];
  if (j + 1 < stages_.size()) wait(stage, stages_[j + 1].gradient_end + stage.gradient);
  stage.clock += stage.input_gradient;
  stage.memory -= stage.freed_by_input;
  stage.gradient_end = stage.clock;
  ++stage.inputs;
  *stage.next++ = {ActionKind::kInputGradient, 0};
}

void ZbHeuristic::put_weight(Stage& stage) {
  stage.clock += stage.weight_gradient;
  stage.memory -= stage.freed_by_weight;
  ++stage.weights;
  *stage.next++ = {ActionKind::kWeightGradient, 0};
}

void ZbHeuristic::put_pending_weights(Stage& stage) {
  while (stage.pending() > 0) put_weight(stage);
}

// W before something that is ready only at `until`.
void ZbHeuristic::fill(Stage& stage, Duration until) {
  while (stage.pending() > 0 && stage.clock + stage.weight_gradient <= until) put_weight(stage);
  if (stage.pending() == 0 || stage.clock >= until) return;
  // A gap does no harm while another stage has idled more by at least as much.
  const bool harms = until - stage.clock > most_idle_ - stage.idle;
  if (!harms) mattered_.fill_every_gap = true;
  if (harms || variant_.fill_every_gap) put_weight(stage);
}

void ZbHeuristic::wait(Stage& stage, Duration ready) {
  if (ready <= stage.clock) return;
  if (stage.forwards > 0) {
    stage.idle += ready - stage.clock;
    most_idle_ = std::max(most_idle_, stage.idle);
  } else if (shortest_ == Shortest::kMakespan) {
    stage.charged += ready;
  }
  lost_ = lost_ || stage.idle + stage.charged >= best_;
  stage.clock = ready;
}

}  // namespace penstock
