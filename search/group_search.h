// Works through the candidates of one group: cuts, memory, bounds, replays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/arranged_replay.h"
#include "search/candidates.h"
#include "search/incumbents.h"
#include "search/memo.h"
#include "search/memory.h"
#include "search/mixed_fill.h"
#include "search/plan_program.h"
#include "search/program_cache.h"
#include "search/raised_sums.h"
#include "search/rejections.h"
#include "search/schedule_memo.h"
#include "search/stash_bound.h"
#include "search/whole_sections.h"

namespace penstock {

// What all groups of a search share; filled as they go, safe to use from several threads.
struct SearchShared {
  explicit SearchShared(const ExecutorModel& executor) : programs(executor) {}

  ProgramCache programs;
  ScheduleMemo schedules;
  // (key, samples of the largest micro-batch, P, V, map of stages, backward) -> cuts
  Memo<std::tuple<int, int, int, int, StageMap, BackwardKind>, std::vector<int>> balanced;
  // (runs of ranks, samples of the largest micro-batch, V, map of stages, backward) -> cuts
  Memo<std::tuple<std::vector<RankRun>, int, int, StageMap, BackwardKind>, std::vector<int>>
      mixed_balanced;
  // (index into schedule_kinds(), P, V, group, micro-batches that are counted, those of replicas
  // that take one less)
  using CountsKey = std::tuple<std::ptrdiff_t, int, int, int, int, int>;
  // Most are asked for by every schedule of every group: hashed, not sorted.
  struct CountsHash {
    std::size_t operator()(const CountsKey& key) const {
      return std::apply(
          [](auto... parts) {
            std::size_t hash = 0;
            ((hash = (hash ^ static_cast<std::size_t>(parts)) * 0x9e3779b97f4a7c15u), ...);
            return hash ^ (hash >> 32);
          },
          key);
    }
  };
  using Counts = Memo<CountsKey, HeldCounts,
                      std::unordered_map<CountsKey, std::shared_ptr<const HeldCounts>, CountsHash>>;
  Counts held_at_least, held;
  // (device, P, D, T, C, group of shards, placement, map of stages)
  Memo<std::tuple<int, int, int, int, OtherDegrees, int, Placement, StageMap>, PlanWiring> wirings;
  // Likewise, of the groups that hold the first stage alone.
  Memo<std::tuple<int, int, int, int, OtherDegrees, int, Placement, StageMap>, PlanWiring>
      first_stages;
  // (device types of the ranks, D, T, group of shards, placement, map of stages)
  Memo<std::tuple<std::vector<std::string>, int, int, int, Placement, StageMap>, PlanWiring>
      mixed_wirings;
  // (sections on the types of the plan, one or several; backward)
  Memo<std::pair<std::vector<const SectionSums*>, BackwardKind>, MixedFill> mixed_fills;
  Memo<std::pair<std::vector<const SectionSums*>, BackwardKind>, WholeSections> whole_sections;
  // (key of mode "none", mode, backward)
  Memo<std::tuple<int, std::string, BackwardKind>, StashCurve> stash_curves;
  // (key of mode "none", samples of the largest micro-batch, mode)
  Memo<std::tuple<int, int, std::string>, RaisedSums> raised;
  // device -> recompute modes that the profile has
  Memo<std::string, std::vector<std::string>> recompute_modes;
  // (device, T, C, mode, samples): the short micro-batches
  Memo<std::tuple<int, int, OtherDegrees, std::string, int>, SectionSums> shapes;
};

// A candidate that other cuts could make the fastest of all.
struct Contender {
  Plan plan;             // with the cuts that it was given
  Duration step_time{};  // at least, by what is known of these cuts before they are priced
  Duration bound{};      // no cuts are faster
};

// In a book automatic schedules are worked out for so many stages times micro-batches in all, but
// where nothing else is known to fit.
inline constexpr std::int64_t kMostArrangedInBook = std::int64_t{1} << 13;
// The reason of those that would take more.
std::string why_not_worked_out(const Plan& plan);

// What a search knows when it takes up a group.
struct KnownPlans {
  Incumbents incumbents;
  // So many contenders take no longer that a slower one is not kept: of few chunks, and of more.
  Duration slowest_contender = Duration::max(), slowest_of_more_chunks = Duration::max();
};

struct GroupResult {
  std::vector<Found> found;
  bool only_leaders_count = false;          // of what was found: those with many chunks
  std::vector<ArrangedCandidate> arranged;  // may matter, but are yet to be worked out
  std::vector<Contender> contenders;
  std::size_t too_slow_contenders = 0;        // to be kept: counted instead
  Duration least_possible = Duration::max();  // no candidate that was looked at is faster
  Rejections rejected;
  std::int64_t bounded = 0;  // candidates that were not replayed because their bound loses
};

// `known`: when the group was taken up; its own finds count within it as well.
// `bounds` false replays every candidate that fits.
GroupResult search_group(const PlanInputs& inputs, const SearchRequest& request,
                         const SearchSpace& space, const CandidateGroup& group,
                         const KnownPlans& known, SearchShared& shared);

}  // namespace penstock
