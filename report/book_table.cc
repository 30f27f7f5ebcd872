// Pages of the same plan are one row: "40-47". When there are more rows than a screen takes, rows
// are left out by how little they bring: the threshold of speed over the row before doubles from
// one part in a thousand until few enough are left.
#include "report/book_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "report/measures.h"
#include "report/plan_table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr double kLeastGain = 1e-3;

struct BookRow {
  std::size_t first = 0, last = 0;  // pages
};

// Of the fastest page for no more GPUs of any type; 0 where none has a plan.
double speed_on_fewer(const PlanBook& book, std::size_t page) {
  double fastest = 0.0;
  for (std::size_t p = 0; p < page; ++p) {
    if (!are_among(book.pages[p].of_types, book.pages[page].of_types)) continue;
    fastest = std::max(fastest, speed_of(book.pages[p]));
  }
  return fastest;
}

std::vector<BookRow> rows_of(const PlanBook& book) {
  std::vector<BookRow> rows;
  for (std::size_t p = 0; p < book.pages.size(); ++p) {
    if (!rows.empty() && !book.counts_types() &&
        book.pages[rows.back().last].plan == book.pages[p].plan) {
      rows.back().last = p;
    } else {
      rows.push_back({p, p});
    }
  }
  return rows;
}

// The speed that a row is compared with: of the row that stands before it, or, where pages count
// types, of the fastest page for no more of any type.
double speed_before(const PlanBook& book, const std::vector<BookRow>& shown, const BookRow& row) {
  if (!book.counts_types()) return shown.empty() ? 0.0 : speed_of(book.pages[shown.back().first]);
  return speed_on_fewer(book, row.first);
}

std::vector<BookRow> at_most(const PlanBook& book, std::vector<BookRow> rows, std::size_t most) {
  const std::vector<BookRow> all = rows;
  for (double least = kLeastGain; rows.size() > most && least < 1e3; least *= 2.0) {
    rows.clear();
    for (const BookRow& row : all) {
      const bool is_edge = row.first == 0 || row.last + 1 == book.pages.size();
      const bool is_first = rows.empty() && !book.counts_types();
      const double speed = speed_of(book.pages[row.first]);
      const bool brings = speed > 0.0 && speed >= (1.0 + least) * speed_before(book, rows, row);
      if (is_edge || is_first || brings) rows.push_back(row);
    }
  }
  return rows;
}

// "8 + 16" where pages count types, in their order.
std::string gpus_text(const PlanBook& book, const BookRow& row) {
  if (book.counts_types())
    return fmt::format("{}", fmt::join(book.pages[row.first].of_types, " + "));
  const int first = book.pages[row.first].gpus, last = book.pages[row.last].gpus;
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

double usd_per_million_tokens_of(const BookPage& page) {
  Evaluation evaluation;
  evaluation.step_time = page.step_time;
  evaluation.usd_per_step = page.usd_per_step;
  return usd_per_million_tokens(*page.plan, evaluation);
}

// Which columns say something: decisions that differ from what goes without saying (ZeRO-1, no
// recompute), prices where there are some, GPUs that a plan leaves unused.
struct Shown {
  bool sharding = false, recompute = false, price = false, unused = false;
};

Shown shown_of(const PlanBook& book) {
  Shown shown;
  for (const BookPage& page : book.pages) {
    if (!page.plan) continue;
    shown.sharding =
        shown.sharding || page.plan->sharding != Sharding::kState || page.plan->offload_optimizer;
    shown.recompute = shown.recompute || page.plan->recompute != "none";
    shown.price = shown.price || usd_per_million_tokens_of(page) > 0.0;
    shown.unused = shown.unused || page.gpus > page.plan->devices();
  }
  return shown;
}

bool has_tokens(const PlanBook& book) {
  return std::any_of(book.pages.begin(), book.pages.end(), [](const BookPage& page) {
    return page.plan && page.plan->sequence_length > 0;
  });
}

// "TP 2 x PP 4 x DP 8, zb-v, VP 2, mbs 1"
std::string short_layout(const Plan& plan) {
  std::string text = degrees_text(plan);
  if (plan.pipeline > 1) text += ", " + plan.schedule;
  if (plan.chunks > 1) text += fmt::format(", VP {}", plan.chunks);
  return text + ", mbs " + micro_batch_size_text(plan);
}

// Where the pages' plans use devices of several types.
bool has_several_types(const PlanBook& book) {
  std::string first;
  for (const BookPage& page : book.pages) {
    if (!page.plan) continue;
    if (first.empty()) first = page.plan->device;
    if (page.plan->is_mixed() || page.plan->device != first) return true;
  }
  return false;
}

// How many GPUs the plan leaves unused: "0-7" where the row stands for several numbers of GPUs.
std::string unused_of(const PlanBook& book, const BookRow& row) {
  const int used = book.pages[row.first].plan->devices();
  const int least = book.pages[row.first].gpus - used, most = book.pages[row.last].gpus - used;
  return most > least ? fmt::format("{}-{}", least, most) : std::to_string(most);
}

// Without a plan dashes, and why there is none.
std::vector<std::string> cells_of(const PlanBook& book, const BookRow& row, const Shown& shown) {
  const BookPage& page = book.pages[row.first];
  const bool planned = page.plan.has_value();
  const auto cell = [&](auto text) { return planned ? text() : std::string("-"); };
  std::vector<std::string> cells{gpus_text(book, row)};
  cells.push_back(cell([&] { return rounded(page.step_time); }));
  cells.push_back(cell([&] { return rate(speed_of(page)); }));
  if (shown.price) {
    const double usd = planned ? usd_per_million_tokens_of(page) : 0.0;
    cells.push_back(usd > 0.0 ? fixed(usd, 4) : "-");
  }
  if (shown.unused) cells.push_back(cell([&] { return unused_of(book, row); }));
  cells.push_back(cell([&] { return gib(page.peak_memory); }));
  if (shown.sharding) {
    cells.push_back(planned && says_sharding(*page.plan) ? sharding_words(*page.plan) : "-");
  }
  if (shown.recompute) cells.push_back(cell([&] { return recompute_in_short(*page.plan); }));
  cells.push_back(!planned
                      ? page.why_not
                      : short_layout(*page.plan) +
                            (has_several_types(book) ? ", on " + device_words(*page.plan) : ""));
  return cells;
}

}  // namespace

double speed_of(const BookPage& page) {
  if (!page.plan) return 0.0;
  const double tokens = tokens_per_second(*page.plan, page.step_time);
  return tokens > 0.0 ? tokens : samples_per_second(*page.plan, page.step_time);
}

std::optional<double> gain_of(const PlanBook& book, std::size_t page) {
  if (page == 0 || !book.pages[page].plan) return std::nullopt;
  if (book.counts_types()) {
    const double fewer = speed_on_fewer(book, page);
    return fewer > 0.0 ? std::optional{speed_of(book.pages[page]) / fewer - 1.0} : std::nullopt;
  }
  if (!book.pages[page - 1].plan) return std::nullopt;
  return speed_of(book.pages[page]) / speed_of(book.pages[page - 1]) - 1.0;
}

TextTable book_table(const PlanBook& book, std::size_t most, std::size_t& left_out) {
  const std::vector<BookRow> all = rows_of(book);
  const std::vector<BookRow> rows = at_most(book, all, most);
  left_out = all.size() - rows.size();
  const Shown shown = shown_of(book);
  std::vector<Column> columns;
  columns.push_back({book.counts_types() ? joined(book.types, " + ") : "GPUs", false, 0});
  columns.push_back(right_column("step"));
  columns.push_back(right_column(has_tokens(book) ? "tokens/s" : "samples/s"));
  if (shown.price) columns.push_back({"$/Mtok", false, 2, 3});
  if (shown.unused) columns.push_back({"unused", false, 2, 4});
  columns.push_back({"GiB", false, 2, 2});
  if (shown.sharding) columns.push_back({"shards", true, 2, 1});
  if (shown.recompute) columns.push_back({"recompute", true, 2, 1});
  columns.push_back(left_column("plan"));
  TextTable table(std::move(columns));
  for (const BookRow& row : rows) table.add(cells_of(book, row, shown));
  return table;
}

std::vector<Json> book_rows(const PlanBook& book) {
  const bool several_types = has_several_types(book);
  std::vector<Json> rows;
  for (std::size_t p = 0; p < book.pages.size(); ++p) {
    const BookPage& page = book.pages[p];
    Json row = Json::object();
    row.set("gpus", page.gpus);
    if (book.counts_types()) {
      Json counts = Json::object();
      for (std::size_t t = 0; t < book.types.size(); ++t) {
        counts.set(book.types[t], page.of_types[t]);
      }
      row.set("gpus_of_type", std::move(counts));
    }
    if (!page.plan) {
      rows.push_back(std::move(row.set("why_not", page.why_not)));
      continue;
    }
    row.set("gpus_used", page.plan->devices());
    row.set("gpus_idle", page.gpus - page.plan->devices());
    row.set("step_time_ns", std::int64_t{page.step_time.count()});
    row.set("samples_per_s", samples_per_second(*page.plan, page.step_time));
    const double tokens = tokens_per_second(*page.plan, page.step_time);
    if (tokens > 0.0) row.set("tokens_per_s", tokens);
    const double usd = usd_per_million_tokens_of(page);
    if (usd > 0.0) row.set("cost_usd_per_mtok", usd);
    if (const auto gain = gain_of(book, p)) {
      row.set(book.counts_types() ? "gain_over_fewer_gpus" : "gain_over_page_before", *gain);
    }
    row.set("peak_memory_bytes", page.peak_memory.count);
    if (several_types) row.set("devices", device_words(*page.plan));
    rows.push_back(std::move(row.set("plan", layout_line(*page.plan))));
  }
  return rows;
}

}  // namespace penstock
