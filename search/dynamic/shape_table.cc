// A shape is judged by two numbers: the time of its slowest rank, and the bytes of its fullest one
// when so many micro-batches are held at once. Devices that have less memory than the largest count
// as if they held the difference already, so that one limit speaks for all ranks.
#include "search/dynamic/shape_table.h"

#include <algorithm>

#include "core/values/durations.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr int kBitsPerLength = 24;

// What 1F1B holds on a rank; with several stages per rank interleaved 1F1B, in whole micro-batches.
std::int64_t most_in_flight(const Plan& layout, int rank) {
  const int p = layout.pipeline, v = layout.chunks;
  if (v == 1) return p - rank;
  if (layout.stage_map != StageMap::kLoop) return p;
  const int forwards = (v - 1) * p + 2 * (p - 1 - rank) + 1;
  return (forwards + v - 1) / v;
}

std::uint64_t key_of(const MicroBatchShape& shape) {
  const auto limit = std::uint64_t{1} << kBitsPerLength;
  const auto samples = static_cast<std::uint64_t>(shape.samples);
  const auto tokens = static_cast<std::uint64_t>(shape.tokens);
  const auto decoder = static_cast<std::uint64_t>(shape.decoder_tokens);
  if (samples >= limit / 16 || tokens >= limit / 4 || decoder >= limit / 4) {
    throw_bad_input("a micro-batch of " + std::to_string(shape.samples) + " samples of " +
                    std::to_string(shape.tokens) + " tokens is more than is supported");
  }
  return (samples << 44U) | (tokens << 22U) | decoder;
}

}  // namespace

ShapeTable::ShapeTable(const ShapeCosts& costs, const Plan& layout, const ExecutorModel& executor,
                       const PerRank<Bytes>& capacity, const PerRank<Bytes>& reserve)
    : costs_(costs),
      layout_(layout),
      step_(costs.step_pricing()),
      executor_(executor),
      kept_by_(static_cast<std::size_t>(layout.pipeline), 0) {
  for (int s = 0; s < layout.stages(); ++s) {
    const StepPrice& step = step_.prices.step[static_cast<std::size_t>(s)];
    kept_by_[static_cast<std::size_t>(layout.rank_of(s))] +=
        (step.parameters + step.gradients + step.optimizer_state).count;
  }
  for (int r = 0; r < layout.pipeline; ++r) limit_ = std::max(limit_, capacity[r].count);
  for (int r = 0; r < layout.pipeline; ++r) {
    kept_by_[static_cast<std::size_t>(r)] += reserve[r].count;
    lacks_.push_back(limit_ - capacity[r].count);
    kept_ = std::max(kept_, kept_by_[static_cast<std::size_t>(r)] + lacks_.back());
    const std::int64_t all = most_in_flight(layout, r);
    held_.push_back({1, (all + 1) / 2, all});
  }
}

void ShapeTable::judge(std::span<const StageLoad> loads, KnownShape& known) {
  const auto ranks = static_cast<std::size_t>(layout_.pipeline);
  time_.assign(ranks, 0);
  stash_.assign(ranks, 0);
  working_.assign(ranks, 0);
  known.recomputes = std::any_of(loads.begin(), loads.end(),
                                 [](const StageLoad& load) { return load.recompute > Duration{}; });
  const Duration forward = fixed_cost(executor_, ActionKind::kForward);
  const Duration backward = fixed_cost(executor_, ActionKind::kFusedBackward);
  const Duration recompute = fixed_cost(executor_, ActionKind::kRecompute);
  for (int s = 0; s < layout_.stages(); ++s) {
    const StageLoad& load = loads[static_cast<std::size_t>(s)];
    const auto rank = static_cast<std::size_t>(layout_.rank_of(s));
    Duration time = load.forward + forward + load.fused_backward + backward;
    if (known.recomputes) time += load.recompute + recompute;
    time_[rank] += time.count();
    stash_[rank] += load.stash.count;
    working_[rank] = std::max(working_[rank], load.working_peak.count);
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    known.time_ns = std::max(known.time_ns, static_cast<double>(time_[r]));
    for (std::size_t h = 0; h < kHeldKinds; ++h) {
      known.need[h] =
          std::max(known.need[h], kept_by_[r] + lacks_[r] + working_[r] + held_[r][h] * stash_[r]);
    }
  }
}

std::vector<int> ShapeTable::ids_of(const std::vector<MicroBatchShape>& shapes) {
  std::vector<int> ids;
  ids.reserve(shapes.size());
  std::vector<MicroBatchShape> fresh;
  for (const MicroBatchShape& shape : shapes) {
    const int next = static_cast<int>(known_.size() + fresh.size());
    const auto [at, is_new] = ids_.try_emplace(key_of(shape), next);
    if (is_new) fresh.push_back(shape);
    ids.push_back(at->second);
  }
  if (fresh.empty()) return ids;
  ShapeLoads found = costs_.loads_of(fresh);
  const auto stages = static_cast<std::size_t>(layout_.stages());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    KnownShape& known = known_.emplace_back();
    known.shape = fresh[i];
    known.status = found.shapes[i].status;
    known.why_not = std::move(found.shapes[i].why_not);
    if (known.status != ShapeStatus::kKnown) continue;
    judge({found.loads.data() + i * stages, stages}, known);
  }
  place_.resize(known_.size(), kNotPriced);
  return ids;
}

void ShapeTable::price(const std::vector<int>& ids) {
  std::vector<MicroBatchShape> fresh;
  for (const int id : ids) {
    int& place = place_[static_cast<std::size_t>(id)];
    if (place != kNotPriced) continue;
    place = static_cast<int>(costs_of_.size() + fresh.size());
    fresh.push_back(at(id).shape);
  }
  if (fresh.empty()) return;
  for (ShapeCost& cost : costs_.costs_of(fresh)) costs_of_.push_back(std::move(cost));
}

}  // namespace penstock
