#include "report/table.h"

#include <algorithm>

namespace penstock {

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

std::string TextTable::text(std::size_t width) const {
  std::string out;
  std::vector<std::size_t> columns{0};
  std::size_t used = width_of(0);
  for (std::size_t c = 1; c < columns_.size(); ++c) {
    const std::size_t needed = columns_[c].gap + width_of(c);
    if (used + needed > width && columns.size() > 1) {
      out += block(columns) + '\n';
      columns = {0};
      used = width_of(0);
    }
    columns.push_back(c);
    used += needed;
  }
  return out + block(columns);
}

}  // namespace penstock
