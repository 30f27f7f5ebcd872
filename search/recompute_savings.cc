// Per rank and chunk the prefix sums of both modes give what recompute would free and take at most.
// least_ns() frees the excess where the rank holds most, first in the chunks of which it holds most
// micro-batches, and lets every byte cost the least that any section asks for: no choice of
// sections can be cheaper, so the result may bound the step.
#include "search/recompute_savings.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "search/prefix_part.h"

namespace penstock {
namespace {

std::int64_t part_of_stage(const std::vector<std::int64_t>& prefix, const Plan& plan, int stage) {
  return part(prefix, plan.first_section(stage), plan.end_section(stage));
}

// What [first, end) holds less per micro-batch when it recomputes.
std::int64_t saved_bytes(const SectionSums& kept, const SectionSums& again, int first, int end) {
  const std::int64_t of_stash = part(kept.stash, first, end) - part(again.stash, first, end);
  const std::int64_t of_weights =
      part(kept.weight_stash, first, end) - part(again.weight_stash, first, end);
  return std::max<std::int64_t>(0, of_stash + std::max<std::int64_t>(0, of_weights));
}

}  // namespace

double least_ns_per_byte(const SectionSums& kept, const SectionSums& again, BackwardKind backward) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kept.sections(); ++i) {
    const std::int64_t saved = saved_bytes(kept, again, i, i + 1);
    if (saved == 0) continue;
    const std::int64_t longer =
        part(again.work_of(backward), i, i + 1) - part(kept.work_of(backward), i, i + 1);
    least = std::min(
        least, static_cast<double>(std::max<std::int64_t>(0, longer)) / static_cast<double>(saved));
  }
  return least;
}

std::int64_t RecomputeSavings::work(std::size_t rank) const {
  std::int64_t sum = 0;
  for (const int stage : held_.stages_of(rank)) {
    sum += part_of_stage(kept_[static_cast<int>(rank)].work_of(backward_), plan_, stage);
  }
  return sum;
}

std::int64_t RecomputeSavings::fill(std::size_t rank) const {
  return part_of_stage(kept_[static_cast<int>(rank)].forward, plan_, held_.stages_of(rank).front());
}

std::optional<std::int64_t> RecomputeSavings::least_ns(std::size_t rank, std::int64_t over) const {
  over -= working(rank);
  if (over <= 0) return 0;
  double saved = 0.0;
  for (const auto& [micro_batches, each] : fullest(rank)) {
    if (micro_batches * each >= over) {
      saved += static_cast<double>(over) / static_cast<double>(micro_batches);
      return static_cast<std::int64_t>(ns_per_byte_ * saved);
    }
    over -= micro_batches * each;
    saved += static_cast<double>(each);
  }
  return std::nullopt;
}

// Recompute may also change what the rank works in: by all of it at most.
std::int64_t RecomputeSavings::working(std::size_t rank) const {
  const SectionSums& sums = kept_[static_cast<int>(rank)];
  std::int64_t most = 0;
  for (const int stage : held_.stages_of(rank)) {
    most =
        std::max(most, sums.working_peak_of(plan_.first_section(stage), plan_.end_section(stage)));
  }
  return held_.overlaps(rank).empty() ? most : 2 * most;
}

// Where the rank holds most; the chunks of which it holds most micro-batches first.
std::vector<RecomputeSavings::Chunk> RecomputeSavings::fullest(std::size_t rank) const {
  const auto stages = held_.stages_of(rank);
  const SectionSums& kept = kept_[static_cast<int>(rank)];
  const SectionSums& again = again_[static_cast<int>(rank)];
  std::int64_t most = -1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < held_.peaks(rank); ++i) {
    const auto counts = held_.peak(rank, i);
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < stages.size(); ++c) {
      sum += counts[c].stash * part_of_stage(kept.stash, plan_, stages[c]) +
             counts[c].weight_stash * part_of_stage(kept.weight_stash, plan_, stages[c]);
    }
    if (sum <= most) continue;
    most = sum;
    at = i;
  }
  std::vector<Chunk> chunks;
  for (std::size_t c = 0; c < stages.size() && most >= 0; ++c) {
    const Held& held = held_.peak(rank, at)[c];
    chunks.emplace_back(
        std::max(held.stash, held.weight_stash),
        saved_bytes(kept, again, plan_.first_section(stages[c]), plan_.end_section(stages[c])));
  }
  std::sort(chunks.begin(), chunks.end(), std::greater<>());
  return chunks;
}

}  // namespace penstock
