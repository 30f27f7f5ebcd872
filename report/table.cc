// Fitting into a width has three steps: drop columns that may be dropped (those in which all rows
// are equal first, then by Column::drop), break the names in the first column down to sixteen
// characters, and move what is left into a second block that repeats the first column. Columns that
// are joined stay in one block. A table is plain text: CSV and Markdown hold all columns.
#include "report/table.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "report/words.h"

namespace penstock {
namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// Blanks at the ends are those of an indented text table.
std::string markdown_cell(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  std::string out;
  for (const char c : text.substr(first, text.find_last_not_of(' ') - first + 1)) {
    if (c == '|' || c == '\\') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

// A name that is too long: its first line, and the others, further in.
std::pair<std::string, std::string> divided(const std::string& name, std::size_t width) {
  const std::size_t indent = std::min(name.find_first_not_of(' '), name.size());
  const std::string lines = wrapped(std::string_view(name).substr(indent), width,
                                    std::string(indent, ' '), std::string(indent + 2, ' '));
  const std::size_t end = lines.find('\n');
  return {lines.substr(0, end), lines.substr(end + 1)};
}

}  // namespace

std::size_t TextTable::width_of(std::size_t column) const {
  std::size_t width = columns_[column].header.size();
  for (const auto& row : rows_) width = std::max(width, row[column].size());
  return width;
}

std::string TextTable::block(const std::vector<std::size_t>& columns, std::size_t names) const {
  std::string out;
  const auto add_line = [&](const auto& cell) {
    std::string line, below;
    for (const std::size_t c : columns) {
      const bool is_first = c == columns.front();
      if (!is_first) line.append(columns_[c].gap, ' ');
      std::string text = cell(c);
      if (is_first && text.size() > names) std::tie(text, below) = divided(text, names);
      const std::size_t wide = is_first ? names : width_of(c);
      const std::string padding(wide - std::min(wide, text.size()), ' ');
      line += columns_[c].left ? text + padding : padding + text;
    }
    out += line.erase(line.find_last_not_of(' ') + 1) + '\n' + below;
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].header; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  }
  return out;
}

std::size_t TextTable::width_of(const std::vector<std::size_t>& columns) const {
  std::size_t width = 0;
  for (const std::size_t c : columns) {
    width += (c == columns.front() ? 0 : columns_[c].gap) + width_of(c);
  }
  return width;
}

bool TextTable::differs(std::size_t column) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const auto& row) { return row[column] != rows_.front()[column]; });
}

std::vector<std::size_t> TextTable::kept(std::size_t width) const {
  std::vector<std::size_t> columns(columns_.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  // What tells the rows apart goes last.
  const auto stays = [this](std::size_t column) {
    const int drop = columns_[column].drop;
    return std::tuple(drop == 0, differs(column), -drop);
  };
  while (width_of(columns) > width) {
    const auto least =
        std::min_element(columns.begin(), columns.end(),
                         [&](std::size_t a, std::size_t b) { return stays(a) < stays(b); });
    if (columns_[*least].drop == 0) break;
    columns.erase(least);
  }
  return columns;
}

bool TextTable::shows(const std::string& header, std::size_t width) const {
  const std::vector<std::size_t> columns = kept(width);
  return std::any_of(columns.begin(), columns.end(),
                     [&](std::size_t c) { return columns_[c].header == header; });
}

// From column i of those that are shown up to the last one that is joined to it, with the gaps.
std::size_t TextTable::width_of_group(const std::vector<std::size_t>& shown, std::size_t i) const {
  std::size_t width = columns_[shown[i]].gap + width_of(shown[i]);
  for (std::size_t j = i + 1; j < shown.size() && columns_[shown[j]].joined; ++j) {
    width += columns_[shown[j]].gap + width_of(shown[j]);
  }
  return width;
}

// Names that leave too little room for the columns beside them are broken, but not into less than
// 16 columns.
std::size_t TextTable::width_of_names(const std::vector<std::size_t>& shown,
                                      std::size_t width) const {
  if (!columns_[0].left) return width_of(0);
  constexpr std::size_t kLeast = 16;
  std::size_t most = 0, all = 0;
  for (std::size_t i = 1; i < shown.size(); ++i) {
    all += columns_[shown[i]].gap + width_of(shown[i]);
    if (!columns_[shown[i]].joined) most = std::max(most, width_of_group(shown, i));
  }
  // Broken names are easier to read than a table in two blocks.
  if (width >= all + kLeast) return std::min(width_of(0), width - all);
  return std::min(width_of(0), std::max(kLeast, width > most ? width - most : 0));
}

std::string TextTable::text(std::size_t width) const {
  std::string out;
  std::vector<std::size_t> columns{0};
  const std::vector<std::size_t> shown = kept(width);
  const std::size_t names = width_of_names(shown, width);
  std::size_t used = names;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::size_t c = shown[i];
    if (c == 0) continue;
    if (used + width_of_group(shown, i) > width && columns.size() > 1 && !columns_[c].joined) {
      out += block(columns, names) + '\n';
      columns = {0};
      used = names;
    }
    columns.push_back(c);
    used += columns_[c].gap + width_of(c);
  }
  return out + block(columns, names);
}

std::string TextTable::csv() const {
  if (columns_.empty()) return "";
  std::string out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    out += (c > 0 ? "," : "") + csv_cell(columns_[c].header);
  }
  out += "\r\n";
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) out += (c > 0 ? "," : "") + csv_cell(row[c]);
    out += "\r\n";
  }
  return out;
}

std::string TextTable::markdown() const {
  if (columns_.empty()) return "";
  std::string out = "|";
  for (const Column& column : columns_) out += ' ' + markdown_cell(column.header) + " |";
  out += "\n|";
  for (const Column& column : columns_) out += column.left ? " :--- |" : " ---: |";
  out += '\n';
  for (const auto& row : rows_) {
    out += '|';
    for (const std::string& cell : row) out += ' ' + markdown_cell(cell) + " |";
    out += '\n';
  }
  return out;
}

}  // namespace penstock
