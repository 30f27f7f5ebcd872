#include "cli/io/files.h"
#include "cli/io/one_device_type.h"
#include "cli/parts/book_plan.h"
#include "core/values/json_reader.h"
#include "studies/plan_of_page.h"

namespace penstock {

Loaded<PlanFile> plan_from_book(const std::string& path, int ranks) {
  const Loaded<PlanBook> loaded = load_plan_book(path);
  require_one_device_type(loaded, "a number of ranks");
  const PlanBook& book = loaded.value;
  const BookPage& page = page_for(book, ranks, path);
  Loaded<PlanFile> plan;
  plan.value = plan_of_page(book, page, path);
  plan.file.path = path + " (" + std::to_string(page.gpus) + " GPUs)";
  plan.file.hash = content_hash(to_text(write_plan(plan.value)));
  return plan;
}

}  // namespace penstock
