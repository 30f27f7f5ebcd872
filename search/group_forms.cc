// A candidate of mode "none" that does not fit is tried in up to three forms: with cuts that fit,
// and with every other mode in as few sections as memory asks for; the fastest counts. Before a
// form is divided, and again before it is priced and replayed, bounds say whether it may matter;
// counts that are too small come first, exact ones only for what is left. Invariant: whatever is
// left out was counted as bounded or rejected, and what may yet be cut better became a contender.
#include "search/group_forms.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/values/recompute_sections.h"
#include "search/choose_cuts.h"
#include "search/evaluation.h"
#include "search/joint_cuts.h"
#include "search/lower_bound.h"

namespace penstock {

bool GroupForms::try_as_needed(const ScheduleKind& kind, const Plan& plan,
                               const std::vector<int>& balanced, const HeldCounts& at_least,
                               const Cuts& as_balanced, PlanCounts& counts) {
  if (!has_others(kind) || !as_balanced.why_not) return false;
  const StageMemory memory = work_.memory_of(plan, at_least);
  const std::span<const Bytes> totals = as_balanced.as_balanced;
  if (const auto fits = fits_but_is_too_slow(plan, memory, at_least, balanced, totals)) {
    if (*fits) {
      work_.note_possible();
      work_.result.bounded += static_cast<std::int64_t>(work_.placements.size());
    } else {
      reject_over_memory(plan, balanced, *as_balanced.why_not);
    }
    return true;
  }
  auto forms =
      work_.division.divided(plan, memory, at_least, work_.prices.sums(), balanced, totals);
  // With one stage per rank a form has the best cuts for mode "none", too.
  const bool keeps_all = (plan.chunks > 1 || forms.empty()) && may_fit(memory, plan);
  if (forms.empty() && !keeps_all) {
    reject_over_memory(plan, balanced, *as_balanced.why_not);
    return true;
  }
  const auto matters = [&](auto& form) { return least_may_matter(form, at_least); };
  if (keeps_all || std::any_of(forms.begin(), forms.end(), matters)) {
    const auto exact = work_.exactly_held(plan, counts);
    try_forms(plan, balanced, *exact);
    return true;
  }
  work_.note_possible();
  const auto best = std::min_element(
      forms.begin(), forms.end(), [](const auto& a, const auto& b) { return a.bound < b.bound; });
  for (const Placement placement : work_.placements) {
    Contender contender{best->plan, work_.by_compute_of_form(best->plan), work_.any_cuts};
    contender.plan.placement = placement;
    work_.add_contender(std::move(contender));
  }
  work_.result.bounded += static_cast<std::int64_t>(work_.placements.size());
  return true;
}

// Whether it can be divided to fit, where that can be told to be too slow without dividing it.
std::optional<bool> GroupForms::fits_but_is_too_slow(Plan plan, const StageMemory& memory,
                                                     const HeldCounts& at_least,
                                                     const std::vector<int>& balanced,
                                                     std::span<const Bytes> totals) {
  if (!work_.request.bounds) return std::nullopt;
  const bool in_book = work_.request.sizes.size() > 1;
  if (plan.chunks == 1) return fits_but_stages_are_slow(plan, memory, at_least, balanced);
  // Several stages per rank keep their balanced cuts, and take longer the more they recompute.
  plan.cuts = balanced;
  if (in_book && plan.copies() == 1) {
    return fits_but_loses_as_balanced(plan, memory, at_least, totals);
  }
  if (!loses_as_balanced(plan, at_least, totals) || may_fit(memory, plan)) return std::nullopt;
  return work_.division.can_be_divided(plan, memory, at_least, work_.prices.sums(), balanced,
                                       totals);
}

// Whether no form of these cuts matters, nor would be kept as a contender for better ones.
bool GroupForms::loses_as_balanced(const Plan& plan, const HeldCounts& at_least,
                                   std::span<const Bytes> totals) {
  const auto matters = [&](Duration least) { return work_.may_matter(least, kNoMemory); };
  const Duration held =
      compute_bound(work_.prices.sums(), plan, work_.backward, at_least, work_.inputs.executor);
  // A contender is weighed by no less than its work.
  bool contends = work_.may_be_contender(work_.by_compute(plan));
  if (!contends && !matters(held)) return true;
  // With two copies a rank does half of a stage's micro-batches; overlaps shorten the fill.
  if (plan.copies() > 1 || work_.backward == BackwardKind::kMixed) return false;
  const Duration divided = work_.division.least_with_cuts(plan, work_.prices.memory(), at_least,
                                                          work_.prices.sums(), totals);
  contends = contends && work_.may_be_contender(divided);
  return !contends && !matters(std::max(held, divided));
}

// Of a book, which improves the cuts of few contenders: those do not matter whose balanced cuts are
// slower by more than better cuts gain, whatever these recompute.
std::optional<bool> GroupForms::fits_but_loses_as_balanced(const Plan& plan,
                                                           const StageMemory& memory,
                                                           const HeldCounts& at_least,
                                                           std::span<const Bytes> totals) {
  const Duration least = work_.division.least_with_cuts(plan, work_.prices.memory(), at_least,
                                                        work_.prices.sums(), totals);
  if (work_.may_lead(GroupWork::less_by_cuts(least)) || may_fit(memory, plan)) return std::nullopt;
  return least < Duration::max();
}

// With one stage per rank, whose cuts go with what they recompute. Of a book those that contend for
// better cuts are left out as well.
std::optional<bool> GroupForms::fits_but_stages_are_slow(const Plan& plan,
                                                         const StageMemory& memory,
                                                         const HeldCounts& at_least,
                                                         const std::vector<int>& balanced) {
  const Incumbents& incumbents = work_.incumbents();
  const int full = first_load(plan).full;
  auto slowest = incumbents.slowest_that_matters(work_.group.devices, work_.group.least_memory);
  if (!slowest || full == 0) return std::nullopt;
  if (work_.request.sizes.size() < 2) slowest = std::max(*slowest, work_.slowest_contender());
  if (*slowest == Duration::max()) return std::nullopt;
  switch (work_.division.divided_within(plan, memory, at_least, work_.prices.sums(), balanced,
                                        *slowest / full)) {
    case GroupDivision::Within::kAllAreSlower:
      return true;
    case GroupDivision::Within::kNoneFits:
      if (!may_fit(memory, plan)) return false;
      break;
    case GroupDivision::Within::kMaybe:
      break;
  }
  return std::nullopt;
}

GroupForms::Priced GroupForms::priced(const Plan& plan) {
  if (!recompute_is_divided(plan)) {
    return {&work_.pricing_of(plan), std::nullopt, work_.prices.recomputes()};
  }
  const DividedTables divided = work_.division.tables_of(plan, work_.prices.tables());
  return {nullptr,
          price_stages(*work_.inputs.profile, *work_.wiring_of(plan), plan, divided.tables(),
                       work_.backward != BackwardKind::kFused),
          divided.recomputes()};
}

void GroupForms::try_forms(Plan plan, const std::vector<int>& balanced, const HeldCounts& held) {
  const StageMemory memory = work_.memory_of(plan, held);
  Cuts cuts = choose_cuts(work_.prices.sums(), memory, plan, work_.backward, balanced);
  std::vector<GroupDivision::Divided> forms;
  for (auto& form : work_.division.divided(plan, memory, held, work_.prices.sums(), balanced,
                                           cuts.as_balanced)) {
    // In all sections it is a candidate of its own.
    if (form.plan.recompute == "none" || recompute_is_divided(form.plan)) {
      forms.push_back(std::move(form));
    }
  }
  if (!cuts.why_not) {
    plan.cuts = std::move(cuts.cuts);
    const Duration bound = work_.division.bound_of(plan, work_.prices.sums(), held);
    forms.push_back({plan, bound, cuts.fullest, cuts.fullest});
  }
  const bool fit = !forms.empty();
  change_all_for_trainer(forms, held);
  if (fit && forms.empty()) {
    work_.result.rejected.add(work_.trainer_why_not,
                              static_cast<std::int64_t>(work_.placements.size()), plan);
    return;
  }
  if (forms.empty()) {
    if (!cuts.none_is_proven) work_.note_possible();
    reject_over_memory(plan, balanced, *cuts.why_not);
    return;
  }
  work_.note_possible();
  // The first to be replayed spares others their replays.
  std::stable_sort(forms.begin(), forms.end(),
                   [](const auto& a, const auto& b) { return a.bound < b.bound; });
  for (const Placement placement : work_.placements) {
    for (GroupDivision::Divided& form : forms) form.plan.placement = placement;
    try_one_of(forms, held);
  }
}

void GroupForms::reject_over_memory(Plan plan, const std::vector<int>& balanced,
                                    const Rejection& why) {
  work_.over_memory = true;
  plan.cuts = balanced;
  work_.result.rejected.add(why, static_cast<std::int64_t>(work_.placements.size()), plan);
}

// Of all forms of a candidate; those that the trainer cannot run are left out.
void GroupForms::change_all_for_trainer(std::vector<GroupDivision::Divided>& forms,
                                        const HeldCounts& held) {
  std::erase_if(forms, [&](GroupDivision::Divided& form) {
    const GroupWork::Change change = work_.change_for_trainer(form.plan);
    if (change == GroupWork::Change::kMoved) {
      form.bound = work_.division.bound_of(form.plan, work_.prices.sums(), held);
      form.memory = form.least_memory = kNoMemory;
    }
    return change == GroupWork::Change::kImpossible;
  });
}

// Before it is priced: by its compute and what its first stage does at the end of the step.
bool GroupForms::loses_at_its_end(const Plan& form, const HeldCounts& held, Bytes memory) {
  if (!work_.request.bounds) return false;
  const Duration bound =
      work_.division.bound_of(form, work_.prices.sums(), held, work_.wired_times_of(form));
  return !work_.may_matter(bound, memory);
}

// By counts that are too small, in any placement: exact ones of many ranks cost more than that.
bool GroupForms::least_may_matter(GroupDivision::Divided& form, const HeldCounts& at_least) {
  if (!work_.may_matter(form.bound, form.least_memory)) return false;
  return std::any_of(work_.placements.begin(), work_.placements.end(), [&](Placement placement) {
    form.plan.placement = placement;
    return !loses_at_its_end(form.plan, at_least, form.least_memory);
  });
}

// Of several forms of one candidate the fastest counts.
void GroupForms::try_one_of(const std::vector<GroupDivision::Divided>& forms,
                            const HeldCounts& held) {
  std::optional<Found> best;
  std::optional<Contender> contender;
  std::optional<Rejection> over;
  const auto may_be_cut_better = [&](const Plan& plan) {
    const Duration least = work_.by_compute_of_form(plan);
    if (!contender || least < contender->step_time)
      contender = Contender{plan, least, work_.any_cuts};
  };
  for (const GroupDivision::Divided& form : forms) {
    const Plan& plan = form.plan;
    if (!work_.may_matter(form.bound, form.memory) || loses_at_its_end(plan, held, form.memory)) {
      may_be_cut_better(plan);
      continue;
    }
    const Priced of_form = priced(plan);
    const StagePricing& pricing = of_form.pricing();
    auto memory = memory_of_ranks(pricing.prices, held, work_.prices.reserve());
    over = work_.over_memory_as_held(plan, pricing.prices, memory);
    if (over) continue;
    may_be_cut_better(plan);
    Bytes fullest;
    for (const MemoryUse& use : memory) fullest = std::max(fullest, use.total());
    const Duration bound =
        step_bound(pricing.prices, plan, work_.backward, held, work_.inputs.executor);
    if (!work_.may_matter(bound, fullest) || (best && bound > best->step_time)) continue;
    const auto summary = work_.simulated(plan, pricing, of_form.recomputes);
    if (!summary) continue;
    Found found{plan, step_time_of(*summary, work_.inputs.executor), fullest};
    if (!best || comes_before(found, *best)) best = std::move(found);
  }
  if (best) {
    work_.add_found(*best);
  } else if (contender) {
    ++work_.result.bounded;
  } else {
    work_.result.rejected.add(*over, 1, forms.back().plan);
  }
  if (contender) work_.add_contender(std::move(*contender));
}

}  // namespace penstock
