#include "studies/find_book.h"

#include <algorithm>
#include <numeric>

#include "studies/part_of_cluster.h"
#include "studies/plan_set.h"

namespace penstock {
namespace {

PlanBook empty_book(const Question& question) {
  PlanBook book;
  book.profile = question.profile.value;
  book.cluster = question.cluster.value;
  book.executor = question.executor;
  book.reserve = question.reserve;
  book.global_batch = question.request.global_batch;
  return book;
}

BookPage page_of(const StaircaseStep& step) {
  BookPage page;
  page.gpus = step.gpus;
  page.plan = step.plan;
  page.why_not = step.why_not;
  if (step.plan) {
    page.step_time = step.evaluation.step_time;
    page.usd_per_step = step.evaluation.usd_per_step;
    page.peak_memory = step.evaluation.peak_memory();
  }
  return page;
}

// The page for no more GPUs of any type whose plan is faster than this one's; of equal ones the
// first.
const BookPage* faster_on_fewer(const PlanBook& book, const BookPage& page) {
  const BookPage* faster = nullptr;
  for (const BookPage& other : book.pages) {
    if (!other.plan || !are_among(other.of_types, page.of_types)) continue;
    if (page.plan && page.step_time <= other.step_time) continue;
    if (faster == nullptr || other.step_time < faster->step_time) faster = &other;
  }
  return faster;
}

}  // namespace

std::optional<PlanBook> find_book(const Question& question, const std::vector<int>& sizes,
                                  SearchProgress& progress) {
  const PlanSet set = plan_set(question, {}, sizes, progress);
  if (!set.complete) return std::nullopt;
  PlanBook book = empty_book(question);
  for (const StaircaseStep& step : set.steps) book.pages.push_back(page_of(step));
  return book;
}

std::optional<PlanBook> find_book_of_types(const Question& question,
                                           const std::vector<std::string>& types,
                                           const std::vector<std::vector<int>>& counts,
                                           SearchProgress& progress) {
  PlanBook book = empty_book(question);
  book.types = types;
  std::vector<BookPage> wanted;
  for (const std::vector<int>& of_types : counts) {
    BookPage page;
    page.gpus = std::accumulate(of_types.begin(), of_types.end(), 0);
    page.of_types = of_types;
    if (page.gpus > 0) wanted.push_back(std::move(page));
  }
  std::sort(wanted.begin(), wanted.end(), comes_before);
  for (const BookPage& each : wanted) {
    Question part = question;
    part.cluster.value = part_of_cluster(question.cluster.value, types, each.of_types);
    part.request.gpus = each.gpus;
    const PlanSet set = plan_set(part, {}, {each.gpus}, progress);
    if (!set.complete) return std::nullopt;
    BookPage page = page_of(set.steps.front());
    page.of_types = each.of_types;
    if (const BookPage* faster = faster_on_fewer(book, page)) {
      page = *faster;
      page.found_on = faster->planned_on();
      page.gpus = each.gpus;
      page.of_types = each.of_types;
    }
    book.pages.push_back(std::move(page));
  }
  return book;
}

}  // namespace penstock
