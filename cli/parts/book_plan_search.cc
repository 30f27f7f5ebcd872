#include "cli/io/files.h"
#include "cli/parts/book_plan.h"
#include "core/values/json_reader.h"
#include "studies/plan_of_page.h"

namespace penstock {

Loaded<PlanFile> plan_from_book(const std::string& path, int ranks) {
  const PlanBook book = load_plan_book(path).value;
  const BookPage& page = page_for(book, ranks, path);
  Loaded<PlanFile> plan;
  plan.value = plan_of_page(book, page, path);
  plan.file.path = path + " (" + std::to_string(page.gpus) + " GPUs)";
  plan.file.hash = content_hash(to_text(write_plan(plan.value)));
  return plan;
}

}  // namespace penstock
