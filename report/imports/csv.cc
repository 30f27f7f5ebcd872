#include "report/imports/csv.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/values/byte_order_mark.h"
#include "core/values/error.h"

namespace penstock {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file)
      : text_(without_byte_order_mark(text)), file_(file) {}

  std::vector<CsvRow> read() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row = read_row();
      if (row.cells.size() > 1 || !row.cells.front().empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  CsvRow read_row() {
    CsvRow row{.line = line_, .cells = {}};
    while (true) {
      row.cells.push_back(is_at('"') ? read_quoted() : read_plain());
      if (is_at(',')) {
        ++at_;
        continue;
      }
      if (is_at('\r')) ++at_;
      if (is_at('\n')) {
        ++at_;
        ++line_;
      } else if (at_ < text_.size()) {
        fail(
            fmt::format("expected a comma or the end of the line after cell {}", row.cells.size()));
      }
      return row;
    }
  }

  std::string read_plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
    std::string cell(text_.substr(at_, end - at_));
    at_ = end;
    if (is_at('"')) fail("a quote inside a cell that does not begin with one");
    return cell;
  }

  std::string read_quoted() {
    const int first_line = line_;
    std::string cell;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        cell += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        cell += text_[at_++];
      } else {
        ++at_;
        return cell;
      }
    }
    line_ = first_line;
    fail("a quote is not closed");
  }

  [[nodiscard]] bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }

  [[noreturn]] void fail(const std::string& what) const {
    throw_bad_input(
        fmt::format("{}:{}: {}\nhelp: give the table as it was downloaded", file_, line_, what));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<CsvRow> read_csv(std::string_view text, const std::string& file) {
  return CsvReader(text, file).read();
}

}  // namespace penstock
