// What the simulator and the cost model say about one Plan, and what a search returns. Reasons are
// data; report/ turns them into words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/plan.h"
#include "core/values/units.h"

namespace penstock {

// Memory of one rank (one device), by category. docs/cost_model.md says how each is counted.
struct MemoryUse {
  Bytes parameters, gradients, optimizer_state;
  Bytes stash;          // at the position of the rank's list where it is largest
  Bytes working_peak;   // largest of its stages
  Bytes communication;  // receive and send buffers
  Bytes reserve;        // context, allocator, collectives' buffers
  [[nodiscard]] Bytes total() const {
    return parameters + gradients + optimizer_state + stash + working_peak + communication +
           reserve;
  }
  bool operator==(const MemoryUse&) const = default;
};

// Idle time of one rank up to the end of the step, by what the rank was waiting for. The parts and
// `busy` sum to the makespan exactly.
struct RankTime {
  Duration busy{};
  Duration warm_up{};    // before its first backward, waiting for compute elsewhere
  Duration drain{};      // after its last forward, likewise
  Duration imbalance{};  // in between, while a rank with more work computes
  Duration order{};      // in between, while a rank with no more work than this one computes
  Duration transfer{};   // any time, while what it waits for is on a link
  Duration barrier{};    // reductions, norm, optimizer of others: from its last backward on
  bool operator==(const RankTime&) const = default;
};

struct RankEvaluation {
  MemoryUse memory;
  Bytes capacity;
  RankTime time;
  bool operator==(const RankEvaluation&) const = default;
};

// Something a prediction rests on that was not measured, in words, and the part of the busiest
// rank's compute time that it touches (0..1).
struct Assumption {
  std::string text;
  double share = 0.0;
  bool operator==(const Assumption&) const = default;
};

struct Evaluation {
  Duration step_time{};      // what is ranked: makespan, or longest span under post-validation
  Duration step_time_low{};  // interval, see docs/cost_model.md
  Duration step_time_high{};
  Duration makespan{};                // last end - first start over all ranks
  Duration longest_span{};            // largest (last end - first start) of one rank
  Duration ideal{};                   // busy time of the busiest rank
  std::vector<RankEvaluation> ranks;  // of the first pipeline; the plan's listed ranks
  double usd_per_step = 0.0;          // 0 when the device has no price
  std::vector<Assumption> assumptions;
  bool operator==(const Evaluation&) const = default;

  [[nodiscard]] Bytes peak_memory() const;  // largest total over the ranks
};

struct RankedPlan {
  Plan plan;
  Evaluation evaluation;
  bool tied_with_best = false;  // the difference is within `against_best`
  bool on_pareto_front = false;
  std::string placed;  // one line: where the stages sit
  // Of the ratio of its step time to the best plan's, relative: nine of ten measured ratios lie
  // within. 0 for the best plan itself. What the two share cancels.
  double against_best = 0.0;
};

// Why candidates were left out, counted.
struct Rejection {
  std::string reason;  // "stage 0 over memory", "no measurement for tensor degree 8 ..."
  std::int64_t candidates = 0;
  // For memory: by how many bytes the candidates missed, least and most.
  std::optional<Bytes> least_over, most_over;
  std::string remedy;  // smallest change that would fit; may be empty
};

struct SearchResult {
  std::vector<RankedPlan> best;    // ascending step time, ties by candidate order
  std::vector<RankedPlan> pareto;  // step time, memory, price: no entry beats another in all three
  // Of SearchRequest::sizes, one each: the fastest plan on at most so many GPUs.
  std::vector<std::optional<RankedPlan>> fastest_within;
  std::vector<Rejection> rejected;  // candidates that cannot run, most frequent first
  std::int64_t candidates = 0;      // in the space
  std::int64_t evaluated = 0;       // replayed
  std::int64_t bounded = 0;         // not replayed: their lower bound already loses
  bool complete = true;             // false when a budget or a signal ended the search
  // No plan of the space takes less, whatever its cuts and whatever the order of an automatic
  // schedule; zero when that is not known.
  Duration least_possible{};
  std::vector<std::string> not_searched;
  std::optional<Rejection> nearest_miss;  // when nothing fits: what came closest
};

}  // namespace penstock
