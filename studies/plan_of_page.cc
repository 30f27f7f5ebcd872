#include "studies/plan_of_page.h"

#include "core/values/error.h"
#include "search/evaluate.h"
#include "studies/part_of_cluster.h"

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

const BookPage& page_for(const PlanBook& book, const std::vector<int>& of_types,
                         const std::string& file) {
  const BookPage* best = nullptr;
  for (const BookPage& page : book.pages) {
    if (!page.plan || !are_among(page.of_types, of_types)) continue;
    if (best == nullptr || page.step_time < best->step_time) best = &page;
  }
  if (best != nullptr) return *best;
  std::string there;
  for (std::size_t t = 0; t < of_types.size(); ++t) {
    there += (t > 0 ? ", " : "") + book.types[t] + "=" + std::to_string(of_types[t]);
  }
  throw_bad_input(file + ": no page has a plan for " + there +
                  "\nhelp: start more ranks, or make the book with pages for fewer GPUs");
}

ClusterSpec cluster_of(const PlanBook& book, const BookPage& page) {
  if (!book.counts_types()) return book.cluster;
  return part_of_cluster(book.cluster, book.types, page.planned_on());
}

ClusterSpec cluster_of(const PlanBook& book, const Plan& plan) {
  if (!book.counts_types()) return book.cluster;
  for (const BookPage& page : book.pages) {
    if (page.plan == plan) return cluster_of(book, page);
  }
  return part_of_cluster(book.cluster, book.types, gpus_of_types(plan, book.types));
}

PlanFile plan_of_page(const PlanBook& book, const BookPage& page, const std::string& file) {
  const ClusterSpec cluster = cluster_of(book, page);
  const PlanInputs inputs{&book.profile, &cluster, book.executor, book.reserve};
  const EvaluatedPlan evaluated = evaluate_in_full(inputs, *page.plan);
  if (evaluated.why_not) {
    throw_bad_input(file + ": the plan for " + std::to_string(page.gpus) +
                    " GPUs cannot be priced again: " + evaluated.why_not->reason +
                    "\nhelp: make the book anew with this penstock");
  }
  return to_plan_file(inputs, evaluated);
}

}  // namespace penstock
