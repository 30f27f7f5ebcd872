// A text is read whole or refused, with the option, the text and what would be right; std::stoi and
// its like would take the first digits of a slip. Where people write numbers as other tools do
// (1e6, 1,024, 8x8, 4k, 8..64) the message says what to write instead. The nearest word is the one
// at the least edit distance, if that is at most a third of what was typed.
#include "cli/options/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "cli/options/field_words.h"
#include "core/values/edit_distance.h"
#include "core/values/error.h"

namespace penstock {
namespace {

bool is_unit_of_time(std::string_view word) {
  for (const std::string_view unit : {"ns", "us", "ms", "s"}) {
    if (word == unit) return true;
  }
  return false;
}

std::string range_text(int least, int most) {
  if (most == std::numeric_limits<int>::max()) return fmt::format("{} or more", least);
  return fmt::format("from {} to {}", least, most);
}

// Long nonsense is cut in messages.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return fmt::format("'{}'", text);
  return fmt::format("'{}'...", text.substr(0, kMost));
}

// "8..64", "1-8", "1:8".
bool is_range(std::string_view text) {
  const std::size_t first = text.find_first_not_of("0123456789");
  if (first == 0 || first == std::string_view::npos) return false;
  const std::size_t second = text.find_first_not_of(".-:", first);
  return second != std::string_view::npos && second > first &&
         text.substr(first, second - first) != "." &&
         text.find_first_not_of("0123456789", second) == std::string_view::npos;
}

// "4-16" -> "4,8,16", "1..3" -> "1,2,3": what a list of such values looks like.
std::string values_in_range(std::string_view text) {
  const auto number = [](std::string_view digits) {
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr std::int64_t kLargest = 1'000'000'000'000;  // which can be doubled
    return std::min(value, kLargest);
  };
  const std::size_t dots = text.find_first_not_of("0123456789");
  const std::int64_t one = number(text.substr(0, dots));
  const std::int64_t other = number(text.substr(text.find_first_of("0123456789", dots)));
  const std::int64_t first = std::max<std::int64_t>(std::min(one, other), 1);
  const std::int64_t last = std::max(one, other);
  constexpr int kMost = 12;
  std::string list;
  int count = 0;
  for (std::int64_t value = first; value <= last && value > 0 && count < kMost; ++count) {
    list += (list.empty() ? "" : ",") + std::to_string(value);
    value = last % (value * 2) == 0 || last / first >= 4 ? value * 2 : value + 1;
  }
  return list;
}

// A number as people write it elsewhere: "1e6", "1,024", "8x8", "4k". What to write instead, or
// nothing.
std::string plain_number(std::string_view text) {
  std::string digits;
  double factor = 1.0, product = 1.0;
  const auto end_factor = [&] {
    double value = 0.0;
    const char* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, value);
    product = result.ec == std::errc() && result.ptr == end ? product * value * factor : -1.0;
    digits.clear();
    factor = 1.0;
  };
  for (const char c : text) {
    if (c == ',' || c == '_') continue;
    if (c == 'x' || c == '*') {
      end_factor();
    } else if ((c == 'k' || c == 'K') && factor == 1.0) {
      factor = 1024.0;
    } else if ((c == 'm' || c == 'M') && factor == 1.0) {
      factor = 1024.0 * 1024.0;
    } else {
      digits.push_back(c);
    }
  }
  end_factor();
  const bool whole = product >= 0.0 && product < 1e15 && product == std::floor(product);
  return whole ? fmt::format("{}", static_cast<std::int64_t>(product)) : "";
}

// "20000h", "4GB", "$2.5", "5%": the number alone, where its unit is the option's; or nothing.
std::string without_unit(std::string_view option, std::string_view text) {
  constexpr std::array<std::array<std::string_view, 2>, 16> kUnits{{{"hours", "h"},
                                                                    {"hours", "hr"},
                                                                    {"hours", "hours"},
                                                                    {"hours", "hour"},
                                                                    {"gib", "GB"},
                                                                    {"gib", "GiB"},
                                                                    {"gib", "G"},
                                                                    {"gib", "gb"},
                                                                    {"gb-per-s", "GB/s"},
                                                                    {"percent", "%"},
                                                                    {"usd", "USD"},
                                                                    {"length", "tokens"},
                                                                    {"batch", "samples"},
                                                                    {"batch", "sequences"},
                                                                    {"minutes", "min"},
                                                                    {"minutes", "m"}}};
  const bool is_price = text.starts_with('$') && option.find("usd") != std::string_view::npos;
  const std::size_t begin = is_price ? 1 : 0;
  const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
  const std::string_view unit = text.substr(end);
  const bool is_own =
      std::any_of(kUnits.begin(), kUnits.end(), [&](const std::array<std::string_view, 2>& row) {
        return unit == row[1] && option.find(row[0]) != std::string_view::npos;
      });
  if (end == begin || !(is_own || (is_price && unit.empty()))) return "";
  return std::string(text.substr(begin, end - begin));
}

// "plna" for "plan": one slip, though two replacements.
bool swaps_neighbours(std::string_view word, std::string_view known) {
  if (word.size() != known.size()) return false;
  const auto at = std::mismatch(word.begin(), word.end(), known.begin());
  const auto i = static_cast<std::size_t>(at.first - word.begin());
  return i + 1 < word.size() && word[i] == known[i + 1] && word[i + 1] == known[i] &&
         word.substr(i + 2) == known.substr(i + 2);
}

}  // namespace

void bad_option(std::string_view option, const std::string& what, const std::string& help) {
  throw_bad_input(fmt::format("{}: {}\nhelp: {}", option, what, help));
}

int parse_int(std::string_view option, std::string_view text, int least, int most) {
  const std::string help = fmt::format("give a whole number, {}", range_text(least, most));
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {
    bad_option(option, shown(text) + " is far out of range", help);
  }
  if (result.ec != std::errc() || result.ptr != end) {
    const bool takes_list = option.starts_with("--vary ") || option.size() == 2;
    if (is_range(text) && takes_list) {
      const std::string list = values_in_range(text);
      bad_option(option, shown(text) + " is a range, and values are listed here",
                 "write the values with commas" + (list.empty() ? "" : ", for example " + list));
    }
    if (is_range(text)) {
      bad_option(option, shown(text) + " is a range, and one number belongs here",
                 "penstock compare takes several values, with commas: --vary gpus=8,16,32");
    }
    const std::string plain = plain_number(text), unitless = without_unit(option, text);
    bad_option(option, shown(text) + " is not a whole number",
               !plain.empty()                                                ? "write " + plain
               : unitless.empty() || unitless.find('.') != std::string::npos ? help
                                                                             : "write " + unitless);
  }
  if (value < least) bad_option(option, shown(text) + " is too small", help);
  if (value > most) bad_option(option, shown(text) + " is too large", help);
  return static_cast<int>(value);
}

double parse_number(std::string_view option, std::string_view text, double least, double most) {
  const std::string help = fmt::format("give a number from {} to {}", least, most);
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) {
    const std::string unitless = without_unit(option, text);
    bad_option(option, shown(text) + " is not a number",
               unitless.empty() ? help : "write " + unitless);
  }
  if (value < least || value > most) bad_option(option, shown(text) + " is out of range", help);
  return value;
}

Duration parse_time(std::string_view option, std::string_view text) {
  if (const auto time = parse_duration(text)) return *time;
  if (text == "0") return Duration{};  // zero of any unit
  if (parse_decimal_duration(text, TimeUnit::kMilliseconds)) {
    bad_option(option, shown(text) + " has no unit",
               fmt::format("write {}ms, or another of ns, us, ms, s", text));
  }
  if (text.starts_with('-')) {
    bad_option(option, shown(text) + " is negative", "a time is 0 or more, for example 18.522ms");
  }
  bad_option(
      option, shown(text) + " is not a time",
      fmt::format("give a number and a unit (ns, us, ms, s), at most {}, for example 18.522ms",
                  to_text(kLongestDuration)));
}

Duration parse_budget(std::string_view option, std::string_view text) {
  constexpr std::int64_t kSecondsPerMinute = 60, kSecondsPerHour = 3600;
  for (const auto& [unit, seconds] :
       {std::pair{"min", kSecondsPerMinute}, std::pair{"m", kSecondsPerMinute},
        std::pair{"h", kSecondsPerHour}}) {
    if (!text.ends_with(unit)) continue;
    const std::string number(text.substr(0, text.size() - std::string_view(unit).size()));
    if (const auto time = parse_duration(number + "s")) {
      if (time->count() <= kLongestDuration.count() / seconds) return *time * seconds;
    }
  }
  if (parse_decimal_duration(text, TimeUnit::kSeconds)) {
    bad_option(option, shown(text) + " has no unit",
               fmt::format("write {}s for seconds, or {}min", text, text));
  }
  if (!parse_duration(text)) {
    bad_option(option, shown(text) + " is not a time", "write for example 30s, 10min or 2h");
  }
  return parse_time(option, text);
}

Bytes parse_gib(std::string_view option, std::string_view text) {
  const double gib = parse_number(option, text, 0.0, 1e6);
  return {static_cast<std::int64_t>(std::llround(gib * 1024.0 * 1024.0 * 1024.0))};
}

bool parse_on_off(std::string_view option, std::string_view text) {
  for (const std::string_view yes : {"on", "true", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"off", "false", "no", "0"}) {
    if (text == no) return false;
  }
  bad_option(option, shown(text) + " is neither on nor off", "write on or off");
}

std::vector<std::string> parse_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      bad_option(option, shown(text) + " has an empty entry",
                 "separate the entries by single commas");
    }
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

namespace {

// "TP=8 PP=4", "TP=8, PP=4" and "TP=8; PP=4" as "TP=8,PP=4".
std::string in_commas(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == ';') c = ',';
    if (c != ' ') {
      if (c == ',' && out.ends_with(' ')) out.pop_back();
      out += c;
    } else if (!out.empty() && out.back() != ',' && out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  std::replace(out.begin(), out.end(), ' ', ',');
  return out;
}

}  // namespace

KeyValues parse_key_values(std::string_view option, std::string_view text) {
  KeyValues result;
  for (std::string& part : parse_list(option, in_commas(text))) {
    const std::size_t colon = part.find(':');
    const bool is_inside = colon != std::string::npos && colon > 0 && colon + 1 < part.size();
    if (is_inside && part.find('=') == std::string::npos) part[colon] = '=';
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
      // "--tp 2,4", which is --pin T=2,4.
      if (option == "--pin" && !result.empty() &&
          part.find_first_not_of("0123456789") == std::string::npos) {
        const auto& [key, value] = result.back();
        bad_option(option, shown(part) + " is a second value",
                   fmt::format("give one; penstock compare ... --vary {}={},{} plans each",
                               field_word(key), value, part));
      }
      const bool is_unit = !result.empty() && is_unit_of_time(part);
      if (is_unit) {
        const auto& [key, value] = result.back();
        bad_option(option, shown(part) + " stands apart from its number",
                   fmt::format("write {}={}{}", key, value, part));
      }
      bad_option(option, shown(part) + " is not KEY=VALUE",
                 option == "--cost"      ? "write for example --cost F=10ms,B=20ms,C=0.5ms"
                 : option == "--why-not" ? "write for example --why-not TP=8,PP=1 or schedule=1f1b"
                                         : "write for example TP=8,PP=4");
    }
    const std::string key = part.substr(0, equals);
    const bool twice = std::any_of(result.begin(), result.end(),
                                   [&key](const auto& other) { return other.first == key; });
    if (twice) bad_option(option, fmt::format("{} is given twice", key), "keep one of them");
    result.emplace_back(key, part.substr(equals + 1));
  }
  return result;
}

int parse_count(std::string_view option, const std::optional<std::string>& text, int least,
                int otherwise, int most) {
  return text ? parse_int(option, *text, least, most) : otherwise;
}

double parse_rate(std::string_view option, const std::optional<std::string>& text, double most,
                  double otherwise) {
  return text ? parse_number(option, *text, 0.0, most) : otherwise;
}

double parse_share(std::string_view option, const std::optional<std::string>& text,
                   double otherwise) {
  const double value = parse_rate(option, text, 1.0, otherwise);
  if (value >= 1.0) bad_option(option, "expected less than 1, got " + *text, "0.9 is usual");
  return value;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 80;
  for (const std::string& one : known) {
    if (swaps_neighbours(word, one)) return fmt::format("did you mean '{}'?", one);
  }
  const auto begins = [word](const std::string& one) { return one.starts_with(word); };
  const auto longer = std::find_if(known.begin(), known.end(), begins);
  if (word.size() > 3 && std::count_if(known.begin(), known.end(), begins) == 1) {
    return fmt::format("did you mean '{}'?", *longer);
  }
  if (!known.empty() && word.size() <= kLongest) {
    const auto nearest = std::min_element(known.begin(), known.end(),
                                          [word](const std::string& a, const std::string& b) {
                                            return edit_distance(word, a) < edit_distance(word, b);
                                          });
    const bool extends = nearest->starts_with(word) || word.starts_with(*nearest);
    const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
    if (edit_distance(word, *nearest) <= most || (extends && word.size() > 1)) {
      return fmt::format("did you mean '{}'?", *nearest);
    }
  }
  return fmt::format("known: {}", fmt::join(known, ", "));
}

namespace {

// What other tools call one of the words that an option takes; the first row whose word it knows.
struct OtherWord {
  std::string_view typed, word;
};
constexpr std::array kOtherWords{
    OtherWord{"chrome", "perfetto"},
    OtherWord{"chrome-trace", "perfetto"},
    OtherWord{"json", "perfetto"},
    OtherWord{"trace", "perfetto"},
    OtherWord{"tensorboard", "kineto"},
    OtherWord{"pytorch", "kineto"},
    OtherWord{"torch", "kineto"},
    OtherWord{"hta", "kineto"},
    OtherWord{"pdf", "svg"},
    OtherWord{"jpg", "png"},
    OtherWord{"jpeg", "png"},
    OtherWord{"md", "markdown"},
    OtherWord{"latex", "markdown"},
    OtherWord{"tex", "markdown"},
    OtherWord{"tsv", "csv"},
    OtherWord{"excel", "csv"},
    OtherWord{"xlsx", "csv"},
    OtherWord{"table", "text"},
    OtherWord{"txt", "text"},
    OtherWord{"plain", "text"},
    OtherWord{"human", "text"},
    OtherWord{"yaml", "json"},
    OtherWord{"jsonl", "json"},
    OtherWord{"annotations", "github"},
    OtherWord{"sarif", "github"},
    OtherWord{"adam", "adamw"},
    OtherWord{"full-duplex", "duplex"},
    OtherWord{"half-duplex", "simplex"},
    OtherWord{"fully_shard", "fsdp"},
    OtherWord{"full_shard", "fsdp"},
    OtherWord{"shard_grad_op", "zero2"},
    OtherWord{"no_shard", "none"},
    OtherWord{"off", "none"},
    OtherWord{"no", "none"},
    OtherWord{"false", "none"},
    OtherWord{"true", "full"},
    OtherWord{"yes", "full"},
    OtherWord{"on", "full"},
    OtherWord{"blocking", "sender-blocks"},
    OtherWord{"async", "ideal"},
    OtherWord{"sync", "rendezvous"},
};

}  // namespace

void unknown_word(std::string_view option, std::string_view text,
                  const std::vector<std::string>& known, std::string_view what) {
  const std::string unknown = fmt::format("unknown {}'{}'", what, text.substr(0, 60));
  for (const OtherWord& other : kOtherWords) {
    if (other.typed != text) continue;
    if (std::find(known.begin(), known.end(), other.word) == known.end()) continue;
    bad_option(option, unknown, fmt::format("did you mean '{}'?", other.word));
  }
  bad_option(option, unknown, did_you_mean(text, known));
}

}  // namespace penstock
