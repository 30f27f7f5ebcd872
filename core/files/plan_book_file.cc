// penstock.book/1. The profile and the cluster stand in the book as in their own files, so that a
// plan can be priced and lowered again where those files are not. Pages ascend by GPUs, and a
// page's step is never longer than that of a page before it: a plan on fewer GPUs can always run.
#include <utility>

#include "core/files/format.h"
#include "core/files/plan_parts.h"
#include "core/files/read_values.h"
#include "core/values/plan_book.h"

namespace penstock {
namespace {

constexpr std::string_view kFormat = "penstock.book/1";
constexpr int kMostGpus = 1 << 20;
constexpr std::size_t kMostPages = 1 << 16;

Json write_page(const BookPage& page) {
  Json json = Json::object();
  json.set("gpus", page.gpus);
  if (!page.plan) return json.set("why_not", page.why_not);
  json.set("plan", write_decisions(*page.plan));
  json.set("step_time_ns", std::int64_t{page.step_time.count()});
  if (page.usd_per_step > 0.0) json.set("cost_usd_per_step", page.usd_per_step);
  return json.set("peak_memory_bytes", page.peak_memory.count);
}

class PageReader {
 public:
  explicit PageReader(int sections) : sections_(sections) {}

  BookPage read(JsonReader reader) {
    BookPage page;
    page.gpus = read_int(reader.at("gpus"), gpus_ + 1, kMostGpus);
    gpus_ = page.gpus;
    if (const auto why_not = reader.get("why_not")) {
      page.why_not = why_not->string();
      if (step_ > Duration{}) why_not->fail("a plan of fewer GPUs stands above, and fits here too");
    } else {
      read_plan(reader, page);
    }
    reader.finish();
    return page;
  }

 private:
  void read_plan(JsonReader& reader, BookPage& page) {
    const JsonReader plan = reader.at("plan");
    page.plan = read_decisions(plan, sections_);
    if (page.plan->devices() > page.gpus) {
      plan.fail("uses " + std::to_string(page.plan->devices()) + " GPUs, and the page has " +
                std::to_string(page.gpus));
    }
    page.step_time = reader.duration("step_time");
    if (page.step_time <= Duration{}) reader.fail("a step that takes no time");
    if (step_ > Duration{} && page.step_time > step_) {
      reader.fail("the step takes longer than on fewer GPUs; write the book again");
    }
    step_ = page.step_time;
    if (const auto usd = reader.get("cost_usd_per_step"))
      page.usd_per_step = usd->number(0.0, 1e12);
    page.peak_memory = reader.at("peak_memory_bytes").bytes();
  }

  int sections_;
  int gpus_ = 0;
  Duration step_{};
};

}  // namespace

Json write_plan_book(const PlanBook& book) {
  Json pages = Json::array();
  for (const BookPage& page : book.pages) pages.push(write_page(page));
  Json file = Json::object();
  file.set("format", std::string(kFormat)).set("tool_version", book.tool_version);
  file.set("global_batch", book.global_batch);
  if (book.reserve) file.set("reserve_bytes", book.reserve->count);
  file.set("executor", write_executor(book.executor));
  file.set("pages", std::move(pages));
  file.set("profile", write_profile(book.profile));
  return file.set("cluster", write_cluster(book.cluster));
}

PlanBook read_plan_book(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  const JsonReader format = reader.at("format");
  if (format.string() != kFormat) format.expected("\"" + std::string(kFormat) + "\"");
  PlanBook book;
  book.tool_version = reader.at("tool_version").string();
  book.global_batch = read_int(reader.at("global_batch"), 1);
  if (const auto reserve = reader.get("reserve_bytes")) book.reserve = reserve->bytes();
  book.executor = read_executor(reader.at("executor"));
  book.profile = read_profile(reader.at("profile").value(), file + ", profile");
  book.cluster = read_cluster(reader.at("cluster").value(), file + ", cluster");
  PageReader pages(static_cast<int>(book.profile.sections.size()));
  const JsonReader list = reader.at("pages");
  for (const JsonReader& page : list.elements()) book.pages.push_back(pages.read(page));
  if (book.pages.empty() || book.pages.size() > kMostPages) {
    list.expected("from 1 to " + std::to_string(kMostPages) + " pages");
  }
  reader.finish();
  return book;
}

}  // namespace penstock
