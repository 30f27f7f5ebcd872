// penstock.book/1. The profile and the cluster stand in the book as in their own files, so that a
// plan can be priced and lowered again where those files are not. Pages ascend by GPUs, and a
// page's step is never longer than that of a page before it: a plan on fewer GPUs can always run.
// Where pages count device types, that holds between pages of which one has no more of any type.
#include <algorithm>
#include <numeric>
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
constexpr std::size_t kMostPagesOfTypes = 4096;  // each is compared with all before it

Json write_counts(const std::vector<std::string>& types, const std::vector<int>& counts) {
  Json json = Json::object();
  for (std::size_t t = 0; t < types.size(); ++t) json.set(types[t], counts[t]);
  return json;
}

Json write_page(const BookPage& page, const std::vector<std::string>& types) {
  Json json = Json::object();
  json.set("gpus", page.gpus);
  if (!types.empty()) json.set("devices", write_counts(types, page.of_types));
  if (!page.found_on.empty()) json.set("found_on", write_counts(types, page.found_on));
  if (!page.plan) return json.set("why_not", page.why_not);
  json.set("plan", write_decisions(*page.plan));
  json.set("step_time_ns", std::int64_t{page.step_time.count()});
  if (page.usd_per_step > 0.0) json.set("cost_usd_per_step", page.usd_per_step);
  return json.set("peak_memory_bytes", page.peak_memory.count);
}

// Of a file, which may name as many types as its cluster has.
std::int64_t sum_of(const std::vector<int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

class PageReader {
 public:
  PageReader(int sections, const std::vector<std::string>& types)
      : sections_(sections), types_(types) {}

  void read(JsonReader reader) {
    BookPage page;
    page.gpus = read_int(reader.at("gpus"), least_gpus(), kMostGpus);
    if (!types_.empty()) read_types(reader, page);
    if (const auto why_not = reader.get("why_not")) {
      page.why_not = why_not->string();
      if (fastest_within(page)) {
        why_not->fail("a plan of fewer GPUs stands above, and fits here too");
      }
    } else {
      read_plan(reader, page);
    }
    reader.finish();
    pages_.push_back(std::move(page));
  }
  std::vector<BookPage> take() { return std::move(pages_); }

 private:
  [[nodiscard]] int least_gpus() const {
    if (pages_.empty()) return 1;
    return pages_.back().gpus + (types_.empty() ? 1 : 0);
  }

  [[nodiscard]] std::vector<int> read_counts(JsonReader reader) const {
    std::vector<int> counts;
    counts.reserve(types_.size());
    for (const std::string& type : types_) {
      counts.push_back(read_int(reader.at(type), 0, kMostGpus));
    }
    reader.finish();
    return counts;
  }

  void read_types(JsonReader& reader, BookPage& page) {
    const JsonReader devices = reader.at("devices");
    page.of_types = read_counts(devices);
    if (sum_of(page.of_types) != page.gpus) {
      devices.fail("these are " + std::to_string(sum_of(page.of_types)) + " GPUs, and gpus says " +
                   std::to_string(page.gpus));
    }
    if (!pages_.empty() && !comes_before(pages_.back(), page)) {
      devices.fail("a page for these stands above, or should follow this one");
    }
    if (const auto found_on = reader.get("found_on")) {
      page.found_on = read_counts(*found_on);
      if (!are_among(page.found_on, page.of_types) || page.found_on == page.of_types) {
        found_on->fail("expected fewer GPUs than the page has");
      }
    }
  }

  // Of the pages that were read, of one type the last.
  [[nodiscard]] std::optional<Duration> fastest_within(const BookPage& page) const {
    std::optional<Duration> fastest;
    if (!has_plan_) return fastest;
    for (auto other = pages_.rbegin(); other != pages_.rend(); ++other) {
      if (!other->plan || !are_among(other->of_types, page.of_types)) continue;
      if (!fastest || other->step_time < *fastest) fastest = other->step_time;
      if (types_.empty()) break;
    }
    return fastest;
  }

  void read_plan(JsonReader& reader, BookPage& page) {
    const JsonReader plan = reader.at("plan");
    page.plan = read_decisions(plan, sections_);
    if (page.plan->devices() > page.gpus) {
      plan.fail("uses " + std::to_string(page.plan->devices()) + " GPUs, and the page has " +
                std::to_string(page.gpus));
    }
    if (!types_.empty()) require_types(plan, page);
    page.step_time = reader.duration("step_time");
    if (page.step_time <= Duration{}) reader.fail("a step that takes no time");
    if (const auto fastest = fastest_within(page); fastest && page.step_time > *fastest) {
      reader.fail("the step takes longer than on fewer GPUs; write the book again");
    }
    if (const auto usd = reader.get("cost_usd_per_step"))
      page.usd_per_step = usd->number(0.0, 1e12);
    page.peak_memory = reader.at("peak_memory_bytes").bytes();
    has_plan_ = true;
  }

  void require_types(const JsonReader& reader, const BookPage& page) const {
    const std::vector<int> used = gpus_of_types(*page.plan, types_);
    if (sum_of(used) != page.plan->devices()) {
      reader.fail("uses a type of devices that is none of the book's device_types");
    }
    for (std::size_t t = 0; t < types_.size(); ++t) {
      if (used[t] <= page.planned_on()[t]) continue;
      reader.fail("uses " + std::to_string(used[t]) + " of " + types_[t] +
                  ", and it was found on " + std::to_string(page.planned_on()[t]));
    }
  }

  int sections_;
  const std::vector<std::string>& types_;
  std::vector<BookPage> pages_;
  bool has_plan_ = false;
};

std::vector<std::string> read_types(const JsonReader& list, const ClusterSpec& cluster) {
  std::vector<std::string> types;
  for (const JsonReader& each : list.elements()) {
    types.push_back(each.string());
    if (find_device_type(cluster, types.back()) == nullptr) {
      each.fail("the book's cluster has no such device type");
    }
    if (std::count(types.begin(), types.end(), types.back()) > 1) each.fail("it stands twice");
  }
  if (types.size() < 2) list.expected("two device types or more");
  return types;
}

}  // namespace

int page_number(const PlanBook& book, std::size_t page) {
  return book.counts_types() ? static_cast<int>(page) + 1 : book.pages[page].gpus;
}

bool are_among(const std::vector<int>& some, const std::vector<int>& all) {
  for (std::size_t t = 0; t < some.size(); ++t) {
    if (some[t] > all[t]) return false;
  }
  return true;
}

bool comes_before(const BookPage& one, const BookPage& other) {
  if (one.gpus != other.gpus) return one.gpus < other.gpus;
  return std::lexicographical_compare(one.of_types.rbegin(), one.of_types.rend(),
                                      other.of_types.rbegin(), other.of_types.rend());
}

std::vector<int> gpus_of_types(const Plan& plan, const std::vector<std::string>& types) {
  std::vector<int> used(types.size(), 0);
  for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
    const auto type = std::find(types.begin(), types.end(), plan.device_of_rank(rank));
    if (type == types.end()) continue;
    used[static_cast<std::size_t>(type - types.begin())] +=
        replicas_of_rank(plan, rank) * plan.devices_per_rank();
  }
  return used;
}

Json write_plan_book(const PlanBook& book) {
  Json pages = Json::array();
  for (const BookPage& page : book.pages) pages.push(write_page(page, book.types));
  Json file = Json::object();
  file.set("format", std::string(kFormat)).set("tool_version", book.tool_version);
  file.set("global_batch", book.global_batch);
  if (book.reserve) file.set("reserve_bytes", book.reserve->count);
  file.set("executor", write_executor(book.executor));
  if (book.counts_types()) {
    Json types = Json::array();
    for (const std::string& type : book.types) types.push(type);
    file.set("device_types", std::move(types));
  }
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
  if (const auto types = reader.get("device_types")) book.types = read_types(*types, book.cluster);
  const std::size_t most = book.counts_types() ? kMostPagesOfTypes : kMostPages;
  const JsonReader list = reader.at("pages");
  const std::vector<JsonReader> listed = list.elements();
  if (listed.empty() || listed.size() > most) {
    list.expected("from 1 to " + std::to_string(most) + " pages");
  }
  PageReader pages(static_cast<int>(book.profile.sections.size()), book.types);
  for (const JsonReader& page : listed) pages.read(page);
  book.pages = pages.take();
  reader.finish();
  return book;
}

}  // namespace penstock
