// A schedule without a limit of memory has its lists made once for a number of micro-batches, and
// every order of them replayed on these lists; one that limits its lists by what micro-batches
// take has them made for each order. Invariant of least_end_ns(): no order of these micro-batches
// ends earlier, so a candidate beyond the best may be left out unseen.
#include "search/dynamic/replica_replays.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "core/values/durations.h"
#include "core/values/error.h"
#include "core/values/transfer_room.h"
#include "simulator/schedules/cyclic.h"

namespace penstock {
namespace {

constexpr std::string_view kOneChunk[] = {"1f1b", "cyclic", "zb-h1", "zb-h2"};
constexpr std::string_view kSeveralChunks[] = {"interleaved", "cyclic", "interleaved-zb"};
constexpr std::string_view kOnTheV[] = {"cyclic-v", "zb-v"};

std::vector<std::string_view> names_for(const Plan& layout) {
  if (layout.stage_map == StageMap::kV) return {std::begin(kOnTheV), std::end(kOnTheV)};
  if (layout.chunks > 1) return {std::begin(kSeveralChunks), std::end(kSeveralChunks)};
  // All are one and the same where there is one stage.
  if (layout.pipeline == 1) return {"1f1b"};
  return {std::begin(kOneChunk), std::end(kOneChunk)};
}

// On one stage any of them, since there they are the same.
bool suits_layout(const Plan& layout, std::string_view name) {
  const auto is_among = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  if (is_among(names_for(layout))) return true;
  return layout.stages() == 1 &&
         (is_among(kOneChunk) || is_among(kSeveralChunks) || is_among(kOnTheV));
}

ScheduleShape shape_of(const Plan& layout, int count, int group) {
  return {layout.pipeline, layout.chunks, count, group, 1};
}

bool suits_all(const ScheduleKind& kind, const Plan& layout, const std::vector<int>& counts,
               int group) {
  return std::all_of(counts.begin(), counts.end(), [&](int count) {
    return why_no_schedule(kind, shape_of(layout, count, group)).empty();
  });
}

}  // namespace

bool is_cyclic(const ScheduleKind& kind) {
  return kind.name == "cyclic" || kind.name == "cyclic-v";
}

std::vector<const ScheduleKind*> batch_schedules(const Plan& layout,
                                                 const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = names_for(layout);
  for (const std::string& name : names) {
    if (suits_layout(layout, name)) continue;
    std::string refusal = "schedule '" + name +
                          "' is not one that batches of this layout are planned with; "
                          "choose among";
    for (const std::string_view one : known) {
      refusal += one == known.front() ? " " : ", ";
      refusal += one;
    }
    throw_bad_input(refusal);
  }
  std::vector<const ScheduleKind*> kinds;
  for (const std::string_view name : known) {
    const bool wanted = names.empty() || layout.stages() == 1 ||
                        std::find(names.begin(), names.end(), name) != names.end();
    if (wanted) kinds.push_back(find_schedule(name));
  }
  return kinds;
}

const ScheduleKind* plain_batch_schedule(const Plan& layout) {
  return find_schedule(names_for(layout).front());
}

std::vector<std::string> names_that_suit(const Plan& layout,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> suiting;
  std::copy_if(names.begin(), names.end(), std::back_inserter(suiting),
               [&](const std::string& name) { return suits_layout(layout, name); });
  return suiting;
}

std::vector<std::string> batch_schedule_names() {
  std::vector<std::string> names(std::begin(kOneChunk), std::end(kOneChunk));
  for (const std::string_view name : kSeveralChunks) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return names;
}

int common_group(const ScheduleKind& kind, const Plan& layout, const std::vector<int>& counts) {
  if (suits_all(kind, layout, counts, 0)) return 0;
  if (!kind.has_groups || counts.empty()) return -1;
  const int most = *std::min_element(counts.begin(), counts.end());
  for (int group = layout.pipeline; group <= most; ++group) {
    if (suits_all(kind, layout, counts, group)) return group;
  }
  return -1;
}

ReplicaReplays::ReplicaReplays(const Plan& layout, const ShapeTable& shapes,
                               const ReplayCosts& costs,
                               const std::vector<FormedMicroBatch>& micro_batches)
    : layout_(layout), shapes_(shapes), costs_(costs) {
  for (int s = 0; s < layout.stages(); ++s) {
    rank_of_stage_.push_back(layout.rank_of(s));
    const Duration reduction = price_alone(shapes.step().prices, ActionKind::kReduceGradient, {s});
    tail_.push_back(layout.weight_copies() > 1 ? reduction.count() : 0);
  }
  least_tail_.assign(static_cast<std::size_t>(layout.pipeline), kAnyTime);
  for (std::size_t s = 0; s < tail_.size(); ++s) {
    std::int64_t& least = least_tail_[static_cast<std::size_t>(rank_of_stage_[s])];
    least = std::min(least, tail_[s]);
  }
  count_beside(micro_batches);
}

// A rank that limits its lists leaves room for a receive over each boundary, either way, and for
// what transfer_room.h says.
void ReplicaReplays::count_beside(const std::vector<FormedMicroBatch>& micro_batches) {
  const auto stages = static_cast<std::size_t>(layout_.stages());
  std::vector<std::int64_t> working(stages, 0), boundary(stages, 0);
  for (const FormedMicroBatch& formed : micro_batches) {
    const StagePrices& prices = shapes_.cost_of(formed.shape).prices;
    for (std::size_t s = 0; s < stages; ++s) {
      const ComputePrice& price = prices.compute_of(static_cast<int>(s), 0);
      working[s] = std::max(working[s], price.working_peak.count);
      boundary[s] = std::max(boundary[s], price.boundary.count);
    }
  }
  const auto ranks = static_cast<std::size_t>(layout_.pipeline);
  std::vector<std::int64_t> most_working(ranks, 0);
  std::vector<TransferRoom> room(ranks);
  beside_.assign(ranks, 0);
  buffers_.assign(ranks, 0);
  for (std::size_t s = 0; s < stages; ++s) {
    const auto rank = static_cast<std::size_t>(rank_of_stage_[s]);
    most_working[rank] = std::max(most_working[rank], working[s]);
    if (s == 0 || rank_of_stage_[s - 1] == rank_of_stage_[s]) continue;
    for (const std::size_t end : {rank, static_cast<std::size_t>(rank_of_stage_[s - 1])}) {
      buffers_[end] += boundary[s - 1];  // of the receive
      room[end].add_send(boundary[s - 1]);
      room[end].add_receive(boundary[s - 1]);
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) buffers_[r] += room[r].bytes();
  for (std::size_t r = 0; r < ranks; ++r) {
    const int rank = static_cast<int>(r);
    beside_[r] = most_working[r] + shapes_.kept_by(rank) + shapes_.lacks(rank);
    most_beside_ = std::max(most_beside_, beside_[r]);
  }
}

OrderScore ReplicaReplays::score_of(ListReplay& replay, std::span<const int> shapes,
                                    std::int64_t latest) const {
  OrderScore score{replay.end_ns(costs_, shapes, tail_, latest), 0};
  if (score.end_ns > latest) return score;
  const ListReplayResult& result = replay.bytes(costs_, shapes);
  for (std::size_t r = 0; r < beside_.size(); ++r) {
    score.need = std::max(score.need, beside_[r] + result.stash[r] + result.communication[r]);
  }
  return score;
}

bool ReplicaReplays::can_schedule(const BatchSchedule& choice, int count) const {
  return count > 0 && suits_all(*choice.kind, layout_, {count}, choice.group);
}

OrderReplay ReplicaReplays::replay_of(const BatchSchedule& choice, int count) const {
  if (choice.within > 0) {
    return [this, choice](std::span<const int> shapes, std::int64_t latest) {
      ListReplay replay(schedule_of(choice, shapes));
      return score_of(replay, shapes, latest);
    };
  }
  auto replay =
      std::make_shared<ListReplay>(choice.kind->generate(shape_of(layout_, count, choice.group)));
  return [this, replay](std::span<const int> shapes, std::int64_t latest) {
    return score_of(*replay, shapes, latest);
  };
}

// A rank cannot begin before some micro-batch has come to its first stage, has to do all of them,
// and ends with the last gradient of one of its stages, which that stage's tail follows. When it
// has done the last fused backward, some gradient still has its way back and stage 0 its own tail;
// a split backward may leave weight gradients for then. The first to come and the last to go back
// may be two micro-batches, so that each way counts at its own least. Of several replicas one has
// at least the mean.
std::int64_t ReplicaReplays::least_end_ns(const BatchSchedule& choice, std::span<const int> shapes,
                                          int replicas) const {
  constexpr std::size_t kF = 0, kI = 1, kW = 2, kB = 3;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const bool splits = choice.kind->splits_backward();
  const std::size_t ranks = beside_.size();
  std::vector<std::int64_t> busy(ranks, 0), first(ranks, kMost), least_back(ranks, kMost);
  std::vector<bool> seen(ranks);
  for (const int shape : shapes) {
    const ReplayCosts::Stage* stages = costs_.of_shape(shape);
    std::int64_t there = 0, back = 0;
    std::fill(seen.begin(), seen.end(), false);
    for (std::size_t s = 0; s < rank_of_stage_.size(); ++s) {
      const auto rank = static_cast<std::size_t>(rank_of_stage_[s]);
      const ReplayCosts::Stage& stage = stages[s];
      there += stage.activation_delay;
      if (!seen[rank]) {
        first[rank] = std::min(first[rank], there);
        least_back[rank] = std::min(least_back[rank], back);
      }
      seen[rank] = true;
      const std::int64_t backward =
          splits ? stage.duration[kI] + stage.duration[kW] : stage.duration[kB];
      busy[rank] += stage.duration[kF] + backward;
      there += stage.duration[kF];
      back += stage.duration[kB] + stage.gradient_delay;
    }
  }
  std::int64_t least = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::int64_t mean = busy[r] / replicas;
    least = std::max(least, mean + first[r] + least_tail_[r]);
    if (!splits) least = std::max(least, mean + first[r] + least_back[r] + tail_.front());
  }
  return least;
}

Schedule ReplicaReplays::schedule_of(const BatchSchedule& choice,
                                     std::span<const int> shapes) const {
  const int count = static_cast<int>(shapes.size());
  if (choice.within == 0) {
    return choice.kind->generate(shape_of(layout_, count, choice.group));
  }
  std::vector<std::int64_t> room, taken;
  room.reserve(beside_.size());
  for (std::size_t r = 0; r < beside_.size(); ++r) {
    room.push_back(choice.within - beside_[r] - buffers_[r]);
  }
  taken.reserve(rank_of_stage_.size() * shapes.size());
  for (std::size_t s = 0; s < rank_of_stage_.size(); ++s) {
    for (const int shape : shapes) taken.push_back(costs_.of_shape(shape)[s].change[0]);
  }
  const CyclicMemory memory{room, taken};
  return schedule_of_lists(std::string(choice.kind->name), count, rank_of_stage_,
                           cyclic_lists(rank_of_stage_, layout_.pipeline, count, &memory).lists);
}

}  // namespace penstock
