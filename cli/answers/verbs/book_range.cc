#include "cli/answers/verbs/book_range.h"

#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/words/is_digits.h"

namespace penstock {
namespace {

bool has(const std::string& plain, const char* part) {
  return plain.find(part) != std::string::npos;
}

bool counts_machines(const std::string& plain) {
  return has(plain, "node") || has(plain, "gpu") || has(plain, "world-size");
}

// "1:4", "1-4" and "1..4" as "1..4"; empty of other texts.
std::string range_of(const std::string& value) {
  for (const std::string sign : {"..", ":", "-"}) {
    const std::size_t at = value.find(sign);
    if (at == std::string::npos) continue;
    const std::string least = value.substr(0, at), most = value.substr(at + sign.size());
    return is_digits(least) && is_digits(most) ? fmt::format("{}..{}", least, most) : "";
  }
  return "";
}

}  // namespace

BookRange book_range(const Arguments& words) {
  BookRange asked;
  std::string least, most;
  std::vector<GivenOption> taken;
  for (const GivenOption& given : given_words({}, words).options) {
    const std::string plain = plain_name(given), range = range_of(given.value);
    if (!counts_machines(plain)) continue;
    const bool is_least = has(plain, "min") && is_digits(given.value),
               is_most = has(plain, "max") && is_digits(given.value);
    if (range.empty() && !is_least && !is_most) continue;
    taken.push_back(given);
    if (has(plain, "node")) asked.option = "--nodes";
    if (!range.empty()) asked.range = range;
    if (is_least) least = given.value;
    if (is_most) most = given.value;
  }
  if (asked.range.empty() && !most.empty())
    asked.range = (least.empty() ? "1" : least) + ".." + most;
  asked.rest = asked.range.empty() ? words : without(words, taken);
  return asked;
}

}  // namespace penstock
