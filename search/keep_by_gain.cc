// RecomputeAsNeeded where a rank has several stages: all sections recompute at first, then one
// after the other keeps its activations, that one first which saves most time for the bytes that it
// takes. Greedy, so not the best of all numbers (docs/search.md, "Recompute per stage"); after
// every step all ranks of the bundle fit. Of a rank by itself only what a step changes is summed up
// anew.
#include <algorithm>
#include <utility>

#include "search/prefix_part.h"
#include "search/recompute_as_needed.h"

namespace penstock {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// What one rank holds, as total(), when one section more of one of its chunks keeps its
// activations: without summing up all of the others again.
class RecomputeAsNeeded::RankBytes {
 public:
  RankBytes(const RecomputeAsNeeded& all, std::size_t rank, const std::vector<int>& cuts,
            const std::vector<int>& counts)
      : all_(all), rank_(rank) {
    const auto stages = all.held_.stages_of(rank);
    fixed_ = all.memory_.reserve_of(stages[0]).count;
    for (const int stage : stages) {
      const std::size_t s = index(stage % all.plan_.stages_per_copy());
      runs_.push_back({cuts[s], cuts[s] + counts[s], cuts[s + 1]});
      working_.push_back(all.working_of(static_cast<int>(rank), runs_.back()));
      fixed_ += all.memory_.for_the_step(stage, cuts[s], cuts[s + 1]).count;
    }
    sums_.resize(all.held_.peaks(rank));
    for (std::size_t c = 0; c < runs_.size(); ++c) add(c, stash(runs_[c]));
  }

  // The chunk has a section that recomputes.
  [[nodiscard]] std::int64_t with_one_more(std::size_t chunk) {
    const Run run = shorter(runs_[chunk]);
    const Held change = change_of(chunk, run);
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      peak = std::max(peak, sums_[i] + bytes_of(all_.held_.peak(rank_, i)[chunk], change));
    }
    const std::int64_t before =
        std::exchange(working_[chunk], all_.working_of(static_cast<int>(rank_), run));
    const std::int64_t bytes = fixed_ + peak + working();
    working_[chunk] = before;
    return bytes;
  }
  void keep_one_more(std::size_t chunk) {
    const Run run = shorter(runs_[chunk]);
    add(chunk, change_of(chunk, run));
    runs_[chunk] = run;
    working_[chunk] = all_.working_of(static_cast<int>(rank_), run);
  }
  [[nodiscard]] const Run& run(std::size_t chunk) const { return runs_[chunk]; }

 private:
  // Of one micro-batch.
  struct Held {
    std::int64_t stash = 0, weight_stash = 0;
  };
  static Run shorter(const Run& run) { return {run.first, run.middle - 1, run.end}; }
  static std::int64_t bytes_of(const penstock::Held& counts, const Held& each) {
    return counts.stash * each.stash + counts.weight_stash * each.weight_stash;
  }
  [[nodiscard]] Held stash(const Run& run) const {
    const int rank = static_cast<int>(rank_);
    return {all_.stash_of(rank, run, false), all_.stash_of(rank, run, true)};
  }
  [[nodiscard]] Held change_of(std::size_t chunk, const Run& run) const {
    const Held then = stash(run), now = stash(runs_[chunk]);
    return {then.stash - now.stash, then.weight_stash - now.weight_stash};
  }
  void add(std::size_t chunk, const Held& change) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      sums_[i] += bytes_of(all_.held_.peak(rank_, i)[chunk], change);
    }
  }
  [[nodiscard]] std::int64_t working() const {
    std::int64_t most = *std::max_element(working_.begin(), working_.end());
    for (const auto& [a, b] : all_.held_.overlaps(rank_)) {
      most = std::max(most, working_[a] + working_[b]);
    }
    return most;
  }

  const RecomputeAsNeeded& all_;
  std::size_t rank_;
  std::vector<Run> runs_;              // by chunk
  std::vector<std::int64_t> working_;  // likewise
  std::vector<std::int64_t> sums_;     // by peak: activations
  std::int64_t fixed_ = 0;             // all else
};

// keep_by_gain() of a bundle of one rank.
void RecomputeAsNeeded::keep_by_gain_alone(std::size_t rank, const std::vector<int>& cuts,
                                           std::vector<int>& counts) const {
  const auto stages = held_.stages_of(rank);
  const int r = static_cast<int>(rank);
  const std::vector<std::int64_t>& kept = sums_.kept[r].work_of(backward_);
  const std::vector<std::int64_t>& again = sums_.recomputed[r].work_of(backward_);
  const std::int64_t capacity = memory_.capacity()[r].count;
  RankBytes bytes(*this, rank, cuts, counts);
  std::int64_t now = total(rank, cuts, counts).count;
  while (true) {
    std::size_t best = stages.size();
    double best_gain = 0.0;
    std::int64_t best_bytes = 0;
    for (std::size_t c = 0; c < stages.size(); ++c) {
      if (bytes.run(c).middle == bytes.run(c).first) continue;
      const std::int64_t then = bytes.with_one_more(c);
      if (then > capacity) continue;
      const int section = bytes.run(c).middle - 1;
      const auto saved =
          static_cast<double>(part(again, section, section + 1) - part(kept, section, section + 1));
      const double gain =
          saved / (static_cast<double>(std::max<std::int64_t>(then - now, 0)) + 1.0);
      if (best < stages.size() && gain <= best_gain) continue;
      best = c;
      best_gain = gain;
      best_bytes = then;
    }
    if (best == stages.size()) return;
    bytes.keep_one_more(best);
    --counts[index(stages[best] % plan_.stages_per_copy())];
    now = best_bytes;
  }
}

// One section after the other keeps its activations, that one first which saves most time for the
// bytes that it takes, as long as everything fits.
void RecomputeAsNeeded::keep_by_gain(const Bundle& bundle, const std::vector<int>& cuts,
                                     std::vector<int>& counts) const {
  if (bundle.ranks.size() == 1) return keep_by_gain_alone(bundle.ranks.front(), cuts, counts);
  const int rank = static_cast<int>(bundle.ranks.front());
  const std::vector<std::int64_t>& kept = sums_.kept[rank].work_of(backward_);
  const std::vector<std::int64_t>& again = sums_.recomputed[rank].work_of(backward_);
  const bool keeps_all = std::all_of(bundle.stages.begin(), bundle.stages.end(),
                                     [&](int stage) { return counts[index(stage)] == 0; });
  if (keeps_all) return;
  std::int64_t now = bytes_that_fit(bundle, cuts, counts).value_or(0);
  while (true) {
    const int* best = nullptr;
    double best_gain = 0.0;
    std::int64_t best_bytes = 0;
    for (const int& stage : bundle.stages) {
      const std::size_t s = index(stage);
      if (counts[s] == 0) continue;
      --counts[s];
      const int section = cuts[s] + counts[s];
      if (const auto then = bytes_that_fit(bundle, cuts, counts)) {
        const auto saved = static_cast<double>(part(again, section, section + 1) -
                                               part(kept, section, section + 1));
        const auto bytes = static_cast<double>(std::max<std::int64_t>(*then - now, 0));
        const double gain = saved / (bytes + 1.0);
        if (best == nullptr || gain > best_gain) {
          best = &stage;
          best_gain = gain;
          best_bytes = *then;
        }
      }
      ++counts[s];
    }
    if (best == nullptr) return;
    --counts[index(*best)];
    now = best_bytes;
  }
}

}  // namespace penstock
