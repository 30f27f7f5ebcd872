// The candidates of one group, schedule by schedule: every bound in the order of its cost before
// what it may spare (docs/search.md, "Bounds"), then cuts, then memory by counts that are too small
// and by exact ones, then prices, and the replay last. Invariant: every candidate is counted once,
// as bounded, rejected or found; what is left out by a bound loses against what was known when the
// group was taken up, or against what the group itself found.
#include "search/group_search.h"

#include <algorithm>
#include <string>
#include <utility>

#include "costmodel/step_prices.h"
#include "costmodel/transfer_prices.h"
#include "search/choose_cuts.h"
#include "search/end_bound.h"
#include "search/evaluation.h"
#include "search/group_arranged.h"
#include "search/group_forms.h"
#include "search/group_work.h"
#include "search/host_room.h"
#include "search/joint_cuts.h"
#include "search/lower_bound.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"

namespace penstock {
namespace {

// Of a book: more than so many chunks are tried only where the bubble that these leave, P - 1 of
// their stages, is more than such a part of the step.
constexpr std::int64_t kFewChunks = 4, kLeastGain = 32;

class GroupSearch {
 public:
  explicit GroupSearch(GroupWork& work) : work_(work), forms_(work), asked_(work.base) {}

  GroupResult run() {
    work_.result.only_leaders_count = work_.group.chunks == ChunkRange::kMore;
    if (!work_.prices.why_not().empty()) {
      work_.result.rejected.add(work_.prices.why_not(), work_.group.candidates, work_.base);
      return std::move(work_.result);
    }
    const auto choices =
        schedule_choices(work_.request, static_cast<int>(work_.inputs.profile->sections.size()),
                         work_.base.pipeline, work_.group.chunks, work_.key.splitting_may_pay);
    for (const ScheduleChoice& choice : choices) {
      if (!left_out_of_book(choice)) try_schedule(choice);
    }
    return std::move(work_.result);
  }

 private:
  // Of many chunks in a book: those whose schedule lost with fewer of them by a bound that is the
  // same for any number, and those that spare too small a bubble.
  bool left_out_of_book(const ScheduleChoice& choice) {
    if (!work_.result.only_leaders_count || work_.request.sizes.size() < 2) return false;
    const auto variants =
        static_cast<std::int64_t>(work_.shardings.size() * work_.placements.size());
    if (choice.kind == lost_) {
      work_.result.bounded += variants;
      return true;
    }
    const std::int64_t micro_batches = first_load(work_.base).micro_batches;
    const bool spares_much = work_.base.pipeline * kLeastGain > kFewChunks * micro_batches;
    if (spares_much && stands_for_neighbours(choice.chunks)) return false;
    asked_.schedule = choice.kind->name;
    asked_.chunks = choice.chunks;
    asked_.stage_map = choice.kind->map;
    work_.result.rejected.add(
        spares_much
            ? "more than 8 stages per rank, in a book: only four numbers per doubling are tried"
            : "more than 4 stages per rank, in a book: the bubble that they spare is too small",
        variants, asked_);
    return true;
  }

  // 5 .. 8, 10, 12, 14, 16, 20, .. : the next one spares at most a fifth of a small bubble more.
  static bool stands_for_neighbours(int chunks) {
    int most = 8;
    while (most < chunks) most *= 2;
    return chunks % (most / 8) == 0;
  }

  void try_schedule(const ScheduleChoice& choice) {
    asked_.schedule = choice.kind->name;
    asked_.chunks = choice.chunks;
    asked_.stage_map = choice.kind->map;
    work_.begin(*choice.kind);
    const auto variants =
        static_cast<std::int64_t>(work_.shardings.size() * work_.placements.size());
    if (const std::string why = why_not(*choice.kind, asked_); !why.empty()) {
      work_.result.rejected.add(why, variants, asked_);
    } else if (loses_before_counts(choice, asked_)) {
      work_.result.bounded += variants;
    } else if (choice.kind->is_costly && is_too_large_for_book()) {
      work_.note_possible();
      work_.result.rejected.add(why_not_worked_out(asked_), variants, asked_);
    } else if (choice.kind->is_costly) {
      work_.note_possible();
      Plan plan = asked_;
      GroupArranged(work_).run(*choice.kind, plan, work_.balanced_cuts_of(plan));
    } else {
      try_static(*choice.kind, asked_);
    }
  }

  // Of an automatic schedule: it alone would take more than all of a book's together.
  [[nodiscard]] bool is_too_large_for_book() const {
    const SearchRequest& request = work_.request;
    if (request.sizes.size() < 2 || !request.bounds || !request.pins.schedules.empty()) {
      return false;
    }
    const std::int64_t size = std::int64_t{asked_.stages()} * first_load(asked_).micro_batches;
    return size > kMostArrangedInBook &&
           work_.incumbents().to_lead(asked_.devices(), request.sizes.size());
  }

  // Empty when it can be searched.
  [[nodiscard]] std::string why_not(const ScheduleKind& kind, const Plan& plan) const {
    if (!why_no_program(plan).empty()) return "schedule rule: " + plan.schedule;
    if (kind.recomputes && !work_.prices.recomputes()) {
      return plan.schedule + " recomputes, but recompute mode '" + plan.recompute +
             "' has nothing to recompute";
    }
    const bool ragged = kind.ragged_groups && first_load(plan).micro_batches % plan.pipeline != 0;
    if (ragged && work_.request.pins.schedules.empty()) {
      return plan.schedule + ": only searched where P divides M";
    }
    if (work_.request.trainer == nullptr) return "";
    const std::string why = why_not_run(*work_.request.trainer, kind, plan);
    return why.empty() ? "" : work_.request.trainer->name + ": " + why;
  }

  // By bounds that need no counts, the cheapest first.
  bool loses_before_counts(const ScheduleChoice& choice, const Plan& plan) {
    if (loses(work_.bounds.before_cuts(plan)) || loses(work_.bounds.with_fill(plan))) {
      lost_ = choice.kind;
      return true;
    }
    if (plan.chunks == 1 &&
        loses(work_.bounds.by_balanced_cuts(plan, work_.balanced_cuts_of(plan)))) {
      return true;
    }
    if (work_.group.chunks == ChunkRange::kMore &&
        loses_as_balanced(choice, plan, work_.balanced_cuts_of(plan))) {
      return true;
    }
    return choice.kind->is_costly && !work_.may_be_worth_arranging(work_.any_cuts);
  }

  // Whether no cuts may matter, since none are faster than this.
  bool loses(Duration bound) {
    work_.any_cuts = std::max(work_.any_cuts, bound);
    return !work_.may_matter(work_.any_cuts, kNoMemory) ||
           (work_.request.bounds && work_.incumbents().is_beyond_limit(work_.any_cuts));
  }

  void try_static(const ScheduleKind& kind, Plan plan) {
    const auto variants =
        static_cast<std::int64_t>(work_.shardings.size() * work_.placements.size());
    const auto over = all_held_over_memory(kind, plan);
    if (over && !work_.division.serves(kind)) {  // it may recompute as needed
      work_.result.rejected.add(*over, variants, plan);
      return;
    }
    PlanCounts counts(plan, &work_.shared.schedules);
    const auto at_least = work_.least_held(plan, counts);
    if (loses(work_.bounds.by_round_trips(plan, *at_least)) || over_what_matters(plan, *at_least)) {
      work_.result.bounded += variants;
      return;
    }
    const std::vector<int>& balanced = work_.balanced_cuts_of(plan);
    work_.over_memory = false;
    for (const ShardingChoice& choice : work_.shardings) {
      set_sharding(choice, plan);
      std::string why = why_no_sharding(kind, plan);
      if (why.empty()) why = why_no_offload(work_.inputs, plan);
      if (!why.empty()) {
        work_.result.rejected.add(why, static_cast<std::int64_t>(work_.placements.size()), plan);
        continue;
      }
      // What gathers section by section may hold more than what does not, in its buffers.
      if (plan.pipeline == 1 && choice.zero1 && choice.group == 0) work_.over_memory = false;
      const Cuts as_balanced = by_balanced(plan, balanced, *at_least);
      if (forms_.try_as_needed(kind, plan, balanced, *at_least, as_balanced, counts)) continue;
      if (!least_may_matter(plan, balanced, *at_least, as_balanced)) continue;
      const auto held = work_.exactly_held(plan, counts);
      const Cuts as_held = by_balanced(plan, balanced, *held);
      if (as_held.why_not && forms_.has_others(kind)) {
        forms_.try_forms(plan, balanced, *held);
        continue;
      }
      if (!cuts_may_matter(plan, balanced, *held, as_held)) continue;
      for (const Placement placement : work_.placements) {
        plan.placement = placement;
        if (!loses_at_its_end(plan, *held)) try_candidate(plan, *held);
      }
    }
  }

  // Before it is priced: by its compute and what its first stage does at the end of the step.
  bool loses_at_its_end(const Plan& plan, const HeldCounts& held) {
    if (!work_.request.bounds || plan.is_mixed()) return false;
    const Duration bound = work_.by_wires(plan, held);
    if (work_.may_matter(bound, least_memory_)) return false;
    work_.add_contender(plan);
    ++work_.result.bounded;
    return true;
  }

  // Of the many with more chunks only those go on that may lead with the cuts that balance their
  // ranks. Others may be faster, but not than what no cuts of them beat.
  bool loses_as_balanced(const ScheduleChoice& choice, Plan plan,
                         const std::vector<int>& balanced) {
    plan.cuts = balanced;
    set_sharding(work_.shardings.front(), plan);
    const auto would_lose = [&](Duration bound) {
      return !work_.may_matter(GroupWork::less_by_cuts(bound), kNoMemory);
    };
    const bool too_slow = would_lose(work_.by_compute(plan));
    PlanCounts counts(plan, &work_.shared.schedules);
    const auto held = work_.least_held(plan, counts);
    const StageMemory memory = work_.memory_of(plan, *held);
    const bool as_needed = work_.division.serves(*choice.kind);
    const auto as_divided = [&] {
      return work_.division.least_with_cuts(plan, memory.capacity(), *held, work_.prices.sums(),
                                            totals_of(memory, plan, plan.cuts));
    };
    if (!too_slow && !(as_needed && would_lose(as_divided()))) return false;
    work_.any_cuts = std::max(work_.any_cuts, work_.bounds.by_round_trips(plan, *held));
    if (as_needed || may_fit(memory, plan)) work_.note_possible();
    return true;
  }

  // Candidates that are too slow to matter but by holding little: whether no cuts hold that little.
  [[nodiscard]] bool over_what_matters(Plan& plan, const HeldCounts& at_least) const {
    if (!work_.request.bounds) return false;
    const Incumbents& incumbents = work_.incumbents();
    const Bytes most = incumbents.most_memory_that_matters(work_.any_cuts, work_.group.devices);
    if (work_.prices.memory().is_one_for_all() && work_.prices.memory()[0] <= most) return false;
    return std::none_of(work_.shardings.begin(), work_.shardings.end(),
                        [&](const ShardingChoice& choice) {
                          set_sharding(choice, plan);
                          return may_fit(work_.memory_of(plan, at_least, most), plan);
                        });
  }

  // Where all micro-batches are held at once, some rank holds at least the mean of them.
  [[nodiscard]] std::optional<Rejection> all_held_over_memory(const ScheduleKind& kind,
                                                              const Plan& plan) const {
    if (!kind.holds_all_micro_batches) return std::nullopt;
    if (plan.is_mixed()) return std::nullopt;
    const Bytes stash{all_activations(first_load(plan)) / plan.pipeline};
    const Bytes over = work_.group.least_memory + stash - work_.prices.memory()[0];
    if (over.count <= 0) return std::nullopt;
    return Rejection{"all micro-batches held at once: the mean rank over memory", 1, over, over,
                     ""};
  }

  // Of all micro-batches of a replica, bytes.
  [[nodiscard]] std::int64_t all_activations(const ReplicaLoad& load) const {
    const std::int64_t full = work_.prices.sums()[0].stash.back();
    const SectionSums* last = work_.short_last.sums;
    const std::int64_t less = last == nullptr ? 0 : full - last->stash.back();
    return full * load.micro_batches - std::max<std::int64_t>(0, less);
  }

  // The same with counts that are too small: whether any cuts may matter. Several stages per rank
  // are not fitted together for that.
  bool least_may_matter(Plan& plan, const std::vector<int>& balanced, const HeldCounts& held,
                        const Cuts& as_balanced) {
    const bool may_need_others = plan.chunks > 1 && !work_.over_memory && as_balanced.why_not;
    if (may_need_others && may_fit(work_.memory_of(plan, held), plan)) return true;
    return cuts_may_matter(plan, balanced, held, as_balanced);
  }

  // The balanced cuts, if every rank then fits.
  [[nodiscard]] Cuts by_balanced(const Plan& plan, const std::vector<int>& balanced,
                                 const HeldCounts& held) const {
    return choose_cuts(work_.prices.sums(), work_.memory_of(plan, held), plan, work_.backward,
                       balanced, true);
  }

  // Chooses the plan's cuts. `as_balanced`: by_balanced() of these counts.
  bool cuts_may_matter(Plan& plan, const std::vector<int>& balanced, const HeldCounts& held,
                       const Cuts& as_balanced) {
    const auto variants = static_cast<std::int64_t>(work_.placements.size());
    const bool needs_others = as_balanced.why_not && !work_.over_memory;
    Cuts cuts = needs_others ? choose_cuts(work_.prices.sums(), work_.memory_of(plan, held), plan,
                                           work_.backward, balanced)
                             : as_balanced;
    plan.cuts = balanced;
    if (cuts.why_not) {
      work_.over_memory = true;
      if (!cuts.none_is_proven) work_.note_possible();
      work_.result.rejected.add(*cuts.why_not, variants, plan);
      return false;
    }
    plan.cuts = std::move(cuts.cuts);
    const GroupWork::Change change = work_.change_for_trainer(plan);
    if (change == GroupWork::Change::kImpossible) {
      work_.result.rejected.add(work_.trainer_why_not, variants, plan);
      return false;
    }
    work_.note_possible();
    const Duration bound =
        compute_bound(work_.prices.sums(), plan, work_.backward, held, work_.inputs.executor);
    least_memory_ = change == GroupWork::Change::kMoved ? kNoMemory : cuts.fullest;
    if (!work_.may_matter(bound, least_memory_)) {
      work_.add_contenders(plan);
      work_.result.bounded += variants;
      return false;
    }
    return true;
  }

  void try_candidate(const Plan& plan, const HeldCounts& held) {
    const StagePricing& pricing = work_.pricing_of(plan);
    auto memory = memory_of_ranks(pricing.prices, held, work_.prices.reserve());
    if (const auto over = work_.over_memory_as_held(plan, pricing.prices, memory)) {
      work_.result.rejected.add(*over, 1, plan);
      return;
    }
    Bytes fullest;
    for (const MemoryUse& use : memory) fullest = std::max(fullest, use.total());
    const Duration bound =
        step_bound(pricing.prices, plan, work_.backward, held, work_.inputs.executor);
    if (!work_.may_matter(bound, fullest)) {
      work_.add_contender(plan);
      ++work_.result.bounded;
      return;
    }
    const auto summary = work_.simulated(plan, pricing, work_.prices.recomputes());
    if (!summary) {
      work_.result.rejected.add(
          "its transfers deadlock under executor model '" + work_.inputs.executor.name + "'", 1,
          plan);
      return;
    }
    work_.add_found({plan, step_time_of(*summary, work_.inputs.executor), fullest});
    work_.add_contender(plan);
  }

  GroupWork& work_;
  GroupForms forms_;
  const ScheduleKind* lost_ = nullptr;  // before its cuts, whatever its chunks
  Bytes least_memory_;                  // of the cuts that were chosen last: on the fullest rank
  Plan asked_;  // the group's, with the schedule at hand: to copy a plan costs more than a bound
};

}  // namespace

std::string why_not_worked_out(const Plan& plan) {
  return "not worked out, since enough others were: name it with --schedule (" + plan.schedule +
         ")";
}

GroupResult search_group(const PlanInputs& inputs, const SearchRequest& request,
                         const SearchSpace& space, const CandidateGroup& group,
                         const KnownPlans& known, SearchShared& shared) {
  GroupWork work(inputs, request, space, group, known, shared);
  return GroupSearch(work).run();
}

}  // namespace penstock
