// Tests that did not pass, are in another unit, or say nothing about rows, columns and the flow of
// data are noted and not taken. A bidirectional test prints three matrices below each other: both
// directions and their sum. They become three parts, so that nobody takes a sum for a bandwidth.
#include "report/imports/nvbandwidth.h"

#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/imports/loose_number.h"
#include "report/imports/measured_text.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr double kLeastGbPerS = 1e-6, kMostGbPerS = 1e7;

std::string text_or_empty(JsonReader& object, std::string_view key) {
  const std::optional<JsonReader> value = object.get(key);
  if (!value) return "";
  const Json::Kind kind = value->value().kind();
  const bool is_text = kind == Json::Kind::kString || kind == Json::Kind::kNumber;
  return is_text ? value->value().text() : "";
}

// The word that "(row)" or "(column)" follows.
std::string word_before(const std::string& text, const std::string& mark) {
  const std::size_t end = text.find(mark);
  if (end == std::string::npos) return "";
  const std::size_t blank = text.rfind(' ', end);
  const std::size_t first = blank == std::string::npos ? 0 : blank + 1;
  return text.substr(first, end - first);
}

// False when it does not name rows, columns and the way data flows.
bool describe(const std::string& description, BandwidthMatrix& matrix) {
  matrix.row = word_before(description, "(row)");
  matrix.column = word_before(description, "(column)");
  matrix.both_ways = description.find("<->") != std::string::npos;
  const bool right = description.find("->") != std::string::npos;
  const bool left = description.find("<-") != std::string::npos;
  matrix.row_to_column = right;
  return !matrix.row.empty() && !matrix.column.empty() && (right || left);
}

using Cells = std::vector<std::vector<std::optional<double>>>;

Cells read_cells(const JsonReader& matrix) {
  Cells cells;
  for (const JsonReader& row : matrix.elements()) {
    std::vector<std::optional<double>>& line = cells.emplace_back();
    for (const JsonReader& cell : row.elements()) {
      const std::optional<double> value = loose_number(cell);
      if (value && !(*value >= kLeastGbPerS && *value <= kMostGbPerS)) {
        cell.expected("a bandwidth > 0 in GB/s, or \"N/A\"");
      }
      line.push_back(value);
    }
    if (line.empty() || line.size() != cells.front().size()) {
      row.fail(fmt::format("expected {} cells, as in the first row, got {}", cells.front().size(),
                           line.size()));
    }
  }
  return cells;
}

class NvBandwidthReader {
 public:
  explicit NvBandwidthReader(JsonReader root) : root_(std::move(root)) {}

  NvBandwidth read(const std::string& file) {
    measured_.file = file;
    measured_.version = text_or_empty(root_, "version");
    measured_.driver = text_or_empty(root_, "Driver Version");
    measured_.cuda = text_or_empty(root_, "CUDA Runtime Version");
    if (const auto devices = root_.get("GPU Device list")) {
      for (const JsonReader& device : devices->elements()) {
        measured_.devices.push_back(device.string());
      }
    }
    for (const char* key : {"error", "warning"}) {
      const std::string said = text_or_empty(root_, key);
      if (!said.empty()) measured_.notes.push_back(fmt::format("{}: {}", key, said));
    }
    if (const auto cases = root_.get("testcases")) {
      for (JsonReader& test : cases->elements()) add(test);
    }
    if (measured_.matrices.empty()) {
      throw_bad_input(
          fmt::format("{}: /nvbandwidth/testcases: no test that passed has a matrix of "
                      "bandwidths{}\nhelp: run nvbandwidth -j again",
                      file, measured_.notes.empty() ? "" : "; " + joined(measured_.notes, "; ")));
    }
    return std::move(measured_);
  }

 private:
  void add(JsonReader& test) {
    BandwidthMatrix matrix;
    matrix.test = test.at("name").string();
    const std::string status = test.at("status").string();
    if (status != "Passed") {
      note(matrix.test, "its status is " + status);
      return;
    }
    const std::string description = text_or_empty(test, "bandwidth_description");
    const std::optional<JsonReader> cells = test.get("bandwidth_matrix");
    if (!cells) {
      note(matrix.test, "it has no matrix");
    } else if (description.find("(GB/s)") == std::string::npos) {
      note(matrix.test, "its unit is not GB/s: " + description);
    } else if (!describe(description, matrix)) {
      note(matrix.test, "no rows and columns with an arrow: " + description);
    } else {
      add(std::move(matrix), *cells);
    }
  }

  // Of a bidirectional test n columns and 3 n rows: two directions and their sum.
  void add(BandwidthMatrix matrix, const JsonReader& reader) {
    Cells cells = read_cells(reader);
    if (cells.empty()) reader.fail("expected at least one row, got none");
    const std::size_t n = cells.front().size();
    const bool is_bidirectional = matrix.test.find("bidirectional") != std::string::npos;
    if (!is_bidirectional || cells.size() != 3 * n || matrix.row != matrix.column) {
      matrix.gb_per_s = std::move(cells);
      measured_.matrices.push_back(std::move(matrix));
      return;
    }
    std::size_t first = 0;
    for (const char* part : {"first", "second", "total"}) {
      matrix.part = part;
      const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(first);
      matrix.gb_per_s.assign(begin, begin + static_cast<std::ptrdiff_t>(n));
      measured_.matrices.push_back(matrix);
      first += n;
    }
  }

  void note(const std::string& test, const std::string& why) {
    measured_.notes.push_back(fmt::format("{}: not taken, {}", test, why));
  }

  JsonReader root_;
  NvBandwidth measured_;
};

}  // namespace

NvBandwidth read_nvbandwidth_output(std::string_view text, const std::string& file) {
  return read_nvbandwidth(
      is_json(text) ? parse_json(text, file) : nvbandwidth_text_as_json(text, file), file);
}

NvBandwidth read_nvbandwidth(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  const bool fits = json.kind() == Json::Kind::kObject && reader.has("nvbandwidth");
  if (!fits) {
    throw_bad_input(file +
                    ": expected what nvbandwidth prints with -j, an object with nvbandwidth\n"
                    "help: run for example: nvbandwidth -j > nvbandwidth.json");
  }
  return NvBandwidthReader(reader.at("nvbandwidth")).read(file);
}

}  // namespace penstock
