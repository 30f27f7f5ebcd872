// The tables that nvbandwidth prints are turned into the JSON that it writes with -j, so that one
// reader (nvbandwidth.cc) judges both. A state machine over lines: "Running X" names a test, a line
// with "(row)" or "(column)" describes its matrix, then come a line of column numbers and one line
// per row. Lines that are none of these (prompts, warnings) are passed over; a row with a cell that
// is no number is not taken.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/imports/measured_text.h"

namespace penstock {
namespace {

bool is_whole(std::string_view word) {
  return !word.empty() && word.size() < 8 &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

// "276.07" and "N/A"; empty: no cell. What is 0.00 was not measured.
std::string cell_of(std::string_view word) {
  if (word == "N/A") return "N/A";
  const std::string text(word);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = text.find_first_not_of("0123456789.") == std::string::npos &&
                         end == text.c_str() + text.size() && text.find('.') != std::string::npos;
  if (!is_number) return "";
  return value == 0.0 ? "N/A" : text;
}

class NvBandwidthText {
 public:
  Json read(std::string_view text, const std::string& file) {
    for (const TableLine& line : table_lines_of(text)) read_line(line);
    finish();
    if (tests_.elements().empty()) {
      throw_bad_input(fmt::format(
          "{}: no table of nvbandwidth was found, \"memcpy .. bandwidth (GB/s)\" and rows below "
          "it\nhelp: keep all that nvbandwidth printed, or write JSON with -j",
          file));
    }
    root_.set("GPU Device list", std::move(devices_)).set("testcases", std::move(tests_));
    return Json::object().set("nvbandwidth", std::move(root_));
  }

 private:
  void read_line(const TableLine& line) {
    constexpr std::string_view kRunning = "Running ";
    std::string_view text = line.text;
    text.remove_prefix(std::min(text.find_first_not_of(" \t>"), text.size()));
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    if (line.words.empty()) return;
    if (text.starts_with(kRunning)) {
      finish();
      name_ = text.substr(kRunning.size());
      while (name_.ends_with('.')) name_.pop_back();
    } else if (line.words[0] == "SUM" && line.words.size() > 1) {
      // Where "Running .." was cut off, the sum names the test.
      if (name_.empty()) name_ = line.words[1];
    } else if (text.find("(row)") != std::string_view::npos ||
               text.find("(column)") != std::string_view::npos) {
      if (name_.empty()) finish();
      description_ = text;  // of a test in both directions the last, as in its JSON
      columns_ = 0;
    } else if (!description_.empty()) {
      read_row(line);
    } else {
      read_head(text);
    }
  }

  void read_head(std::string_view text) {
    const auto behind = [text](std::string_view key) -> std::string {
      return text.starts_with(key) ? std::string(text.substr(key.size())) : "";
    };
    const std::pair<const char*, const char*> keys[] = {
        {"nvbandwidth Version: ", "version"},
        {"CUDA Runtime Version: ", "CUDA Runtime Version"},
        {"Driver Version: ", "Driver Version"}};
    for (const auto& [written, key] : keys) {
      if (const std::string value = behind(written); !value.empty()) root_.set(key, value);
    }
    const std::size_t colon = text.find(": ");
    const bool is_device = text.starts_with("Device ") && colon != std::string_view::npos;
    if (is_device) devices_.push(std::string(text.substr(0)));
  }

  // First the columns' numbers, then a row's number and its cells.
  void read_row(const TableLine& line) {
    if (columns_ == 0) {
      if (std::all_of(line.words.begin(), line.words.end(), is_whole)) columns_ = line.words.size();
      return;
    }
    if (line.words.size() != columns_ + 1) return;
    Json row = Json::array();
    for (std::size_t c = 1; c < line.words.size(); ++c) {
      const std::string cell = cell_of(line.words[c]);
      if (cell.empty()) return;
      row.push(cell);
    }
    rows_.push(std::move(row));
  }

  void finish() {
    const bool has_rows = !rows_.elements().empty();
    if (has_rows) {
      Json test = Json::object();
      test.set("name", name_.empty() ? "unnamed" : name_).set("status", "Passed");
      test.set("bandwidth_description", description_).set("bandwidth_matrix", std::move(rows_));
      tests_.push(std::move(test));
    }
    rows_ = Json::array();
    name_.clear();
    description_.clear();
    columns_ = 0;
  }

  Json root_ = Json::object(), devices_ = Json::array(), tests_ = Json::array();
  Json rows_ = Json::array();
  std::string name_, description_;
  std::size_t columns_ = 0;
};

}  // namespace

Json nvbandwidth_text_as_json(std::string_view text, const std::string& file) {
  return NvBandwidthText().read(text, file);
}

}  // namespace penstock
