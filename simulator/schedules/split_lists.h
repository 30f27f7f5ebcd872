// Lists of F, I and W, two bytes per action: the micro-batches of each kind and stage ascend, so
// the order of kinds and stages says it all. And what such lists cost under per-stage costs.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/schedule.h"
#include "simulator/schedules/stage_costs.h"

namespace penstock {

struct SplitStep {
  ActionKind kind;
  std::uint8_t chunk;  // 0: stage r of rank r; 1: stage 2P - 1 - r, back up the V
  bool operator==(const SplitStep&) const = default;
};

struct SplitLists {
  SplitLists(std::size_t ranks_, std::size_t chunks_, int micro_batches_)
      : ranks(ranks_),
        chunks(chunks_),
        micro_batches(static_cast<std::size_t>(micro_batches_)),
        steps(ranks * length()) {}

  std::size_t ranks, chunks, micro_batches;
  std::vector<SplitStep> steps;

  [[nodiscard]] std::size_t length() const { return 3 * chunks * micro_batches; }  // of each list
  [[nodiscard]] std::span<const SplitStep> list(std::size_t rank) const {
    return std::span(steps).subspan(rank * length(), length());
  }
  [[nodiscard]] std::size_t stage(std::size_t rank, SplitStep step) const {
    return step.chunk == 0 ? rank : 2 * ranks - 1 - rank;
  }
};

// Of a schedule with one stage per rank, or two on the V, and ascending micro-batches; B becomes I
// and W.
SplitLists split_lists(const Schedule& schedule);

// Whether every rank stays within its limit, from position to position of its list.
bool fits(const SplitLists& lists, const StageCosts& costs);

// The step; then, of lists that take as long, when all actions end, added up.
struct ListLength {
  Duration step{0}, ends{0};
  auto operator<=>(const ListLength&) const = default;
};

// In the DAG model: an action starts when its rank has ended the one before and what it waits for
// has arrived. For lists of one size.
class SplitReplay {
 public:
  SplitReplay(const StageCosts& costs, std::size_t micro_batches);

  // Nothing when the lists wait for each other.
  std::optional<ListLength> run(const SplitLists& lists, Shortest shortest);

 private:
  struct Rank {
    std::size_t position = 0;
    Duration start{0}, end{0};
  };
  struct Stage {
    std::size_t forwards = 0, inputs = 0;
  };
  std::size_t advance(const SplitLists& lists, std::size_t r);
  bool run_step(Rank& rank, std::size_t s, ActionKind kind);
  Duration put(Rank& rank, Duration ready, Duration cost);
  [[nodiscard]] std::size_t at(std::size_t stage, std::size_t micro_batch) const {
    return stage * micro_batches_ + micro_batch;
  }

  const StageCosts& costs_;
  std::size_t micro_batches_;
  std::vector<Rank> ranks_;
  std::vector<Stage> stages_;
  std::vector<Duration> forward_ends_, input_ends_;
  Duration ends_{0};
};

// Of lists that can run.
Duration length_of(const SplitLists& lists, const StageCosts& costs, Shortest shortest);

std::vector<std::vector<ComputeAction>> compute_actions(const SplitLists& lists);

}  // namespace penstock
