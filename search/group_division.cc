// Bounds come before choices: for each mode that may be mixed in, recompute_savings.h says what it
// can save and costs on these cuts, and only when that can matter are sections chosen
// (recompute_as_needed.h) and their tables merged. Prices of a mode are looked up when the first
// candidate asks and kept for the group.
#include "search/group_division.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/values/recompute_sections.h"
#include "costmodel/price_stages.h"
#include "search/group_search.h"
#include "search/lower_bound.h"
#include "search/recompute_savings.h"

namespace penstock {
namespace {

// As the trainer of the question does.
bool may_divide(const SearchRequest& request, const std::string& mode) {
  const Pins& pins = request.pins;
  if (mode == "none") return false;
  if (pins.recompute && (!pins.recompute_as_needed || mode != *pins.recompute)) return false;
  if (request.trainer == nullptr) return true;
  const DividedRecompute divided = request.trainer->divided_recompute;
  return divided == DividedRecompute::kPerStage ||
         (divided == DividedRecompute::kOneNumber && mode == "full");
}

// On any of the plan's types.
double least_ns_per_byte_of(const Plan& plan, const RankSums& kept, const RankSums& again,
                            BackwardKind backward) {
  double least = least_ns_per_byte(kept[0], again[0], backward);
  for (int rank = 1; rank < plan.pipeline && plan.is_mixed(); ++rank) {
    const bool is_known = &kept[rank] == &kept[rank - 1] && &again[rank] == &again[rank - 1];
    if (!is_known) least = std::min(least, least_ns_per_byte(kept[rank], again[rank], backward));
  }
  return least;
}

}  // namespace

RecomputeRule recompute_rule(const SearchRequest& request) {
  const bool one_number = request.trainer != nullptr &&
                          request.trainer->divided_recompute == DividedRecompute::kOneNumber;
  return one_number ? RecomputeRule::kOneNumber : RecomputeRule::kPerStage;
}

std::vector<std::string> modes_to_divide(const PlanInputs& inputs, const SearchRequest& request,
                                         const std::string& device) {
  std::vector<std::string> modes = measured_recompute_modes(*inputs.profile, device);
  std::erase_if(modes, [&](const std::string& mode) { return !may_divide(request, mode); });
  return modes;
}

GroupDivision::GroupDivision(const PlanInputs& inputs, const SearchRequest& request,
                             const SearchSpace& space, const CandidateGroup& group,
                             const Plan& base, SearchShared& shared)
    : inputs_(inputs),
      space_(space),
      group_(group),
      base_(base),
      shared_(shared),
      rule_(recompute_rule(request)) {
  if (base.recompute != "none") return;
  const auto measured = shared.recompute_modes.get(
      base.device, [&] { return measured_recompute_modes(*inputs.profile, base.device); });
  for (const std::string& mode : *measured) {
    if (may_divide(request, mode)) modes_.push_back({mode});
  }
}

const GroupPrices& GroupDivision::prices_of(Mode& mode) {
  if (!mode.prices) {
    Plan plan = base_;
    plan.recompute = mode.name;
    mode.prices = std::make_unique<GroupPrices>(inputs_, space_, group_, plan, shared_);
  }
  return *mode.prices;
}

GroupDivision::Mode& GroupDivision::mode_of(const std::string& name) {
  return *std::find_if(modes_.begin(), modes_.end(),
                       [&](const Mode& one) { return one.name == name; });
}

// `kept` is the same for all of a group.
RecomputeSums GroupDivision::sums_of(Mode& mode, const RankSums& kept) {
  if (!mode.raised) {
    const GroupPrices& prices = prices_of(mode);
    const auto raised = [&] { return RaisedSums(*inputs_.profile, base_, prices.sums(), kept); };
    // Of the mode the sums are those of SearchShared, which stay as long as what refers to them.
    mode.raised =
        group_.mixed.empty()
            ? shared_.raised.get({group_.key, prices.samples().front(), mode.name}, raised)
            : std::make_shared<const RaisedSums>(raised());
  }
  return {kept, mode.raised->sums()};
}

std::vector<GroupDivision::Divided> GroupDivision::divided(
    const Plan& plan, const StageMemory& memory, const HeldCounts& held, const RankSums& kept,
    const std::vector<int>& balanced, std::span<const Bytes> as_balanced) {
  std::vector<Divided> plans;
  const BackwardKind backward = find_schedule(plan.schedule)->backward;
  // With one stage per rank they get cuts of their own.
  const auto of_kept = plan.chunks > 1 ? as_balanced : std::span<const Bytes>{};
  for (Mode& mode : modes_) {
    const GroupPrices& prices = prices_of(mode);
    if (!prices.why_not().empty()) continue;
    const RecomputeSums sums = sums_of(mode, kept);
    const RecomputeAsNeeded as_needed(sums, memory, held, plan, backward, rule_);
    Plan other = plan;
    other.cuts = balanced;
    if (plan.chunks == 1 && rule_ == RecomputeRule::kPerStage) {
      if (auto cuts = as_needed.balanced_cuts(balanced)) other.cuts = std::move(*cuts);
    }
    auto sections = as_needed.sections(other.cuts, of_kept);
    if (!sections) continue;
    const auto fullest = as_needed.fullest(other.cuts, *sections);
    other.recompute = mode.name;
    set_recompute_sections(other, std::move(*sections));
    const Duration bound = compute_bound(sums, other, backward, held, inputs_.executor);
    plans.push_back({std::move(other), bound, fullest.now, fullest.with_one_more});
  }
  return plans;
}

bool GroupDivision::can_be_divided(const Plan& plan, const StageMemory& memory,
                                   const HeldCounts& held, const RankSums& kept,
                                   const std::vector<int>& balanced,
                                   std::span<const Bytes> as_balanced) {
  const BackwardKind backward = find_schedule(plan.schedule)->backward;
  return std::any_of(modes_.begin(), modes_.end(), [&](Mode& mode) {
    const GroupPrices& prices = prices_of(mode);
    if (!prices.why_not().empty()) return false;
    const RecomputeSums sums = sums_of(mode, kept);
    return RecomputeAsNeeded(sums, memory, held, plan, backward, rule_)
        .fits_somehow(balanced, as_balanced);
  });
}

GroupDivision::Within GroupDivision::divided_within(const Plan& plan, const StageMemory& memory,
                                                    const HeldCounts& held, const RankSums& kept,
                                                    const std::vector<int>& balanced,
                                                    Duration slowest) {
  if (rule_ != RecomputeRule::kPerStage) return Within::kMaybe;
  const BackwardKind backward = find_schedule(plan.schedule)->backward;
  Within within = Within::kNoneFits;
  for (Mode& mode : modes_) {
    const GroupPrices& prices = prices_of(mode);
    if (!prices.why_not().empty()) continue;
    const RecomputeSums sums = sums_of(mode, kept);
    const RecomputeAsNeeded as_needed(sums, memory, held, plan, backward, rule_);
    const auto of_mode = as_needed.balanced_within(slowest);
    if (of_mode == RecomputeAsNeeded::Within::kYes) return Within::kMaybe;
    if (of_mode == RecomputeAsNeeded::Within::kNo) within = Within::kAllAreSlower;
    // Where a stage gets smaller as it grows, cuts may fit that were not found.
    if (of_mode == RecomputeAsNeeded::Within::kNoneFit && as_needed.fits_somehow(balanced)) {
      return Within::kMaybe;
    }
  }
  return within;
}

Duration GroupDivision::bound_of(const Plan& plan, const RankSums& kept, const HeldCounts& held,
                                 const WiredTimes& wired) {
  const BackwardKind backward = find_schedule(plan.schedule)->backward;
  if (plan.recompute == "none") {
    return end_bound(kept, plan, backward, held, inputs_.executor, wired);
  }
  const RecomputeSums sums = sums_of(mode_of(plan.recompute), kept);
  return end_bound(sums, plan, backward, held, inputs_.executor, wired);
}

std::optional<Duration> GroupDivision::least(const SectionSums& kept, BackwardKind backward,
                                             const StashRoom& room) {
  std::optional<Duration> least;
  for (Mode& mode : modes_) {
    const GroupPrices& prices = prices_of(mode);
    if (!prices.why_not().empty()) continue;
    auto& curve = mode.stash_curves[static_cast<std::size_t>(backward)];
    if (!curve) {
      curve = shared_.stash_curves.get({group_.key, mode.name, backward}, [&] {
        return StashCurve(kept, prices.sums()[0], backward);
      });
    }
    const Duration bound = curve->least(room);
    least = std::min(least.value_or(bound), bound);
  }
  return least;
}

// By the busiest rank behind the fill before it, if it recomputes what has no room.
Duration GroupDivision::least_with_cuts(const Plan& plan, const PerRank<Bytes>& capacity,
                                        const HeldCounts& held, const RankSums& kept,
                                        std::span<const Bytes> totals) {
  const BackwardKind backward = find_schedule(plan.schedule)->backward;
  const std::int64_t full = first_load(plan).full;
  const bool fills =
      inputs_.executor.optimizer == OptimizerGate::kGlobalBarrier && plan.copies() == 1;
  Duration least = Duration::max();
  for (Mode& mode : modes_) {
    const GroupPrices& prices = prices_of(mode);
    if (!prices.why_not().empty()) continue;
    auto& ns_per_byte = mode.ns_per_byte[static_cast<std::size_t>(backward)];
    if (!ns_per_byte) ns_per_byte = least_ns_per_byte_of(plan, kept, prices.sums(), backward);
    const RecomputeSavings savings(kept, prices.sums(), held, plan, backward, *ns_per_byte);
    std::int64_t longest = 0;
    std::int64_t fill = 0;
    for (std::size_t rank = 0; rank < held.ranks(); ++rank) {
      const Bytes over = totals[rank] - capacity[static_cast<int>(rank)];
      const auto longer = savings.least_ns(rank, over.count);
      if (!longer) {
        longest = Duration::max().count();
        break;
      }
      longest = std::max(longest, fill + full * (savings.work(rank) + *longer));
      if (fills) fill += savings.fill(rank);
    }
    least = std::min(least, Duration{longest});
  }
  return least;
}

DividedTables GroupDivision::tables_of(const Plan& plan, const RankTables& kept) {
  return {prices_of(mode_of(plan.recompute)).tables(), kept, plan};
}

}  // namespace penstock
