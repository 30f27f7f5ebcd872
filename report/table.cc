#include "report/table.h"

#include <algorithm>
#include <numeric>

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

}  // namespace

std::size_t TextTable::width_of(std::size_t column) const {
  std::size_t width = columns_[column].header.size();
  for (const auto& row : rows_) width = std::max(width, row[column].size());
  return width;
}

std::string TextTable::block(const std::vector<std::size_t>& columns) const {
  std::string out;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (const std::size_t c : columns) {
      if (c != columns.front()) line.append(columns_[c].gap, ' ');
      const std::string& text = cell(c);
      const std::string padding(width_of(c) - text.size(), ' ');
      line += columns_[c].left ? text + padding : padding + text;
    }
    out += line.erase(line.find_last_not_of(' ') + 1) + '\n';
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

std::vector<std::size_t> TextTable::kept(std::size_t width) const {
  std::vector<std::size_t> columns(columns_.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  while (width_of(columns) > width) {
    const auto least = std::max_element(
        columns.begin(), columns.end(),
        [this](std::size_t a, std::size_t b) { return columns_[a].drop < columns_[b].drop; });
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

std::string TextTable::text(std::size_t width) const {
  std::string out;
  std::vector<std::size_t> columns{0};
  std::size_t used = width_of(0);
  const std::vector<std::size_t> shown = kept(width);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::size_t c = shown[i];
    if (c == 0) continue;
    std::size_t needed = columns_[c].gap + width_of(c);
    const std::size_t alone = needed;
    for (std::size_t j = i + 1; j < shown.size() && columns_[shown[j]].joined; ++j) {
      needed += columns_[shown[j]].gap + width_of(shown[j]);
    }
    if (used + needed > width && columns.size() > 1 && !columns_[c].joined) {
      out += block(columns) + '\n';
      columns = {0};
      used = width_of(0);
    }
    columns.push_back(c);
    used += alone;
  }
  return out + block(columns);
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
