// Recompute as needed among the candidates of a group of mode "none": what does not fit as it is
// may recompute in some sections of each stage (docs/search.md, "Recompute per stage").
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/values/plan.h"
#include "costmodel/step_prices.h"
#include "search/best_plans.h"
#include "search/candidates.h"
#include "search/divided_tables.h"
#include "search/end_bound.h"
#include "search/evaluate.h"
#include "search/group_prices.h"
#include "search/memory.h"
#include "search/raised_sums.h"
#include "search/recompute_as_needed.h"
#include "search/stash_bound.h"

namespace penstock {

struct SearchShared;

// What the trainer of the question can carry out.
RecomputeRule recompute_rule(const SearchRequest& request);

// The measured modes that plans of mode "none" may use in some of their sections.
std::vector<std::string> modes_to_divide(const PlanInputs& inputs, const SearchRequest& request,
                                         const std::string& device);

class GroupDivision {
 public:
  // Keeps all of them by reference. `base`: the plan that the group stands for.
  GroupDivision(const PlanInputs& inputs, const SearchRequest& request, const SearchSpace& space,
                const CandidateGroup& group, const Plan& base, SearchShared& shared);

  [[nodiscard]] bool serves(const ScheduleKind& kind) const {
    return !modes_.empty() && can_divide_recompute(kind);
  }

  struct Divided {
    Plan plan;         // fits; may use the mode in no section, or in all
    Duration bound{};  // by compute: with these cuts and what it holds it is no faster
    Bytes memory;      // of its fullest rank
    // At least, if what it holds was counted too low, so that ranks must recompute one section
    // more.
    Bytes least_memory;
  };
  // A plan of mode "none" for each of the modes: with cuts that suit, and as few sections that use
  // it as its memory asks for. `memory` and `kept` are those of mode "none", and so is what every
  // rank holds under the balanced cuts.
  std::vector<Divided> divided(const Plan& plan, const StageMemory& memory, const HeldCounts& held,
                               const RankSums& kept, const std::vector<int>& balanced,
                               std::span<const Bytes> as_balanced);
  // Whether divided() finds one, for plans of several stages per rank.
  bool can_be_divided(const Plan& plan, const StageMemory& memory, const HeldCounts& held,
                      const RankSums& kept, const std::vector<int>& balanced,
                      std::span<const Bytes> as_balanced);
  // Of one stage per rank: whether divided() finds any whose slowest stage takes no longer than
  // this for a micro-batch, only slower ones, or none.
  enum class Within { kNoneFits, kAllAreSlower, kMaybe };
  Within divided_within(const Plan& plan, const StageMemory& memory, const HeldCounts& held,
                        const RankSums& kept, const std::vector<int>& balanced, Duration slowest);
  // What such a plan takes at least by compute and what is known of its wires; `held` may be empty.
  Duration bound_of(const Plan& plan, const RankSums& kept, const HeldCounts& held,
                    const WiredTimes& wired = {});
  // No such plan is faster, whatever its cuts; nothing when no mode has prices.
  std::optional<Duration> least(const SectionSums& kept, BackwardKind backward,
                                const StashRoom& room);
  // No such plan is faster with the plan's cuts, under which every rank holds so much when nothing
  // recomputes. Much cheaper than divided().
  Duration least_with_cuts(const Plan& plan, const PerRank<Bytes>& capacity, const HeldCounts& held,
                           const RankSums& kept, std::span<const Bytes> totals);
  // What such a plan costs, of mode "none" from `kept`.
  DividedTables tables_of(const Plan& plan, const RankTables& kept);

 private:
  struct Mode {
    std::string name;
    std::unique_ptr<GroupPrices> prices{};       // made when they are first asked for
    std::shared_ptr<const RaisedSums> raised{};  // likewise
    // By kind of backward: least_ns_per_byte().
    std::array<std::optional<double>, static_cast<std::size_t>(BackwardKind::kMixed) + 1>
        ns_per_byte{};
    // Likewise, of the group's sums: SearchShared has them by a key that takes longer to compare.
    std::array<std::shared_ptr<const StashCurve>,
               static_cast<std::size_t>(BackwardKind::kMixed) + 1>
        stash_curves{};
  };
  const GroupPrices& prices_of(Mode& mode);
  Mode& mode_of(const std::string& name);
  RecomputeSums sums_of(Mode& mode, const RankSums& kept);

  const PlanInputs& inputs_;
  const SearchSpace& space_;
  const CandidateGroup& group_;
  const Plan& base_;
  SearchShared& shared_;
  RecomputeRule rule_;
  std::vector<Mode> modes_;
};

}  // namespace penstock
