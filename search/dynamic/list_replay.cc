// The order in which a pass may take the actions of all ranks depends on the lists alone, so it is
// worked out once: round after round over the ranks, each appends its next action if its input has
// been appended. That is the order of eager lowering, in which receives are posted where their
// sender made the data, so the bytes in buffers follow as well. A run then is one loop over it.
// Transfers end a constant after their producer, and a rank runs its list in order; these are all
// the rules that there are where transfers occupy nothing.
#include "search/dynamic/list_replay.h"

#include <algorithm>
#include <limits>

#include "core/values/durations.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr ActionKind kKindOf[] = {ActionKind::kForward, ActionKind::kInputGradient,
                                  ActionKind::kWeightGradient, ActionKind::kFusedBackward};

constexpr std::size_t kF = 0, kI = 1, kW = 2, kFused = 3;

std::uint8_t index_of(ActionKind kind) {
  for (std::uint8_t i = 0; i < ReplayCosts::kKinds; ++i) {
    if (kKindOf[i] == kind) return i;
  }
  throw Error(ErrorKind::kInternal, "list replay: only F, I, W and B can be replayed");
}

}  // namespace

ReplayCosts::ReplayCosts(const Plan& layout, const ExecutorModel& executor, bool recomputes)
    : stages_(static_cast<std::size_t>(layout.stages())),
      ranks_(static_cast<std::size_t>(layout.pipeline)),
      executor_(executor),
      recomputes_(recomputes) {
  for (int s = 0; s < layout.stages(); ++s) rank_of_stage_.push_back(layout.rank_of(s));
}

void ReplayCosts::add(const ShapeTable& shapes, std::span<const int> ids) {
  place_.resize(std::max(place_.size(), shapes.size()), kNowhere);
  for (const int id : ids) {
    std::size_t& place = place_[static_cast<std::size_t>(id)];
    if (place != kNowhere) continue;
    place = added_++;
    append(shapes.cost_of(id));
  }
}

void ReplayCosts::append(const ShapeCost& cost) {
  const std::size_t first = stages_of_.size();
  stages_of_.resize(first + stages_);
  ranks_of_.resize(ranks_of_.size() + ranks_);
  if (cost.status != ShapeStatus::kKnown) return;  // is in no micro-batch
  for (std::size_t s = 0; s < stages_; ++s) {
    const PricedPlace here{static_cast<int>(s)};
    const auto duration = [&](ActionKind kind) {
      return duration_of(cost.prices, executor_, kind, here);
    };
    const auto payload = [&](ActionKind send) { return payload_of(cost.prices, send, here).count; };
    Stage& stage = stages_of_[first + s];
    const Duration recompute = recomputes_ ? duration(ActionKind::kRecompute) : Duration{};
    for (std::size_t k = 0; k < kKinds; ++k) {
      // Where gradients come in, the forward was computed again.
      const Duration before = is_backward(kKindOf[k]) ? recompute : Duration{};
      stage.duration[k] = (duration(kKindOf[k]) + before).count();
      stage.change[k] = stash_change(cost.prices, kKindOf[k], here).count;
    }
    const auto crosses = [&](std::size_t from, std::size_t to) {
      return rank_of_stage_[from] != rank_of_stage_[to];
    };
    if (s > 0 && crosses(s - 1, s)) {
      stage.activation_delay =
          duration_of(cost.prices, executor_, ActionKind::kSendActivation, {here.stage - 1})
              .count();
      stage.before = payload(ActionKind::kSendGradient);
    }
    if (s + 1 < stages_ && crosses(s, s + 1)) {
      stage.gradient_delay =
          duration_of(cost.prices, executor_, ActionKind::kSendGradient, {here.stage + 1}).count();
      stage.behind = payload(ActionKind::kSendActivation);
    }
  }
  append_ranks(first);
}

void ReplayCosts::append_ranks(std::size_t first_stage) {
  Rank* const ranks = ranks_of_.data() + ranks_of_.size() - ranks_;
  for (std::size_t r = 0; r < ranks_; ++r) ranks[r].way_back = kAnyTime;
  std::int64_t back = 0;
  for (std::size_t s = 0; s < stages_; ++s) {
    const Stage& stage = stages_of_[first_stage + s];
    Rank& rank = ranks[static_cast<std::size_t>(rank_of_stage_[s])];
    rank.fused += stage.duration[kF] + stage.duration[kFused];
    rank.split += stage.duration[kF] + stage.duration[kI] + stage.duration[kW];
    rank.way_back = std::min(rank.way_back, back);  // the least from its first stage
    back += stage.duration[kFused] + stage.gradient_delay;
  }
}

ListReplay::ListReplay(const Schedule& schedule) : rank_of_stage_(schedule.rank_of_stage) {
  const auto stages = static_cast<std::size_t>(schedule.stages());
  const auto count = static_cast<std::size_t>(schedule.micro_batches);
  constexpr std::int32_t kNot = -2, kNothing = -1;
  std::vector<std::int32_t> forward(stages * count, kNot), backward(stages * count, kNot);
  std::vector<std::size_t> left(stages, count);
  std::vector<ListCursor> heads;
  heads.reserve(static_cast<std::size_t>(schedule.ranks));
  for (int r = 0; r < schedule.ranks; ++r) heads.emplace_back(schedule, r);
  const auto needs_of = [&](const ComputeAction& action, std::size_t at) {
    const auto stage = static_cast<std::size_t>(action.stage.value);
    if (action.kind == ActionKind::kForward) {
      return schedule.has_previous(action.stage.value) ? forward[at - count] : kNothing;
    }
    if (action.kind == ActionKind::kWeightGradient) return kNothing;
    return schedule.has_next(static_cast<int>(stage)) ? backward[at + count] : forward[at];
  };
  steps_.reserve(schedule.length());
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t r = 0; r < heads.size(); ++r) {
      if (heads[r].done()) continue;
      const ComputeAction action = *heads[r];
      const auto stage = static_cast<std::size_t>(action.stage.value);
      const std::size_t at = stage * count + action.micro_batch.value;
      const std::int32_t needs = needs_of(action, at);
      if (needs == kNot) continue;
      const auto index = static_cast<std::int32_t>(steps_.size());
      if (action.kind == ActionKind::kForward) forward[at] = index;
      if (action.kind == ActionKind::kWeightGradient) splits_ = true;
      if (is_backward(action.kind)) backward[at] = index;
      const bool ends = completes_gradient(action.kind) && --left[stage] == 0;
      steps_.push_back({needs, action.micro_batch.value, action.stage.value,
                        static_cast<std::uint16_t>(r), index_of(action.kind), ends});
      ++heads[r];
      progress = true;
    }
  }
  for (const Step& step : steps_) {
    if (splits_ && step.kind == kFused) fused_of_split_.push_back(step);
  }
  if (steps_.size() != schedule.length()) {
    throw_bad_input(schedule.name + ": the lists cannot be executed: nothing can run");
  }
  end_.resize(steps_.size());
  free_.resize(heads.size());
  reduced_.resize(heads.size());
  held_.resize(heads.size());
  ahead_.resize(heads.size());
  slack_.resize(heads.size());
  buffers_.resize(stages);
  stages_at_.resize(count);
  largest_.resize(stages);
  least_tail_.resize(heads.size());
  room_.resize(heads.size());
  result_.stash.resize(heads.size());
  result_.communication.resize(heads.size());
}

void ListReplay::look_up(const ReplayCosts& costs, std::span<const int> shapes) {
  for (std::size_t i = 0; i < shapes.size(); ++i) stages_at_[i] = costs.of_shape(shapes[i]);
}

// A forward lets its activation go and posts the receive of what it makes behind its stage, a
// backward likewise with gradients.
inline void ListReplay::move_buffers(const Step& step, const ReplayCosts::Stage& stage) {
  if (kKindOf[step.kind] == ActionKind::kWeightGradient) return;
  Buffers& own = buffers_[step.stage];
  if (step.kind == 0) {
    own.activations -= stage.before;
    if (stage.behind == 0) return;
    Buffers& next = buffers_[step.stage + std::size_t{1}];
    next.activations += stage.behind;
    next.most_activations = std::max(next.most_activations, next.activations);
  } else {
    own.gradients -= stage.behind;
    if (stage.before == 0) return;
    Buffers& previous = buffers_[step.stage - std::size_t{1}];
    previous.gradients += stage.before;
    previous.most_gradients = std::max(previous.most_gradients, previous.gradients);
  }
}

// What a rank may wait if the replay is to end by `latest`: it has to do all of its actions, the
// last of which is the last gradient of one of its stages, and when that is a fused backward some
// gradient still has its way back to stage 0. False when even without waiting it is too late.
bool ListReplay::leave_slack(const ReplayCosts& costs, std::span<const int> shapes,
                             std::span<const std::int64_t> tail, std::int64_t latest) {
  std::fill(slack_.begin(), slack_.end(), 0);
  std::fill(ahead_.begin(), ahead_.end(), kAnyTime);
  const std::size_t ranks = slack_.size();
  for (const int shape : shapes) {
    const ReplayCosts::Rank* of = costs.ranks_of_shape(shape);
    for (std::size_t r = 0; r < ranks; ++r) {
      slack_[r] -= splits_ ? of[r].split : of[r].fused;
      ahead_[r] = std::min(ahead_[r], of[r].way_back);
    }
  }
  for (const Step& step : fused_of_split_) {
    const std::int64_t* duration = stages_at_[step.position][step.stage].duration;
    slack_[step.rank] -= duration[kFused] - duration[kI] - duration[kW];
  }
  std::fill(least_tail_.begin(), least_tail_.end(), kAnyTime);
  for (std::size_t s = 0; s < rank_of_stage_.size(); ++s) {
    std::int64_t& least = least_tail_[static_cast<std::size_t>(rank_of_stage_[s])];
    least = std::min(least, tail[s]);
  }
  bool in_time = true;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::int64_t behind = splits_ ? 0 : ahead_[r] + tail.front();
    slack_[r] += latest - std::max(behind, least_tail_[r]);
    in_time &= slack_[r] >= 0;
  }
  return in_time;
}

std::int64_t ListReplay::end_ns(const ReplayCosts& costs, std::span<const int> shapes,
                                std::span<const std::int64_t> tail, std::int64_t latest) {
  look_up(costs, shapes);
  std::fill(free_.begin(), free_.end(), 0);
  std::fill(reduced_.begin(), reduced_.end(), 0);
  if (latest == kAnyTime) {
    std::fill(slack_.begin(), slack_.end(), kAnyTime);
  } else if (!leave_slack(costs, shapes, tail, latest)) {
    return latest + 1;
  }
  std::int64_t end = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const ReplayCosts::Stage& stage = stages_at_[step.position][step.stage];
    std::int64_t start = free_[step.rank];
    if (step.needs >= 0) {
      const std::int64_t delay = step.kind == 0 ? stage.activation_delay : stage.gradient_delay;
      const std::int64_t ready = end_[static_cast<std::size_t>(step.needs)] + delay;
      if (ready > start) {
        if ((slack_[step.rank] -= ready - start) < 0) return latest + 1;
        start = ready;
      }
    }
    end_[i] = free_[step.rank] = start + stage.duration[step.kind];
    if (!step.ends_stage) continue;
    std::int64_t& reduced = reduced_[step.rank];
    reduced = std::max(reduced, end_[i]) + tail[step.stage];
    end = std::max(end, reduced);
  }
  return end;
}

const ListReplayResult& ListReplay::run(const ReplayCosts& costs, std::span<const int> shapes,
                                        std::span<const std::int64_t> tail) {
  result_.end_ns = end_ns(costs, shapes, tail, kAnyTime);
  return bytes(costs, shapes);
}

const ListReplayResult& ListReplay::bytes(const ReplayCosts& costs, std::span<const int> shapes) {
  look_up(costs, shapes);
  std::fill(held_.begin(), held_.end(), 0);
  std::fill(buffers_.begin(), buffers_.end(), Buffers{});
  std::fill(result_.stash.begin(), result_.stash.end(), 0);
  for (const Step& step : steps_) {
    const ReplayCosts::Stage& stage = stages_at_[step.position][step.stage];
    held_[step.rank] += stage.change[step.kind];
    result_.stash[step.rank] = std::max(result_.stash[step.rank], held_[step.rank]);
    move_buffers(step, stage);
  }
  add_buffers();
  return result_;
}

// The largest transfers do not depend on the order: every micro-batch crosses every boundary once,
// either way.
void ListReplay::add_buffers() {
  std::fill(largest_.begin(), largest_.end(), Crossing{});
  for (const ReplayCosts::Stage* stages : stages_at_) {
    for (std::size_t s = 0; s < largest_.size(); ++s) {
      largest_[s].before = std::max(largest_[s].before, stages[s].before);
      largest_[s].behind = std::max(largest_[s].behind, stages[s].behind);
    }
  }
  std::fill(result_.communication.begin(), result_.communication.end(), 0);
  std::fill(room_.begin(), room_.end(), TransferRoom{});
  for (std::size_t s = 0; s < buffers_.size(); ++s) {
    const auto rank = static_cast<std::size_t>(rank_of_stage_[s]);
    result_.communication[rank] += buffers_[s].most_activations + buffers_[s].most_gradients;
    room_[rank].add_send(largest_[s].before);
    room_[rank].add_send(largest_[s].behind);
    if (s > 0) room_[rank].add_receive(largest_[s - 1].behind);
    if (s + 1 < largest_.size()) room_[rank].add_receive(largest_[s + 1].before);
  }
  for (std::size_t r = 0; r < room_.size(); ++r) result_.communication[r] += room_[r].bytes();
}

}  // namespace penstock
