#include "cli/options/table_format.h"

#include <fmt/format.h>

#include "cli/options/parse.h"
#include "report/words.h"

namespace penstock {

void TableFormatOptions::declare(Options& options, const std::string& table) {
  options.option("--format", "text|csv|markdown|json",
                 fmt::format("csv: {}, with exact values, and the units in the column names (RFC "
                             "4180); markdown: a table to read; json: the same as --json",
                             table),
                 format);
  options.flag("--json", "the result as one JSON object", json);
}

TableFormat TableFormatOptions::chosen() const {
  if (!format) return json ? TableFormat::kJson : TableFormat::kText;
  if (*format == "json") return TableFormat::kJson;
  if (json) {
    bad_option("--json", fmt::format("--format {} is given too", *format), "keep one of them");
  }
  if (*format == "text" || *format == "table") return TableFormat::kText;
  if (*format == "csv") return TableFormat::kCsv;
  if (*format == "markdown" || *format == "md") return TableFormat::kMarkdown;
  if (format->find(',') != std::string::npos) {
    bad_option("--format",
               fmt::format("'{}' are several, and one is printed", format->substr(0, 60)),
               fmt::format("one form at a time: --format {}",
                           joined(parse_list("--format", *format), " or --format ")));
  }
  for (const std::string_view picture :
       {"svg", "png", "html", "pdf", "jpg", "perfetto", "chrome"}) {
    if (*format != picture) continue;
    bad_option("--format", fmt::format("'{}' is none of text, csv, markdown, json", picture),
               "the name of a picture says its format, without --format: penstock schedule ... "
               "-o step.svg draws a schedule, penstock trace plan.json -o step.svg a plan, "
               "penstock report plan.json -o report.html makes a page");
  }
  unknown_word("--format", *format, {"text", "csv", "markdown", "json"});
}

bool TableFormatOptions::is_table() const {
  return chosen() == TableFormat::kCsv || chosen() == TableFormat::kMarkdown;
}

void TableFormatOptions::refuse_with_table(bool given, const std::string& option) const {
  if (!is_table() || !given) return;
  bad_option("--format", fmt::format("a table has no place for the answer to {}", option),
             "choose text or json");
}

}  // namespace penstock
