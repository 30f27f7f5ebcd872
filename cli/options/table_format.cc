#include "cli/options/table_format.h"

#include <string_view>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

// What other verbs draw or write by the name of a file; empty of other forms.
std::string_view help_for_drawn(std::string_view form) {
  if (form == "html" || form == "htm" || form == "page") {
    return "leave it out: penstock plan ... -o plan.json writes the plan, then penstock report "
           "plan.json -o report.html makes a page of it";
  }
  if (form == "perfetto" || form == "chrome") {
    return "leave it out: penstock plan ... -o plan.json writes the plan, then penstock trace "
           "plan.json -o step.json writes such a trace of it";
  }
  for (const std::string_view picture : {"svg", "png", "pdf", "jpg", "jpeg"}) {
    if (form != picture) continue;
    return "the name of a picture says its format, without --format: penstock schedule ... "
           "-o step.svg draws a schedule, penstock trace plan.json -o step.svg a plan, "
           "penstock report plan.json -o report.html makes a page";
  }
  return "";
}

}  // namespace

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
  if (const std::string_view help = help_for_drawn(*format); !help.empty()) {
    bad_option("--format", fmt::format("'{}' is none of text, csv, markdown, json", *format),
               std::string(help));
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
