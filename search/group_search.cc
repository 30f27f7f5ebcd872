#include "search/group_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "core/values/recompute_sections.h"
#include "core/values/rule_facts.h"
#include "costmodel/price_stages.h"
#include "search/arrange.h"
#include "search/arrange_within.h"
#include "search/choose_cuts.h"
#include "search/evaluation.h"
#include "search/group_bounds.h"
#include "search/group_division.h"
#include "search/group_prices.h"
#include "search/joint_cuts.h"
#include "search/lower_bound.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "search/trainer_plans.h"
#include "simulator/replay.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr Bytes kNoMemory{};
// What other cuts than the balanced ones gain at most, as a divisor of the step.
constexpr int kGainOfCuts = 64;

class GroupSearch {
 public:
  GroupSearch(const PlanInputs& inputs, const SearchRequest& request, const SearchSpace& space,
              const CandidateGroup& group, const Incumbents& known, SearchShared& shared)
      : inputs_(inputs),
        request_(request),
        space_(space),
        group_(group),
        key_(space.keys[static_cast<std::size_t>(group.key)]),
        known_(known),
        shared_(shared),
        base_(plan_of(space, request, group)),
        prices_(inputs, space, group, base_, shared),
        division_(inputs, request, space, group, base_, shared),
        bounds_(inputs.executor, group, prices_, division_,
                [this]() -> const GroupPrices& { return prices_of_kept(); }),
        ties_(*inputs.profile, key_.tensor),
        zero1_(zero1_choices(request, group.data)),
        placements_(placement_choices(request, group.pipeline, group.data)) {}

  GroupResult run() {
    result_.only_leaders_count = group_.chunks == ChunkRange::kMore;
    if (!prices_.why_not().empty()) {
      result_.rejected.add(prices_.why_not(), group_.candidates, base_);
      return std::move(result_);
    }
    const auto choices =
        schedule_choices(request_, static_cast<int>(inputs_.profile->sections.size()),
                         base_.pipeline, group_.chunks, key_.splitting_may_pay);
    for (const ScheduleChoice& choice : choices) try_schedule(choice);
    return std::move(result_);
  }

 private:
  void try_schedule(const ScheduleChoice& choice) {
    Plan plan = base_;
    plan.schedule = choice.kind->name;
    plan.chunks = choice.chunks;
    plan.stage_map = choice.kind->map;
    backward_ = choice.kind->backward;
    schedules_.reset();
    const auto variants = static_cast<std::int64_t>(zero1_.size() * placements_.size());
    if (!why_no_program(plan).empty()) {
      result_.rejected.add("schedule rule: " + plan.schedule, variants, plan);
      return;
    }
    if (choice.kind->recomputes && !prices_.recomputes()) {
      result_.rejected.add(plan.schedule + " recomputes, but recompute mode '" + plan.recompute +
                               "' has nothing to recompute",
                           variants, plan);
      return;
    }
    const bool ragged =
        choice.kind->ragged_groups && first_load(plan).micro_batches % plan.pipeline != 0;
    if (ragged && request_.pins.schedules.empty()) {
      result_.rejected.add(plan.schedule + ": only searched where P divides M", variants, plan);
      return;
    }
    if (request_.trainer != nullptr) {
      if (const auto why = why_not_run(*request_.trainer, *choice.kind, plan); !why.empty()) {
        result_.rejected.add(request_.trainer->name + ": " + why, variants, plan);
        return;
      }
    }
    any_cuts_ = bounds_.before_cuts(plan);
    if (!may_matter(any_cuts_, kNoMemory)) {
      result_.bounded += variants;
      return;
    }
    any_cuts_ = std::max(any_cuts_, bounds_.with_fill(plan));
    if (!may_matter(any_cuts_, kNoMemory)) {
      result_.bounded += variants;
      return;
    }
    const std::vector<int>& balanced = balanced_cuts_of(plan);
    any_cuts_ = std::max(any_cuts_, bounds_.by_balanced_cuts(plan, balanced));
    if (!may_matter(any_cuts_, kNoMemory)) {
      result_.bounded += variants;
      return;
    }
    if (group_.chunks == ChunkRange::kMore && loses_as_balanced(choice, plan, balanced)) {
      result_.bounded += variants;
      return;
    }
    if (choice.kind->is_costly) {
      if (!may_be_worth_arranging(any_cuts_)) {
        result_.bounded += variants;
        return;
      }
      note_possible();
      try_arranged(*choice.kind, plan, balanced);
      return;
    }
    const auto over = all_held_over_memory(*choice.kind, plan);
    if (over && !division_.serves(*choice.kind)) {  // it may recompute as needed
      result_.rejected.add(*over, variants, plan);
      return;
    }
    const SearchShared::CountsKey key = counts_key(*choice.kind, plan);
    PlanCounts counts(plan);
    const auto at_least = shared_.held_at_least.get(key, [&] { return counts.least(); });
    any_cuts_ = std::max(any_cuts_, bounds_.by_round_trips(plan, *at_least));
    if (!may_matter(any_cuts_, kNoMemory)) {
      result_.bounded += variants;
      return;
    }
    if (over_what_matters(plan, *at_least)) {
      result_.bounded += variants;
      return;
    }
    over_memory_ = false;
    for (const bool zero1 : zero1_) {
      plan.zero1 = zero1;
      if (try_as_needed(*choice.kind, plan, balanced, *at_least, counts)) continue;
      if (!least_may_matter(plan, balanced, *at_least)) continue;
      const auto held = shared_.held.get(key, [&] { return counts.exact(); });
      if (does_not_fit(*choice.kind, plan, balanced, *held)) {
        try_forms(plan, balanced, *held);
        continue;
      }
      if (!cuts_may_matter(plan, balanced, *held)) continue;
      for (const Placement placement : placements_) {
        plan.placement = placement;
        try_candidate(plan, *held);
      }
    }
  }

  // Of the many with more chunks only those go on that may lead with the cuts that balance their
  // ranks. Others may be faster, but not than what no cuts of them beat.
  bool loses_as_balanced(const ScheduleChoice& choice, Plan plan,
                         const std::vector<int>& balanced) {
    plan.cuts = balanced;
    plan.zero1 = zero1_.front();
    const auto loses = [&](Duration bound) { return !may_matter(less_by_cuts(bound), kNoMemory); };
    const bool too_slow = loses(by_compute(plan));
    const auto held = shared_.held_at_least.get(counts_key(*choice.kind, plan),
                                                [&] { return least_held_of(plan); });
    const StageMemory memory = memory_of(plan, *held);
    const bool as_needed = division_.serves(*choice.kind);
    if (!too_slow &&
        !(as_needed && loses(division_.least_with_cuts(plan, memory, *held, prices_.sums()))))
      return false;
    any_cuts_ = std::max(any_cuts_, bounds_.by_round_trips(plan, *held));
    if (as_needed || may_fit(memory, plan)) note_possible();
    return true;
  }

  static Duration less_by_cuts(Duration bound) { return bound - bound / kGainOfCuts; }

  // A candidate that does not fit as it is cut best: with other cuts, or with as much recompute as
  // its memory asks for, whichever is faster. False when it may fit (by counts that are too small),
  // or has no such choice.
  bool try_as_needed(const ScheduleKind& kind, const Plan& plan, const std::vector<int>& balanced,
                     const HeldCounts& at_least, PlanCounts& counts) {
    if (over_memory_ || !division_.serves(kind)) return false;
    const StageMemory memory = memory_of(plan, at_least);
    const Cuts cuts = choose_cuts(prices_.sums(), memory, plan, backward_, balanced, true);
    if (!cuts.why_not) return false;
    if (const auto fits = fits_but_is_too_slow(plan, memory, at_least, balanced)) {
      if (*fits) {
        note_possible();
        result_.bounded += static_cast<std::int64_t>(placements_.size());
      } else {
        reject_over_memory(plan, balanced, *cuts.why_not);
      }
      return true;
    }
    const auto forms = division_.divided(plan, memory, at_least, prices_.sums(), balanced);
    // With one stage per rank a form has the best cuts for mode "none", too.
    const bool keeps_all = (plan.chunks > 1 || forms.empty()) && may_fit(memory, plan);
    if (forms.empty() && !keeps_all) {
      reject_over_memory(plan, balanced, *cuts.why_not);
      return true;
    }
    const bool matters = std::any_of(forms.begin(), forms.end(), [&](const auto& form) {
      return may_matter(form.bound, form.least_memory);
    });
    if (keeps_all || matters) {
      const auto exact = shared_.held.get(counts_key(kind, plan), [&] { return counts.exact(); });
      try_forms(plan, balanced, *exact);
      return true;
    }
    note_possible();
    const auto best = std::min_element(
        forms.begin(), forms.end(), [](const auto& a, const auto& b) { return a.bound < b.bound; });
    for (const Placement placement : placements_) {
      Contender contender{best->plan, by_compute_of_form(best->plan), any_cuts_};
      contender.plan.placement = placement;
      add_contender(std::move(contender));
    }
    result_.bounded += static_cast<std::int64_t>(placements_.size());
    return true;
  }

  // Whether it can be divided to fit, where that can be told to be too slow without dividing it.
  [[nodiscard]] std::optional<bool> fits_but_is_too_slow(Plan plan, const StageMemory& memory,
                                                         const HeldCounts& at_least,
                                                         const std::vector<int>& balanced) {
    if (!request_.bounds || may_lead(any_cuts_)) return std::nullopt;
    if (plan.chunks == 1) {
      const bool too_slow = slowest_stages_lose(plan, memory, at_least);
      return too_slow ? std::optional(true) : std::nullopt;
    }
    // Several stages per rank keep their balanced cuts, and take longer the more they recompute.
    plan.cuts = balanced;
    const Duration least =
        compute_bound(prices_.sums(), plan, backward_, at_least, inputs_.executor);
    if (may_matter(least, kNoMemory) || may_fit(memory, plan)) return std::nullopt;
    return division_.can_be_divided(plan, memory, at_least, prices_.sums(), balanced);
  }

  [[nodiscard]] bool slowest_stages_lose(const Plan& plan, const StageMemory& memory,
                                         const HeldCounts& at_least) {
    const Incumbents& incumbents = own_ ? *own_ : known_;
    const auto slowest = incumbents.slowest_that_matters(group_.devices, group_.least_memory);
    const int full = first_load(plan).full;
    return slowest && full > 0 &&
           division_.all_are_slower(plan, memory, at_least, prices_.sums(), *slowest / full);
  }

  struct PricedForm {
    StagePricing pricing;
    bool recomputes = false;
  };
  [[nodiscard]] PricedForm priced(const Plan& plan) {
    std::optional<DividedTables> divided;
    if (recompute_is_divided(plan)) divided = division_.tables_of(plan, prices_.tables());
    const RankTables& tables = divided ? divided->tables() : prices_.tables();
    return {price_stages(*inputs_.profile, *wiring_of(plan), plan, tables,
                         backward_ != BackwardKind::kFused),
            divided ? divided->recomputes() : prices_.recomputes()};
  }

  // By exact counts, though it may by those that are too small.
  [[nodiscard]] bool does_not_fit(const ScheduleKind& kind, const Plan& plan,
                                  const std::vector<int>& balanced, const HeldCounts& held) const {
    if (over_memory_ || !division_.serves(kind)) return false;
    return choose_cuts(prices_.sums(), memory_of(plan, held), plan, backward_, balanced, true)
        .why_not.has_value();
  }

  void try_forms(Plan plan, const std::vector<int>& balanced, const HeldCounts& held) {
    const StageMemory memory = memory_of(plan, held);
    std::vector<GroupDivision::Divided> forms;
    for (auto& form : division_.divided(plan, memory, held, prices_.sums(), balanced)) {
      // In all sections it is a candidate of its own.
      if (form.plan.recompute == "none" || recompute_is_divided(form.plan)) {
        forms.push_back(std::move(form));
      }
    }
    Cuts cuts = choose_cuts(prices_.sums(), memory, plan, backward_, balanced);
    if (!cuts.why_not) {
      plan.cuts = std::move(cuts.cuts);
      const Duration bound = division_.bound_of(plan, prices_.sums(), held);
      forms.push_back({plan, bound, cuts.fullest, cuts.fullest});
    }
    const bool fit = !forms.empty();
    change_for_trainer(forms, held);
    if (fit && forms.empty()) {
      result_.rejected.add(trainer_why_not_, static_cast<std::int64_t>(placements_.size()), plan);
      return;
    }
    if (forms.empty()) {
      if (!cuts.none_is_proven) note_possible();
      reject_over_memory(plan, balanced, *cuts.why_not);
      return;
    }
    note_possible();
    for (const Placement placement : placements_) {
      for (GroupDivision::Divided& form : forms) form.plan.placement = placement;
      try_one_of(forms, held);
    }
  }

  void reject_over_memory(Plan plan, const std::vector<int>& balanced, const Rejection& why) {
    over_memory_ = true;
    plan.cuts = balanced;
    result_.rejected.add(why, static_cast<std::int64_t>(placements_.size()), plan);
  }

  // Of several forms of one candidate the fastest counts.
  void try_one_of(const std::vector<GroupDivision::Divided>& forms, const HeldCounts& held) {
    std::optional<Found> best;
    std::optional<Contender> contender;
    std::optional<Rejection> over;
    const auto may_be_cut_better = [&](const Plan& plan) {
      const Duration least = by_compute_of_form(plan);
      if (!contender || least < contender->step_time) contender = Contender{plan, least, any_cuts_};
    };
    for (const GroupDivision::Divided& form : forms) {
      const Plan& plan = form.plan;
      if (!may_matter(form.bound, form.memory)) {
        may_be_cut_better(plan);
        continue;
      }
      const auto [pricing, recomputes] = priced(plan);
      const auto memory = memory_of_ranks(pricing.prices, held, prices_.reserve());
      over = over_memory(memory, plan, prices_.memory());
      if (over) continue;
      may_be_cut_better(plan);
      Bytes fullest;
      for (const MemoryUse& use : memory) fullest = std::max(fullest, use.total());
      const Duration bound = step_bound(pricing.prices, plan, backward_, held, inputs_.executor);
      if (!may_matter(bound, fullest) || (best && bound > best->step_time)) continue;
      const auto summary = simulated(plan, pricing, recomputes);
      if (!summary) continue;
      Found found{plan, step_time_of(*summary, inputs_.executor), fullest};
      if (!best || comes_before(found, *best)) best = std::move(found);
    }
    if (best) {
      add_found(*best);
    } else if (contender) {
      ++result_.bounded;
    } else {
      result_.rejected.add(*over, 1, forms.back().plan);
    }
    if (contender) add_contender(std::move(*contender));
  }

  // Candidates that are too slow to matter but by holding little: whether no cuts hold that little.
  [[nodiscard]] bool over_what_matters(Plan& plan, const HeldCounts& at_least) const {
    if (!request_.bounds) return false;
    const Incumbents& incumbents = own_ ? *own_ : known_;
    const Bytes most = incumbents.most_memory_that_matters(any_cuts_, group_.devices);
    if (prices_.memory().is_one_for_all() && prices_.memory()[0] <= most) return false;
    plan.zero1 = zero1_.front();  // holds less, if it is among the choices
    return !may_fit(memory_of(plan, at_least, most), plan);
  }

  static SearchShared::CountsKey counts_key(const ScheduleKind& kind, const Plan& plan) {
    return {&kind - schedule_kinds().data(), plan.pipeline, plan.chunks, plan.group,
            counted_micro_batches(plan)};
  }

  [[nodiscard]] std::shared_ptr<const HeldCounts> held_of(const SearchShared::CountsKey& key,
                                                          const Plan& plan) const {
    return shared_.held.get(key, [&] { return HeldCounts(liveness_of(plan, Peaks::kFullest)); });
  }

  // Schedules that are worked out for one plan: cut by what a static one of the same placement
  // holds, then bounded by what any order within the memory takes.
  void try_arranged(const ScheduleKind& kind, Plan& plan, const std::vector<int>& balanced) {
    const Plan stand_in = with_stand_in(plan);
    const SearchShared::CountsKey key = counts_key(*find_schedule(stand_in.schedule), stand_in);
    // A run-time rule's own replay judges what it holds; its stand-in tells which cuts to take.
    const auto held = kind.rule != RunTimeRule::kNone
                          ? held_of(key, stand_in)
                          : shared_.held_at_least.get(key, [&] { return least_held_of(stand_in); });
    RankSums sums = prices_.sums();
    std::vector<int> best = balanced;
    if (facts_of(kind.rule).last_rank_keeps) {
      const GroupPrices& kept = prices_of_kept();
      if (!kept.why_not().empty()) {
        result_.rejected.add(kept.why_not(),
                             static_cast<std::int64_t>(zero1_.size() * placements_.size()), plan);
        return;
      }
      sums = last_rank_keeps(sums, kept.sums(), plan.pipeline);
      best = balanced_cuts(sums, plan, backward_).value_or(balanced);
    }
    for (const bool zero1 : zero1_) {
      plan.zero1 = zero1;
      Cuts cuts = choose_cuts(sums, memory_of(sums, plan, *held), plan, backward_, best);
      plan.cuts = best;
      if (!cuts.cuts.empty()) plan.cuts = std::move(cuts.cuts);
      if (change_for_trainer(plan) == Change::kImpossible) {
        result_.rejected.add(trainer_why_not_, static_cast<std::int64_t>(placements_.size()), plan);
        continue;
      }
      const Duration by_compute =
          compute_bound(sums, plan, backward_, HeldCounts{}, inputs_.executor);
      const bool loses =
          !facts_of(kind.rule).recomputes_early && !may_be_worth_arranging(by_compute);
      for (const Placement placement : placements_) {
        plan.placement = placement;
        if (may_be_worth_arranging(any_cuts_)) {
          add_contender(Contender{plan, by_compute, any_cuts_});
        }
        if (loses) {
          ++result_.bounded;
        } else {
          try_arranged_candidate(kind, plan);
        }
      }
    }
  }

  // Of mode "none", for ranks that recompute nothing.
  const GroupPrices& prices_of_kept() {
    if (!kept_prices_) {
      kept_prices_ =
          std::make_unique<GroupPrices>(inputs_, space_, group_, keeping(base_), shared_);
    }
    return *kept_prices_;
  }

  void try_arranged_candidate(const ScheduleKind& kind, const Plan& plan) {
    std::optional<DividedTables> kept_on_last;
    if (facts_of(kind.rule).last_rank_keeps)
      kept_on_last.emplace(prices_.tables(), prices_of_kept().tables(), plan);
    const StagePricing pricing = price_stages(
        *inputs_.profile, *wiring_of(plan), plan,
        kept_on_last ? kept_on_last->tables() : prices_.tables(), kind.splits_backward());
    HeldCounts most;
    if (kind.is_automatic() && kind.limit_in_ranks == 0) {
      const auto room =
          room_for_activations(plan, pricing.prices, prices_.reserve(), prices_.memory());
      if (!holds_one_of_each(plan, pricing.prices, room)) {
        result_.rejected.add(no_arrangement_fits(plan), 1, plan);
        return;
      }
      most = most_held_within(plan, pricing.prices, room);
    }
    const bool is_bounded = !facts_of(kind.rule).recomputes_early;
    const Duration bound = is_bounded
                               ? step_bound(pricing.prices, plan, backward_, most, inputs_.executor,
                                            facts_of(kind.rule).last_rank_keeps)
                               : any_cuts_;
    if (!may_be_worth_arranging(bound)) {
      ++result_.bounded;
      return;
    }
    if (request_.pins.schedules.empty()) {  // the others tell which of these are worth working out
      result_.arranged.push_back({plan, bound});
      return;
    }
    const ArrangedOutcome outcome = replay_arranged(inputs_, plan);
    if (outcome.why_not) {
      result_.rejected.add(*outcome.why_not, 1, plan);
    } else {
      add_found(outcome.found);
    }
  }

  // On one type they serve all schedules of a map.
  const std::vector<int>& balanced_cuts_of(const Plan& plan) {
    auto& known = balanced_[{plan.chunks, plan.stage_map, backward_}];
    if (known) return *known;
    const auto cuts = [&] { return balanced_cuts(prices_.sums(), plan, backward_).value(); };
    const int largest = micro_batch_shapes(plan).front().samples;
    if (plan.is_mixed()) {
      known = shared_.mixed_balanced.get(
          {group_.mixed, largest, plan.chunks, plan.stage_map, backward_}, cuts);
    } else {
      known = shared_.balanced.get(
          {group_.key, largest, plan.pipeline, plan.chunks, plan.stage_map, backward_}, cuts);
    }
    return *known;
  }

  // Where all micro-batches are held at once, some rank holds at least the mean of them.
  [[nodiscard]] std::optional<Rejection> all_held_over_memory(const ScheduleKind& kind,
                                                              const Plan& plan) const {
    if (!kind.holds_all_micro_batches) return std::nullopt;
    if (plan.is_mixed()) return std::nullopt;
    const Bytes stash{prices_.sums()[0].stash.back() * first_load(plan).micro_batches /
                      plan.pipeline};
    const Bytes over = group_.least_memory + stash - prices_.memory()[0];
    if (over.count <= 0) return std::nullopt;
    return Rejection{"all micro-batches held at once: the mean rank over memory", 1, over, over,
                     ""};
  }

  [[nodiscard]] StageMemory memory_of(const Plan& plan, const HeldCounts& held) const {
    return memory_of(plan, held, prices_.memory());
  }
  [[nodiscard]] StageMemory memory_of(const Plan& plan, const HeldCounts& held,
                                      const PerRank<Bytes>& capacity) const {
    return memory_of(prices_.sums(), plan, held, capacity);
  }
  [[nodiscard]] StageMemory memory_of(const RankSums& sums, const Plan& plan,
                                      const HeldCounts& held) const {
    return memory_of(sums, plan, held, prices_.memory());
  }
  [[nodiscard]] StageMemory memory_of(const RankSums& sums, const Plan& plan,
                                      const HeldCounts& held,
                                      const PerRank<Bytes>& capacity) const {
    return {sums,
            ties_,
            inputs_.profile->training,
            plan.zero1 ? plan.weight_copies() : 1,
            held,
            prices_.reserve(),
            capacity};
  }

  // The same with counts that are too small: whether any cuts may matter. Several stages per rank
  // are not fitted together for that.
  bool least_may_matter(Plan& plan, const std::vector<int>& balanced, const HeldCounts& held) {
    if (plan.chunks > 1 && !over_memory_) {
      const StageMemory memory = memory_of(plan, held);
      const Cuts cuts = choose_cuts(prices_.sums(), memory, plan, backward_, balanced, true);
      if (cuts.why_not && may_fit(memory, plan)) return true;
    }
    return cuts_may_matter(plan, balanced, held);
  }

  // Chooses the plan's cuts.
  bool cuts_may_matter(Plan& plan, const std::vector<int>& balanced, const HeldCounts& held) {
    const auto variants = static_cast<std::int64_t>(placements_.size());
    const StageMemory memory = memory_of(plan, held);
    Cuts cuts = choose_cuts(prices_.sums(), memory, plan, backward_, balanced, over_memory_);
    plan.cuts = balanced;
    if (cuts.why_not) {
      over_memory_ = true;
      if (!cuts.none_is_proven) note_possible();
      result_.rejected.add(*cuts.why_not, variants, plan);
      return false;
    }
    plan.cuts = std::move(cuts.cuts);
    const Change change = change_for_trainer(plan);
    if (change == Change::kImpossible) {
      result_.rejected.add(trainer_why_not_, variants, plan);
      return false;
    }
    note_possible();
    const Duration bound = compute_bound(prices_.sums(), plan, backward_, held, inputs_.executor);
    if (!may_matter(bound, change == Change::kMoved ? kNoMemory : cuts.fullest)) {
      for (const Placement placement : placements_) {
        Plan placed = plan;
        placed.placement = placement;
        add_contender(placed);
      }
      result_.bounded += variants;
      return false;
    }
    return true;
  }

  // Gives the plan the nearest cuts and recompute that the trainer's files can say. What it holds
  // and takes is then another.
  enum class Change { kNone, kMoved, kImpossible };
  Change change_for_trainer(Plan& plan) {
    if (request_.trainer == nullptr) return Change::kNone;
    if (section_names_.empty()) section_names_ = names_of_sections(*inputs_.profile);
    auto moved = as_run_by(*request_.trainer, plan, section_names_, trainer_why_not_);
    if (!moved) return Change::kImpossible;
    if (*moved == plan) return Change::kNone;
    plan = std::move(*moved);
    return Change::kMoved;
  }

  // Likewise of all forms of a candidate; those that the trainer cannot run are left out.
  void change_for_trainer(std::vector<GroupDivision::Divided>& forms, const HeldCounts& held) {
    std::erase_if(forms, [&](GroupDivision::Divided& form) {
      const Change change = change_for_trainer(form.plan);
      if (change == Change::kMoved) {
        form.bound = division_.bound_of(form.plan, prices_.sums(), held);
        form.memory = form.least_memory = kNoMemory;
      }
      return change == Change::kImpossible;
    });
  }

  void try_candidate(const Plan& plan, const HeldCounts& held) {
    const StagePricing pricing = price_stages(*inputs_.profile, *wiring_of(plan), plan,
                                              prices_.tables(), backward_ != BackwardKind::kFused);
    const auto memory = memory_of_ranks(pricing.prices, held, prices_.reserve());
    if (const auto over = over_memory(memory, plan, prices_.memory())) {
      result_.rejected.add(*over, 1, plan);
      return;
    }
    Bytes fullest;
    for (const MemoryUse& use : memory) fullest = std::max(fullest, use.total());
    const Duration bound = step_bound(pricing.prices, plan, backward_, held, inputs_.executor);
    if (!may_matter(bound, fullest)) {
      add_contender(plan);
      ++result_.bounded;
      return;
    }
    const auto summary = simulated(plan, pricing, prices_.recomputes());
    if (!summary) {
      result_.rejected.add(
          "its transfers deadlock under executor model '" + inputs_.executor.name + "'", 1, plan);
      return;
    }
    add_found({plan, step_time_of(*summary, inputs_.executor), fullest});
    add_contender(plan);
  }

  // Other cuts than those that were given may fit and be faster, but not than this.
  void note_possible() { result_.least_possible = std::min(result_.least_possible, any_cuts_); }

  // Whether or not it is replayed, so that contenders are in one order.
  [[nodiscard]] Duration by_compute(const Plan& plan) const {
    return compute_bound(prices_.sums(), plan, backward_, HeldCounts{}, inputs_.executor);
  }

  // Of mode "none", or divided.
  [[nodiscard]] Duration by_compute_of_form(const Plan& plan) {
    return division_.bound_of(plan, prices_.sums(), HeldCounts{});
  }

  void add_contender(const Plan& plan) {
    add_contender(Contender{plan, by_compute(plan), any_cuts_});
  }
  void add_contender(Contender contender) {
    if (contender.plan.pipeline < 2) return;  // nothing to cut
    if (group_.chunks == ChunkRange::kMore) {
      contender.bound = std::max(contender.bound, less_by_cuts(contender.step_time));
    }
    if (!may_lead(contender.bound)) return;
    result_.contenders.push_back(std::move(contender));
  }

  void add_found(const Found& found) {
    if (!own_) own_ = known_;
    if (result_.only_leaders_count) {
      own_->add_if_it_leads(found, request_.sizes.size());
    } else {
      own_->add(found);
    }
    result_.found.push_back(found);
  }

  std::shared_ptr<const PlanWiring> wiring_of(const Plan& plan) {
    const auto wiring = [&] { return PlanWiring(*inputs_.cluster, plan); };
    if (plan.is_mixed()) {
      return shared_.mixed_wirings.get(
          {plan.rank_devices, plan.data, plan.tensor, plan.placement, plan.stage_map}, wiring);
    }
    return shared_.wirings.get(
        {key_.device, plan.pipeline, plan.data, plan.tensor, plan.placement, plan.stage_map},
        wiring);
  }

  // Nothing when transfers deadlock.
  std::optional<TimelineSummary> simulated(const Plan& plan, const StagePricing& pricing,
                                           bool recomputes) {
    if (straight_replay_is_exact(inputs_.executor)) {
      if (!schedules_) schedules_ = schedules_of(plan);
      return simulate_schedule(schedules_->pipelines,
                               lowering_of(plan, pricing.ties, recomputes, inputs_.executor),
                               pricing.prices, inputs_.executor, replay_buffers_);
    }
    const auto program = shared_.programs.get(plan, pricing.ties, recomputes);
    if (may_deadlock() && deadlock(*program, inputs_.executor)) return std::nullopt;
    return simulate_summary(*program, pricing.prices, inputs_.executor);
  }

  // Only receives that were moved back can cross sends (docs/schedules.md, "Time").
  [[nodiscard]] bool may_deadlock() const {
    return inputs_.executor.issue == IssueOrder::kDeepSpeed;
  }

  // Unless it was asked for by name, only if it may be the fastest.
  [[nodiscard]] bool may_be_worth_arranging(Duration bound) const {
    if (!request_.pins.schedules.empty()) return may_matter(bound, kNoMemory);
    return !request_.bounds || may_lead(bound);
  }

  [[nodiscard]] bool may_lead(Duration bound) const {
    const Incumbents& incumbents = own_ ? *own_ : known_;
    return incumbents.may_lead(bound, group_.devices, request_.sizes.size());
  }

  [[nodiscard]] bool may_matter(Duration bound, Bytes memory) const {
    const Incumbents& incumbents = own_ ? *own_ : known_;
    if (request_.bounds && group_.chunks == ChunkRange::kMore) {
      return incumbents.may_lead(bound, group_.devices, request_.sizes.size());
    }
    return !request_.bounds ||
           incumbents.may_matter(bound, group_.devices, std::max(memory, group_.least_memory));
  }

  const PlanInputs& inputs_;
  const SearchRequest& request_;
  const SearchSpace& space_;
  const CandidateGroup& group_;
  const SearchKey& key_;
  const Incumbents& known_;
  std::optional<Incumbents> own_;  // known_ and what this group found, once it found something
  SearchShared& shared_;
  const Plan base_;
  const GroupPrices prices_;
  std::unique_ptr<GroupPrices> kept_prices_;  // once they are asked for
  GroupDivision division_;
  GroupBounds bounds_;
  const TiedParameters ties_;
  const std::vector<bool> zero1_;
  const std::vector<Placement> placements_;
  // Of this group's, those of (V, map of stages, backward): the shared ones are many.
  std::map<std::tuple<int, StageMap, BackwardKind>, std::shared_ptr<const std::vector<int>>>
      balanced_;
  BackwardKind backward_ = BackwardKind::kFused;  // of the schedule at hand
  Duration any_cuts_{};                           // what no cuts of the schedule at hand beat
  bool over_memory_ = false;                      // it did not fit with less state (ZeRO-1)
  std::optional<PlanSchedules> schedules_;        // likewise
  ReplayBuffers replay_buffers_;
  std::vector<std::string> section_names_;  // once they are asked for
  std::string trainer_why_not_;             // of the last plan that it could not run
  GroupResult result_;
};

}  // namespace

void sort_contenders(std::vector<Contender>& contenders) {
  std::stable_sort(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.step_time < b.step_time; });
}

GroupResult search_group(const PlanInputs& inputs, const SearchRequest& request,
                         const SearchSpace& space, const CandidateGroup& group,
                         const Incumbents& known, SearchShared& shared) {
  return GroupSearch(inputs, request, space, group, known, shared).run();
}

}  // namespace penstock
