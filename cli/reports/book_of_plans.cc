#include "cli/reports/book_of_plans.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/io/progress.h"
#include "cli/io/report_command.h"
#include "cli/io/write_output.h"
#include "cli/options/question.h"
#include "cli/verbs/verbs.h"
#include "core/values/json_reader.h"
#include "report/book_table.h"
#include "report/flat_table.h"
#include "report/result_json.h"
#include "report/words.h"
#include "studies/book_rungs.h"
#include "studies/find_book.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRows = 14;

bool has_plan(const PlanBook& book) {
  return std::any_of(book.pages.begin(), book.pages.end(),
                     [](const BookPage& page) { return page.plan.has_value(); });
}

std::string text_of(const PlanBook& book, const std::string& title,
                    const std::optional<std::string>& output, Screen screen) {
  std::size_t left_out = 0;
  std::string text = wrapped(title, screen.width(), "", "  ") + '\n';
  text += book_table(book, kMostRows, left_out).text(screen.width());
  if (left_out > 0) {
    text += wrapped(
        fmt::format("{} that add less {} not shown; --format csv prints every {}.",
                    count_of(static_cast<std::int64_t>(left_out), "plan"),
                    left_out == 1 ? "is" : "are", book.counts_types() ? "page" : "number of GPUs"),
        screen.width(), "", "");
  }
  if (!book.counts_types() && device_types_of(book).size() > 1) {
    text += '\n' + wrapped(
                       "A page's plan uses the types of devices that are best for so many GPUs, "
                       "and does not say what to run when one type is lost. A book that does "
                       "counts each type: --gpus TYPE=0..8:4,TYPE=0..16:4; of one type: --device "
                       "TYPE.",
                       screen.width(), "", "");
  } else if (output) {
    text += fmt::format("\nThe book is in {0}; next: penstock morph --book {0} --trace TRACE.csv\n",
                        shell_word(*output));
  } else {
    text += "\nWith -o book.json: a book of these plans, for penstock morph\n";
  }
  return text;
}

std::vector<Json> flat_rows(const PlanBook& book) {
  std::vector<Json> rows;
  for (const Json& row : book_rows(book)) append_flat(rows.emplace_back(Json::object()), row);
  return rows;
}

Json json_of(const Question& question, const PlanBook& book) {
  Json json = answer_json("plan");
  set_question(json, question);
  Json pages = Json::array();
  for (Json& row : book_rows(book)) pages.push(std::move(row));
  return json.set("pages", std::move(pages));
}

}  // namespace

Answer book_of_plans(const Question& question, const BookSizes& sizes, const std::string& title,
                     const std::optional<std::string>& output, TableFormat format, Screen screen,
                     const AskedOf& asked_of) {
  WatchedSearch watched(question.budget);
  std::optional<PlanBook> book =
      sizes.of_types
          ? find_book_of_types(question, sizes.of_types->types, sizes.of_types->counts, watched)
          : find_book(question, sizes.gpus, watched);
  if (!book) return {"", kStopped, "the search was stopped before the book was complete\n"};
  book->tool_version = version();
  const std::string file = to_text(write_plan_book(*book)) + '\n';
  const int exit = has_plan(*book) ? kYes : kNo;
  if (output && *output == "-") return {file, exit};
  if (output) write_output(*output, file);
  switch (format) {
    case TableFormat::kJson:
      return json_answer(json_of(question, *book), exit);
    case TableFormat::kCsv:
      return {flat_table(flat_rows(*book)).csv(), exit};
    case TableFormat::kMarkdown: {
      std::size_t left_out = 0;
      return {book_table(*book, book->pages.size(), left_out).markdown(), exit};
    }
    case TableFormat::kText:
      break;
  }
  std::string text = text_of(*book, title, output, screen);
  if (exit == kNo) {
    text += '\n' + wrapped(fewest_gpus_text(question, asked_of, watched, book->types),
                           screen.width(), "", "  ");
  }
  return report_answer(text, exit);
}

}  // namespace penstock
