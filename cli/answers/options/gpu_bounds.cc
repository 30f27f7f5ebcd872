#include "cli/answers/options/gpu_bounds.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

enum class Bound { kNone, kLeast, kMost };
struct BoundedThing {
  Bound bound = Bound::kNone;
  std::string thing;  // "gpus" of "min-gpus"
};

// "min-gpus", "gpus-min", "at-most-gpus".
BoundedThing bounded(const std::string& word) {
  struct Row {
    std::string_view word;
    Bound bound;
  };
  constexpr std::array kRows{Row{"at-least", Bound::kLeast}, Row{"at-most", Bound::kMost},
                             Row{"min", Bound::kLeast},      Row{"max", Bound::kMost},
                             Row{"minimum", Bound::kLeast},  Row{"maximum", Bound::kMost},
                             Row{"least", Bound::kLeast},    Row{"most", Bound::kMost},
                             Row{"lower", Bound::kLeast},    Row{"upper", Bound::kMost}};
  for (const Row& row : kRows) {
    const std::string own(row.word);
    if (word.starts_with(own + '-')) return {row.bound, word.substr(own.size() + 1)};
    if (word.ends_with('-' + own)) return {row.bound, word.substr(0, word.size() - own.size() - 1)};
  }
  return {};
}

bool are_gpus(const std::string& thing) {
  return is_among({"gpus", "gpu", "num-gpus", "n-gpus", "ngpus", "world-size", "devices", "ranks",
                   "gpu-count", "number-of-gpus", "cards"},
                  thing);
}

bool are_nodes(const std::string& thing) {
  return is_among({"nodes", "node", "num-nodes", "nnodes", "n-nodes", "machines", "hosts"}, thing);
}

struct Range {
  std::vector<std::string> names;
  std::int64_t least = 0, most = 0, gpus = 0;
  bool of_nodes = false;
};

std::int64_t number_in(const std::string& text) {
  constexpr std::size_t kMostDigits = 6;
  return is_digits(text) && text.size() <= kMostDigits ? std::stoll(text) : 0;
}

Range range_in(const Arguments& arguments, const Asked& asked) {
  Range range;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::size_t equals = arguments[i].find('=');
    const std::string name = arguments[i].substr(0, equals);
    const std::string value = equals != std::string::npos ? arguments[i].substr(equals + 1)
                              : i + 1 < arguments.size()  ? arguments[i + 1]
                                                          : "";
    const std::int64_t number = number_in(value);
    if (!name.starts_with("--") || number == 0) continue;
    if (name == "--gpus") range.gpus = number;
    const BoundedThing found = bounded(plain_word(name.substr(2)));
    const bool of_nodes = are_nodes(found.thing);
    if (asked.has(name) || (!of_nodes && !are_gpus(found.thing))) continue;
    (found.bound == Bound::kLeast ? range.least : range.most) = number;
    range.of_nodes = of_nodes;
    range.names.push_back(name);
  }
  return range;
}

// "16,32,64"
std::string doubled(std::int64_t least, std::int64_t most) {
  std::vector<std::string> numbers;
  for (std::int64_t n = least; n < most; n *= 2) numbers.push_back(std::to_string(n));
  numbers.push_back(std::to_string(most));
  return joined(numbers, ",");
}

// Where several numbers make a book of plans.
CountsMeant of_book(const Range& range, const std::string& option) {
  const std::int64_t most = range.most > 0 ? range.most : range.gpus;
  const std::string text =
      fmt::format("{}..{}", range.least, most > 0 ? std::to_string(most) : "N");
  CountsMeant meant{range.names, {}, ""};
  if (range.gpus == 0 && most > 0) meant.words = {option, text};
  meant.help = fmt::format(
      "a range is one option: write {} {}{}, which plans for each number and "
      "says the fewest that do (with -o book.json they are a book, which "
      "penstock morph replays)",
      option, text, range.gpus > 0 ? fmt::format(" in place of --gpus {}", range.gpus) : "");
  return meant;
}

}  // namespace

std::optional<CountsMeant> range_of_gpus(const Arguments& arguments, const Asked& asked) {
  const Range range = range_in(arguments, asked);
  const bool is_inside_out = range.most > 0 && range.least > range.most;
  if (!asked.has("--gpus") || range.names.empty() || is_inside_out) return std::nullopt;
  const std::string option = range.of_nodes && asked.has("--nodes") ? "--nodes" : "--gpus";
  if (range.of_nodes && option == "--gpus") return std::nullopt;
  if (range.least == 0) {
    if (range.gpus > 0) return std::nullopt;
    return CountsMeant{
        range.names,
        {option, std::to_string(range.most)},
        fmt::format("write {} {}: that is the most that a plan may use", option, range.most)};
  }
  if (asked.has("--every-candidate") && !asked.has("--vary")) return of_book(range, option);
  if (!asked.has("--vary") || range.most == 0 || range.of_nodes) return std::nullopt;
  const std::string values = "gpus=" + doubled(range.least, range.most);
  return CountsMeant{range.names, {"--vary", values}, "write --vary " + values};
}

}  // namespace penstock
