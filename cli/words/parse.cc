// A text is read whole or refused, with the option, the text and what would be right; std::stoi and
// its like would take the first digits of a slip. Where people write numbers as other tools do
// the message says what to write instead (number_spellings.h); words are in near_words.cc.
#include "cli/words/parse.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/number_spellings.h"
#include "cli/words/pasted_pairs.h"
#include "cli/words/schedule_spelled.h"
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

// "4 8"
bool are_numbers_apart(std::string_view text) {
  return text.find_first_not_of("0123456789 ") == std::string_view::npos &&
         text.find(' ') != std::string_view::npos && !text.starts_with(' ') && !text.ends_with(' ');
}

[[noreturn]] void refuse_blanks(std::string_view option, std::string_view text) {
  std::string list(text);
  std::replace(list.begin(), list.end(), ' ', ',');
  bad_option(option, shown(text) + " is not a whole number", "write them with commas: " + list);
}

// "4M tokens", "4k-tokens", "4,194,304 tokens" where samples are counted.
void refuse_tokens(std::string_view option, std::string_view text) {
  const std::string word = plain_word(text);
  const std::size_t unit = word.find("tok");
  if (unit == std::string::npos || word.find_first_of("0123456789") != 0) return;
  bad_option(option, shown(text) + " counts tokens, and samples belong here",
             fmt::format("write --global-batch-tokens {}", number_of_tokens(word.substr(0, unit))));
}

// "8xA100", "64 GPUs" and "2 nodes" where GPUs are counted.
void refuse_counted_things(std::string_view option, std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::size_t begin = std::min(text.find_first_not_of(" xX*-", end), text.size());
  const std::string thing = plain_word(text.substr(begin));
  const bool is_thing = end > 0 && end <= 9 && thing.size() > 1 &&
                        std::isalpha(static_cast<unsigned char>(thing[0])) != 0;
  if (option != "--gpus" || !is_thing) return;
  const std::string_view count = text.substr(0, end);
  const bool are_nodes = thing.starts_with("node") || thing.starts_with("machine") ||
                         thing.starts_with("host") || thing.starts_with("server");
  const std::string of_eights = are_nodes ? plain_number(fmt::format("{}x8", count)) : "";
  bad_option(option, shown(text) + " is not a whole number",
             are_nodes ? fmt::format("the GPUs of all nodes are counted, of {} with 8 each: {} {}",
                                     count, option, of_eights)
                       : fmt::format("write {} {}", option, count));
}

// "$2.50" without quotes: the shell puts its second argument, nothing, in the place of $2.
void refuse_shells_price(std::string_view option, std::string_view text) {
  if (option.find("usd") == std::string_view::npos || !text.starts_with('.')) return;
  bad_option(option,
             shown(text) + " begins with a point: of a price such as $2.50 the shell takes $2 away",
             fmt::format("write the dollars as a bare number, without $: {} 2.50 (or 0.50, if less "
                         "than a dollar was meant)",
                         option));
}

// "2048,4096" where one number belongs and several can be compared.
void refuse_list(std::string_view option, std::string_view text) {
  constexpr std::array<std::string_view, 4> kCompared{"--gpus", "--global-batch",
                                                      "--sequence-length", "--layout seq"};
  const bool is_compared = std::find(kCompared.begin(), kCompared.end(), option) != kCompared.end();
  const bool is_list = text.find(',') != std::string_view::npos &&
                       text.find_first_not_of("0123456789,") == std::string_view::npos;
  if (!is_compared || !is_list || !without_thousands(text, ',').empty()) return;
  const std::string key(option.substr(option.find_last_of("- ") + 1));
  bad_option(
      option, shown(text) + " are several values, and one belongs here",
      fmt::format("give one; penstock compare ... --vary {}={} plans for each",
                  option.starts_with("--layout") ? key : std::string(option.substr(2)), text));
}

// "128kk": what it may have meant.
std::string help_for_slip(std::string_view text, double kilo, const std::string& otherwise) {
  const std::string meant = before_slip(text),
                    number = meant.empty() ? "" : plain_number(meant, kilo);
  if (number.empty()) return otherwise;
  return meant == number ? "write " + number
                         : fmt::format("write {}, if {} is meant", number, meant);
}

// "2048..8192" where one number belongs: what takes several.
[[noreturn]] void refuse_range(std::string_view option, std::string_view text) {
  constexpr std::array<std::string_view, 4> kVaried{"--gpus", "--global-batch", "--sequence-length",
                                                    "--layout seq"};
  const bool is_varied = std::find(kVaried.begin(), kVaried.end(), option) != kVaried.end();
  const bool is_length = option == "--sequence-length" || option == "--layout seq";
  const std::string key(is_length ? "sequence-length"
                                  : option.substr(option.find_last_of("- ") + 1));
  std::string help = "penstock compare takes several values, with commas: --vary gpus=8,16,32";
  if (is_varied) {
    help = fmt::format("penstock compare plans for several values: --vary {}={}",
                       option == "--global-batch" ? "global-batch" : key, values_in_range(text));
  }
  if (is_length) {
    help =
        "samples of different lengths are planned by penstock dynamic config.json --lengths "
        "lengths.csv --device h100-sxm --gpus 64 (a file with a length a line); " +
        help;
  }
  bad_option(option, shown(text) + " is a range, and one number belongs here", help);
}

}  // namespace

void refuse_second_value(std::string_view option, std::string_view text, std::string_view word) {
  constexpr std::string_view kBetween = " ,";
  const std::size_t at = text.find(',' + std::string(word)), equals = text.rfind('=', at);
  if (at == std::string_view::npos || equals == std::string_view::npos) return;
  const std::size_t begin = text.find_last_of(kBetween, equals) + 1;
  const std::size_t end = std::min(text.find_first_not_of("0123456789,", equals + 1), text.size());
  const std::string_view key = text.substr(begin, equals - begin);
  std::string_view values = text.substr(equals + 1, end - equals - 1);
  if (at > end) return;
  if (end < text.size() && text[end] != ' ') values = values.substr(0, values.rfind(','));
  bad_option(
      option, fmt::format("{} is a second value of {}", shown(word), key),
      fmt::format("one layout is asked about: {}={}; penstock compare ... --vary {}={} plans "
                  "for each",
                  key, values.substr(0, values.find(',')), key, values));
}

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
    if (text.size() > 1 && text.starts_with('=')) {  // "-P=4"
      bad_option(option, shown(text) + " begins with a sign",
                 fmt::format("write {} {}", option, text.substr(1)));
    }
    if (const int length = length_in_kilo(option, text, most); length > 0) return length;
    if (option == "--global-batch") refuse_tokens(option, text);
    refuse_counted_things(option, text);
    if (option.starts_with("--layout") && (text == "auto" || text == "search" || text == "best")) {
      bad_option(option, shown(text) + " is not a whole number",
                 "write a number here; penstock plan searches it");
    }
    const bool takes_list = option.starts_with("--vary ") || option.size() == 2;
    if (is_range(text) && takes_list) {
      const std::string list = values_in_range(text);
      bad_option(option, shown(text) + " is a range, and values are listed here",
                 "write the values with commas" + (list.empty() ? "" : ", for example " + list));
    }
    if (is_range(text)) refuse_range(option, text);
    refuse_list(option, text);
    if (are_numbers_apart(text) && takes_list) refuse_blanks(option, text);
    if (are_numbers_apart(text)) {
      const std::string whole = without_thousands(text, ' ');
      bad_option(
          option, shown(text) + " is not a whole number",
          whole.empty() ? fmt::format("give one, {}", range_text(least, most)) : "write " + whole);
    }
    // Batches and lengths come in powers of 1024, steps of 1000.
    const bool is_count = option == "--steps" || option == "--samples" || option == "--seed";
    const std::string plain = plain_number(text, is_count ? 1000.0 : 1024.0),
                      unitless = without_unit(option, text);
    const bool has_unit = !unitless.empty() && unitless.find('.') == std::string::npos;
    bad_option(option, shown(text) + " is not a whole number",
               !plain.empty() ? "write " + plain
               : has_unit     ? "write " + unitless
                              : help_for_slip(text, is_count ? 1000.0 : 1024.0, help));
  }
  if (value < least) {
    bad_option(option, shown(text) + " is too small",
               option == "--gpus"
                   ? help + "; --gpus 8..64 plans for each, and says the fewest that do"
                   : help);
  }
  if (value > most && option == "--global-batch") {
    bad_option(option, shown(text) + " is too large",
               fmt::format("samples are counted, {} at most; if tokens were meant: "
                           "--global-batch-tokens {}",
                           most, value));
  }
  if (value > most) bad_option(option, shown(text) + " is too large", help);
  return static_cast<int>(value);
}

double parse_number(std::string_view option, std::string_view text, double least, double most) {
  const std::string help = option.find("usd") != std::string_view::npos
                               ? "give US dollars as a number, for example 2.50"
                               : fmt::format("give a number from {} to {}", least, most);
  refuse_shells_price(option, text);
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) {
    std::string plain = without_unit(option, text);
    if (plain.empty()) plain = with_point(text);
    if (plain.empty()) plain = plain_price(option, text);
    const bool counts_hours = option.ends_with("-hours") && !plain.empty();
    bad_option(option, shown(text) + " is not a number",
               plain.empty()  ? help
               : counts_hours ? fmt::format("it counts hours: write {} {}", option, plain)
                              : "write " + plain);
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
  if (const std::string own = with_own_unit(text); !own.empty()) {
    bad_option(option, shown(text) + " is not a time", "write " + own);
  }
  if (text.starts_with('-')) {
    bad_option(option, shown(text) + " is negative", "a time is 0 or more, for example 18.522ms");
  }
  bad_option(
      option, shown(text) + " is not a time",
      fmt::format("give a number and a unit (ns, us, ms, s), at most {}, for example 18.522ms",
                  to_text(kLongestDuration)));
}

namespace {

// "30 minutes" as "30min"; empty where no number stands before the unit, as in "half an hour".
std::string budget_without_blanks(std::string_view text) {
  if (text.find(' ') == std::string_view::npos) return "";
  std::string joined(text);
  std::erase(joined, ' ');
  for (const auto& [unit, written] :
       {std::pair{"minutes", "min"}, std::pair{"minute", "min"}, std::pair{"mins", "min"},
        std::pair{"min", "min"}, std::pair{"hours", "h"}, std::pair{"hour", "h"},
        std::pair{"h", "h"}}) {
    if (!joined.ends_with(unit)) continue;
    const std::string number = joined.substr(0, joined.size() - std::string_view(unit).size());
    return parse_duration(number + 's') ? number + written : "";
  }
  return parse_duration(joined) ? joined : "";
}

constexpr const char* kNoBudgetOfMoney =
    "leave it out: it limits the search (--budget 30s, 10min), and no option limits money; with "
    "--usd-per-gpu-hour 2.5 and the tokens of the training (--tokens 2T) its days and its price "
    "stand beside each plan";

// "$5000" without quotes: $5, an argument of the shell's, is nothing, and 000 is left.
void refuse_shells_money(std::string_view option, std::string_view text) {
  const bool is_rest = text.size() > 1 && text.starts_with('0') &&
                       text.find_first_not_of("0123456789") == std::string_view::npos;
  const bool is_list =
      text.find(',') != std::string_view::npos && text.starts_with(",");  // "$5,000"
  if (option != "--budget" || (!is_rest && !is_list)) return;
  bad_option(option, shown(text) + " is no time (of $5000 the shell takes $5 away, and leaves 000)",
             kNoBudgetOfMoney);
}

}  // namespace

Duration parse_budget(std::string_view option, std::string_view text) {
  constexpr Duration kLongSearch{7'200'000'000'000};  // two hours
  constexpr std::int64_t kSecondsPerMinute = 60, kSecondsPerHour = 3600;
  const std::string_view limits = option == "--budget"
                                      ? "; it limits the search (of the training, --tokens 2T "
                                        "--usd-per-gpu-hour 2.5 prints days and price)"
                                      : "";
  if (text.find_first_of('$') != std::string_view::npos || text.find("usd") != text.npos ||
      text.find("USD") != text.npos || text.find("EUR") != text.npos) {
    bad_option(option, shown(text) + " is no time", kNoBudgetOfMoney);
  }
  refuse_shells_money(option, text);
  if (const std::string joined = budget_without_blanks(text); !joined.empty()) {
    bad_option(option, shown(text) + " is not a time", "write " + joined);
  }
  for (const auto& [unit, seconds] :
       {std::pair{"min", kSecondsPerMinute}, std::pair{"m", kSecondsPerMinute},
        std::pair{"h", kSecondsPerHour}}) {
    if (!text.ends_with(unit)) continue;
    const std::string number(text.substr(0, text.size() - std::string_view(unit).size()));
    if (const auto time = parse_duration(number + "s")) {
      if (time->count() <= kLongestDuration.count() / seconds) return *time * seconds;
    }
  }
  if (const auto seconds = parse_decimal_duration(text, TimeUnit::kSeconds)) {
    // Nobody lets a search run so long: it is money.
    if (!limits.empty() && seconds->count() > kLongSearch.count()) {
      bad_option(option, shown(text) + " is no time", kNoBudgetOfMoney);
    }
    bad_option(option, shown(text) + " has no unit",
               fmt::format("write {}s for seconds, or {}min{}", text, text, limits));
  }
  if (const std::string own = with_own_unit(text); !own.empty()) {
    bad_option(option, shown(text) + " is not a time", "write " + own);
  }
  if (!parse_duration(text)) {
    bad_option(option, shown(text) + " is not a time",
               fmt::format("write for example 30s, 10min or 2h{}", limits));
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
  if (are_numbers_apart(text)) refuse_blanks(option, text);
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

std::string pair_called(std::string_view text) {
  std::string word = plain_word(text);
  std::erase_if(word, [](char c) { return c == ' ' || c == '-'; });
  if (word == "fsdp" || word == "zero1" || word == "zero2" || word == "zero3") {
    return "sharding=" + word;
  }
  if (word == "selective" || word == "full") return "recompute=" + word;
  const std::string_view schedule = schedule_spelled(text);
  return schedule.empty() ? "" : fmt::format("schedule={}", schedule);
}

namespace {

// "sharding=zero3" as an option and its value.
std::string with_blank(std::string pair) {
  std::replace(pair.begin(), pair.end(), '=', ' ');
  return pair;
}

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
  if (const std::string pairs = pasted_pairs(text);
      text.find_first_of("{\"'") != std::string_view::npos && !pairs.empty()) {
    bad_option(option, shown(text) + " is not KEY=VALUE", "write " + pairs);
  }
  for (std::string& part : parse_list(option, in_commas(text))) {
    const std::size_t colon = part.find(':');
    const bool is_inside = colon != std::string::npos && colon > 0 && colon + 1 < part.size();
    if (is_inside && part.find('=') == std::string::npos) part[colon] = '=';
    const std::size_t equals = part.find('=');
    if (const std::string prose = equals == std::string::npos ? pairs_in_prose(text) : "";
        !prose.empty() && text.find(' ') != std::string_view::npos && option != "--cost") {
      bad_option(option, fmt::format("'{}' is not KEY=VALUE", part.substr(0, 60)),
                 option == "--pin" ? "write " + pairs_as_options(prose)
                                   : fmt::format("write {} {}", option, prose));
    }
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
      if (const std::string pairs = pasted_pairs(text); !pairs.empty()) {
        bad_option(option, shown(text) + " is not KEY=VALUE", "write " + pairs);
      }
      if (const std::string pair = pair_called(text);
          !pair.empty() && (option == "--why-not" || option == "--pin")) {
        bad_option(
            option, shown(text) + " is not KEY=VALUE",
            option == "--why-not" ? "write --why-not " + pair : "write --" + with_blank(pair));
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

}  // namespace penstock
