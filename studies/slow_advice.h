// What to do about GPUs that are slow: keep them, give their replica less of the batch, cut the
// model around them, or leave them out. Each answer is replayed with the slow ranks as slow as they
// are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/plan_book.h"
#include "core/values/rank_slowness.h"

namespace penstock {

// In the order in which the least is changed.
enum class SlowAnswer {
  kKeep,
  kShare,    // the replicas with slow ranks take fewer micro-batches
  kRecut,    // stages of other sections, in all replicas
  kExclude,  // the book's plan for as many GPUs fewer
};
std::string_view word_of(SlowAnswer answer);  // "keep", "share", "recut", "exclude"

struct SlowChoice {
  SlowAnswer answer = SlowAnswer::kKeep;
  Plan plan;  // ranks keep their numbers, but for kExclude
  Duration step_time{};
  std::string what;  // "sections 7|6|6|5 instead of 6|6|6|6"
};

struct SlowAdvice {
  Duration even_step{};  // of the plan, if no rank were slow
  // Fastest first, of equal ones the one that changes least; keeping before all where none gains a
  // thousandth of its step.
  std::vector<SlowChoice> choices;
  std::vector<std::string> why_not;  // of answers that there are not
  std::string reason;                // a sentence with the figures of the best and of keeping

  [[nodiscard]] const SlowChoice& best() const { return choices.front(); }
  // How long the job must go on until the best has made up for a change that costs so much; nothing
  // where keeping is the best, and beyond kLongestDuration.
  [[nodiscard]] std::optional<Duration> pays_after(Duration change) const;
};

// `plan`: what runs, by the inputs of `book`; of the T ranks of a tensor-parallel group the slowest
// counts as its rank. Error{kBadInput} when a slow rank is none of the plan's, when nothing is
// slow, when the book is for another global batch or sequence length, and when the plan cannot be
// replayed with these inputs.
SlowAdvice advise_on_slow_ranks(const PlanBook& book, const Plan& plan,
                                const std::vector<RankSlowness>& slow);

}  // namespace penstock
