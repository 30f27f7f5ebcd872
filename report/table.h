// Tables: of text for a terminal or a batch log, as CSV, and in Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

struct Column {
  std::string header;
  bool left = false;    // numbers stand right, words left
  std::size_t gap = 2;  // blanks before it
  // Left out where the table is too wide: the largest first, those in which all rows are equal
  // before those that tell rows apart; 0: never.
  int drop = 0;
  bool joined = false;  // stands in the same block as the column before it
};

inline Column left_column(std::string header) {
  return {.header = std::move(header), .left = true};
}
inline Column right_column(std::string header) { return {.header = std::move(header)}; }

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Every line ends in a newline and has no blanks before it. Where the columns do not fit into
  // `width`, those that may be dropped are; what still does not fit follows in a second block,
  // which repeats the first column; a first column of words that is too wide even
  // then goes over several lines.
  [[nodiscard]] std::string text(std::size_t width) const;
  // Whether text(width) has a column of this name.
  [[nodiscard]] bool shows(const std::string& header, std::size_t width) const;
  // RFC 4180: lines end in CR LF; cells with commas, quotes or line breaks are quoted. Nothing when
  // there are no columns.
  [[nodiscard]] std::string csv() const;
  // A table of GitHub's Markdown; in cells | and \ are escaped, and a line break is a blank.
  [[nodiscard]] std::string markdown() const;

 private:
  [[nodiscard]] std::size_t width_of(std::size_t column) const;
  [[nodiscard]] std::size_t width_of(const std::vector<std::size_t>& columns) const;
  // Whether two rows have different cells there.
  [[nodiscard]] bool differs(std::size_t column) const;
  [[nodiscard]] std::vector<std::size_t> kept(std::size_t width) const;
  [[nodiscard]] std::size_t width_of_group(const std::vector<std::size_t>& shown,
                                           std::size_t i) const;
  [[nodiscard]] std::size_t width_of_names(const std::vector<std::size_t>& shown,
                                           std::size_t width) const;
  [[nodiscard]] std::string block(const std::vector<std::size_t>& columns, std::size_t names) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace penstock
