// The answer of a search, in the order in which it is read: the plans, why the first one is first,
// its memory and its step, what it was compared with, what else there is and what cannot run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/program.h"
#include "core/values/timeline.h"
#include "report/screen.h"
#include "report/training_cost.h"

namespace penstock {

// A plan that the best one is compared with. Without a plan only the reason is set.
struct Rival {
  std::string name;     // "the same plan, split into equal numbers of sections"
  std::string why_not;  // it cannot run: the reason
  Plan plan;
  Evaluation evaluation;  // of a plan that could be priced
};

struct SearchReport {
  std::string question;            // model, cluster, batch: one line
  std::string origin;              // versions and hashes of the inputs: one line
  std::vector<std::string> notes;  // what an estimate rests on
  std::vector<std::string> section_names;
  std::vector<Rival> rivals;
  std::optional<TrainingCost> training{};  // with the best plan, if that was asked
  // The replay of the best plan; null when there is none.
  const Program* program = nullptr;
  const Timeline* timeline = nullptr;
  std::string not_drawn{};  // instead of it, why the step is not drawn: whole lines
};

std::string search_report(const SearchResult& result, const SearchReport& about, Screen screen);

// Of a search without plans: that there is none, and what came closest. Whole lines.
std::string nothing_fits_text(const SearchResult& result, std::size_t width = 100);

// "NAME: 3.012 s, 4.9 % longer than plan 1" or "NAME: cannot run: ..."
std::string rival_text(const Rival& rival, const Plan& best_plan, const Evaluation& best);

}  // namespace penstock
