// --format and --json: in which form a result is printed.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"

namespace penstock {

enum class TableFormat { kText, kCsv, kMarkdown, kJson };

struct TableFormatOptions {
  std::optional<std::string> format;
  bool json = false;

  // `table`: what --format csv and markdown print, "one row per plan".
  void declare(Options& options, const std::string& table);
  // Error{kBadInput} for an unknown format, and for one beside --json.
  [[nodiscard]] TableFormat chosen() const;
  // CSV or Markdown: nothing but a table.
  [[nodiscard]] bool is_table() const;
  // Error{kBadInput} when `option`, whose answer no table holds, is given with one.
  void refuse_with_table(bool given, const std::string& option) const;
};

}  // namespace penstock
