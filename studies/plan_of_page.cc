#include "studies/plan_of_page.h"

#include "core/values/error.h"
#include "search/evaluate.h"

namespace penstock {

const BookPage& page_for(const PlanBook& book, int gpus, const std::string& file) {
  const BookPage* best = nullptr;
  const BookPage* fewest = nullptr;
  for (const BookPage& page : book.pages) {
    if (!page.plan) continue;
    if (fewest == nullptr) fewest = &page;
    if (page.gpus <= gpus) best = &page;
  }
  if (best != nullptr) return *best;
  if (fewest == nullptr) throw_bad_input(file + ": no page of the book has a plan");
  throw_bad_input(file + ": no page has a plan for " + std::to_string(gpus) +
                  (gpus == 1 ? " rank" : " ranks") + "; the fewest are " +
                  std::to_string(fewest->gpus) +
                  "\nhelp: start more ranks, or make the book with "
                  "--gpus from " +
                  std::to_string(gpus) + " on");
}

PlanFile plan_of_page(const PlanBook& book, const BookPage& page, const std::string& file) {
  const PlanInputs inputs{&book.profile, &book.cluster, book.executor, book.reserve};
  const EvaluatedPlan evaluated = evaluate_in_full(inputs, *page.plan);
  if (evaluated.why_not) {
    throw_bad_input(file + ": the plan for " + std::to_string(page.gpus) +
                    " GPUs cannot be priced again: " + evaluated.why_not->reason +
                    "\nhelp: make the book anew with this penstock");
  }
  return to_plan_file(inputs, evaluated);
}

}  // namespace penstock
