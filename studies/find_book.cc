#include "studies/find_book.h"

#include "studies/plan_set.h"

namespace penstock {

std::optional<PlanBook> find_book(const Question& question, const std::vector<int>& sizes,
                                  SearchProgress& progress) {
  const PlanSet set = plan_set(question, {}, sizes, progress);
  if (!set.complete) return std::nullopt;
  PlanBook book;
  book.profile = question.profile.value;
  book.cluster = question.cluster.value;
  book.executor = question.executor;
  book.reserve = question.reserve;
  book.global_batch = question.request.global_batch;
  for (const StaircaseStep& step : set.steps) {
    BookPage page;
    page.gpus = step.gpus;
    page.plan = step.plan;
    page.why_not = step.why_not;
    if (step.plan) {
      page.step_time = step.evaluation.step_time;
      page.usd_per_step = step.evaluation.usd_per_step;
      page.peak_memory = step.evaluation.peak_memory();
    }
    book.pages.push_back(std::move(page));
  }
  return book;
}

}  // namespace penstock
