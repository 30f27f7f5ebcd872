// One pass over the lines. The first line that is not blank says what the file is: a brace or a
// bracket begins JSON Lines, a digit a CSV without names, anything else the names of a CSV's
// columns. What a line of JSON holds besides lengths is skipped, since such files carry the samples
// themselves; so are columns of other names.
#include "core/files/read_sample_lengths.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/values/byte_order_mark.h"
#include "core/values/error.h"
#include "core/values/json.h"

namespace penstock {
namespace {

constexpr int kLongest = 1 << 24;
constexpr std::size_t kMostSamples = 50'000'000;

constexpr std::array<std::string_view, 3> kOneLength{"tokens", "length", "input_ids"};
struct PairNames {
  std::string_view first, second;
};
constexpr std::array kTwoLengths{PairNames{"encoder", "decoder"},
                                 PairNames{"input_tokens", "target_tokens"},
                                 PairNames{"context_tokens", "generated_tokens"}};

constexpr std::string_view kHelp =
    "help: one sample a line: an integer, \"encoder,decoder\", a CSV with a column \"tokens\", or "
    "JSON with a field \"tokens\" (docs/file_formats.md)";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// What a line says, before its names are looked at.
struct Cells {
  std::vector<std::string> values;
  bool closed = true;  // every quote that was opened
};

// Commas between cells; a cell in double quotes may hold commas, and "" for a quote.
Cells cells_of(std::string_view line) {
  Cells cells;
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) cell += line[++i];
      if (!doubled) quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.values.emplace_back(trimmed(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  cells.values.emplace_back(trimmed(cell));
  cells.closed = !quoted;
  return cells;
}

class LengthsReader {
 public:
  LengthsReader(std::string_view text, const std::string& file)
      : rest_(without_byte_order_mark(text)), file_(file) {}

  SampleLengths read() {
    if (!next_line()) fail("there are no samples\n" + std::string(kHelp));
    const char first = line_.front();
    if (line_ == "{" || line_ == "[") {
      fail("one JSON value over several lines is not JSON Lines\n" + std::string(kHelp));
    }
    if (first == '{' || first == '[') {
      do add(sample_of_json());
      while (next_line());
    } else {
      if (first < '0' || first > '9') {
        read_columns();
        if (!next_line()) fail("there are no samples below the names of the columns");
      }
      do add(sample_of_cells());
      while (next_line());
    }
    return std::move(result_);
  }

 private:
  struct Found {
    SampleLength sample;
    bool is_pair = false;
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw_bad_input(file_ + ":" + std::to_string(line_number_) + ": " + message);
  }

  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = trimmed(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++line_number_;
      if (!line_.empty()) return true;
    }
    return false;
  }

  void add(const Found& found) {
    auto& samples = result_.samples;
    if (samples.empty()) result_.pairs = found.is_pair;
    if (found.is_pair != result_.pairs) {
      fail(found.is_pair ? "two lengths here, and one in the lines above; give one or two in all"
                         : "one length here, and two in the lines above; give one or two in all");
    }
    if (samples.size() == kMostSamples) fail("more than 50,000,000 samples; give a part of them");
    samples.push_back(found.sample);
  }

  [[noreturn]] void no_length(std::string_view name, std::string_view value, int least) const {
    fail((name.empty() ? "" : std::string(name) + ": ") + "expected a number of tokens from " +
         std::to_string(least) + " to " + std::to_string(kLongest) + ", got \"" +
         std::string(value.substr(0, 40)) + "\"");
  }

  [[nodiscard]] int length_of(std::string_view text, std::string_view name, int least) const {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least ||
        value > kLongest) {
      no_length(name, text, least);
    }
    return value;
  }

  // A target may be empty: nothing is computed for it.
  [[nodiscard]] Found pair_of(const std::string& first, const std::string& second,
                              const PairNames& names) const {
    return {{length_of(first, names.first, 1), length_of(second, names.second, 0)}, true};
  }

  [[nodiscard]] std::vector<std::string> cells() const {
    Cells cells = cells_of(line_);
    if (!cells.closed)
      fail("a quote is not closed in this line; a cell cannot continue in the next");
    return std::move(cells.values);
  }

  void read_columns() {
    const std::vector<std::string> names = cells();
    columns_ = names.size();
    const auto column = [&](std::string_view name) -> std::optional<std::size_t> {
      const auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) return {};
      return static_cast<std::size_t>(at - names.begin());
    };
    for (const PairNames& pair : kTwoLengths) {
      const auto first = column(pair.first), second = column(pair.second);
      if (!first || !second) continue;
      first_ = *first;
      second_ = second;
      pair_names_ = pair;
      return;
    }
    for (const std::string_view name : kOneLength) {
      if (const auto found = column(name)) {
        first_ = *found;
        one_name_ = name;
        return;
      }
    }
    fail("no column says how long the samples are\n" + std::string(kHelp));
  }

  [[nodiscard]] Found sample_of_cells() const {
    const std::vector<std::string> values = cells();
    if (columns_ == 0) {
      if (values.size() == 1) return {{length_of(values[0], "", 1)}, false};
      if (values.size() == 2) return pair_of(values[0], values[1], {});
      fail("expected one or two lengths, got " + std::to_string(values.size()) + " cells\n" +
           std::string(kHelp));
    }
    if (values.size() != columns_) {
      fail("expected " + std::to_string(columns_) + " cells, as the columns have names, got " +
           std::to_string(values.size()));
    }
    if (second_) return pair_of(values[first_], values[*second_], pair_names_);
    return {{length_of(values[first_], one_name_, 1)}, false};
  }

  // Of a number, or of a list of token ids.
  [[nodiscard]] int length_in(const Json& value, std::string_view name, int least) const {
    if (value.kind() == Json::Kind::kNumber) return length_of(value.text(), name, least);
    if (value.kind() != Json::Kind::kArray) no_length(name, to_text(value), least);
    return length_of(std::to_string(value.elements().size()), name, least);
  }

  [[nodiscard]] Found sample_of_json() const {
    // A parser's message names line 1 of what it was given, so the file's line is part of the name.
    const Json json = parse_json(line_, file_ + ":" + std::to_string(line_number_));
    if (json.kind() == Json::Kind::kNumber) return {{length_in(json, "", 1)}, false};
    if (json.kind() == Json::Kind::kArray) {
      const auto& parts = json.elements();
      if (parts.size() != 2) fail("expected [encoder, decoder]\n" + std::string(kHelp));
      return {{length_in(parts[0], "", 1), length_in(parts[1], "", 0)}, true};
    }
    for (const PairNames& pair : kTwoLengths) {
      const Json* first = json.find(pair.first);
      const Json* second = json.find(pair.second);
      if (first == nullptr || second == nullptr) continue;
      return {{length_in(*first, pair.first, 1), length_in(*second, pair.second, 0)}, true};
    }
    for (const std::string_view name : kOneLength) {
      if (const Json* value = json.find(name)) return {{length_in(*value, name, 1)}, false};
    }
    fail("no field says how long the sample is\n" + std::string(kHelp));
  }

  std::string_view rest_;
  std::string file_;
  std::string_view line_;
  int line_number_ = 0;
  // Of a CSV with names: how many columns, and which hold lengths.
  std::size_t columns_ = 0, first_ = 0;
  std::optional<std::size_t> second_;
  PairNames pair_names_;
  std::string_view one_name_;
  SampleLengths result_;
};

}  // namespace

SampleLengths read_sample_lengths(std::string_view text, const std::string& file) {
  return LengthsReader(text, file).read();
}

}  // namespace penstock
