// Tables of text with commas, as spreadsheets write them: cells in quotes may hold commas, line
// ends and doubled quotes. Private to report/imports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct CsvRow {
  int line = 0;  // where it begins, counted from 1
  std::vector<std::string> cells;
};

// Empty lines are passed over. Error{kBadInput} for a quote that is not closed or stands inside a
// cell.
std::vector<CsvRow> read_csv(std::string_view text, const std::string& file);

}  // namespace penstock
