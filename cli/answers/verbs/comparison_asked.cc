#include "cli/answers/verbs/comparison_asked.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/near_files.h"

namespace penstock {
namespace {

bool is_degree(const std::string& key) { return is_among({"T", "P", "C", "EP", "D", "V"}, key); }

bool is_between(const GivenOption& option) {
  return is_among({"vs", "versus", "not", "against", "instead-of", "than", "rather-than", "or"},
                  plain_name(option.name));
}

// Values by key, "D" with "8" of "--dp 8" and of "dp=8".
using Degrees = std::map<std::string, std::string>;

void add_pairs(std::string text, Degrees& degrees) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream pairs(text);
  for (std::string pair; pairs >> pair;) {
    const std::size_t equals = pair.find('=');
    const std::string key = key_called(plain_name(pair.substr(0, equals)));
    if (equals != pair.npos && is_degree(key)) degrees[key] = pair.substr(equals + 1);
  }
}

// Whether the option is about degrees, which are then taken from it.
bool take_degrees(const GivenOption& option, Degrees& degrees) {
  const std::string key = key_called(plain_name(option.name));
  const std::size_t before = degrees.size();
  if (is_degree(key) && is_digits(option.value)) {
    degrees[key] = option.value;
    return true;
  }
  add_pairs(option.value, degrees);
  return degrees.size() > before;
}

// "PP=1,8": of the key that both say, else of the one that the other side says, which is 1 here.
std::string varied_of(const Degrees& one, const Degrees& other) {
  for (const auto& [key, value] : other) {
    const auto same = one.find(key);
    const std::string first = same == one.end() ? "1" : same->second;
    if (first != value) return fmt::format("{}={},{}", field_word(key), first, value);
  }
  return "";
}

// "--strategy fsdp,pp": one of them has a degree, and what has none of it is the other.
std::string varied_of_strategies(const std::string& value) {
  constexpr std::string_view kDegrees = "1,2,4,8";
  if (value.find(',') == value.npos) return "";
  std::istringstream parts(value);
  std::string found;
  for (std::string part; std::getline(parts, part, ',');) {
    std::string key = key_called(plain_word(part));
    if (part == "pipeline") key = "P";
    if (part == "tensor" || part == "megatron") key = "T";
    const bool is_known = is_degree(key) || is_among({"fsdp", "ddp", "zero", "zero1", "zero2",
                                                      "zero3", "fsdp2", "data"},
                                                     plain_word(part));
    if (!is_known) return "";
    const bool is_varied = is_degree(key) && key != "D";
    if (is_varied && found.empty()) found = field_word(key) + '=' + std::string(kDegrees);
  }
  return found;
}

bool names_strategies(const std::string& plain) {
  return is_among({"strategy", "strategies", "parallelism", "method", "methods", "mode", "modes",
                   "parallel", "kind", "layouts"},
                  plain);
}

// "<=4" and "<8" as "1,2,4".
std::string up_to(const std::string& value) {
  if (!value.starts_with('<')) return "";
  const bool is_closed = value.starts_with("<=");
  int most = 0;
  const char* begin = value.data() + (is_closed ? 2 : 1);
  const char* end = value.data() + value.size();
  const auto read = std::from_chars(begin, end, most);
  constexpr int kMost = 1024;
  if (read.ec != std::errc() || read.ptr != end || most < 1 || most > kMost) return "";
  std::string list = "1";
  for (int degree = 2; is_closed ? degree <= most : degree < most; degree *= 2) {
    list += fmt::format(",{}", degree);
  }
  return list;
}

// "TP=1,2" of "--tp <=2".
std::string varied_of_bound(const GivenOption& option) {
  const std::string key = key_called(plain_name(option.name)), list = up_to(option.value);
  return is_degree(key) && !list.empty() ? field_word(key) + '=' + list : "";
}

}  // namespace

std::string comparison_asked(const Arguments& words) {
  const Arguments models = typed_files(words).models;
  if (models.size() != 1) return "";
  Degrees one, other;
  bool is_other = false;
  std::vector<GivenOption> taken;
  Arguments varied;
  for (const GivenOption& option : given_words({}, words).options) {
    is_other = is_other || is_between(option);
    const bool is_compared = take_degrees(option, is_other ? other : one) || is_between(option);
    std::string setting = varied_of_bound(option);
    if (setting.empty() && names_strategies(plain_name(option.name))) {
      setting = varied_of_strategies(option.value);
    }
    if (!setting.empty()) varied.insert(varied.end(), {"--vary", setting});
    if (is_compared || !setting.empty()) taken.push_back(option);
  }
  if (const std::string setting = is_other ? varied_of(one, other) : ""; !setting.empty()) {
    varied.insert(varied.end(), {"--vary", setting});
  }
  if (varied.empty()) return "";
  if (!is_other) {  // degrees that are not compared are kept
    std::erase_if(taken, [](const GivenOption& option) {
      Degrees degrees;
      return take_degrees(option, degrees);
    });
  }
  Arguments command = with_taken("compare", {models.front()}, without(words, taken));
  command.insert(command.end(), varied.begin(), varied.end());
  return whole_command("compare", command);
}

std::string plans_to_compare(const Arguments& words) {
  Arguments plans;
  for (const std::string& word : words) {
    if (word.starts_with('-') || !word.ends_with(".json") || is_there(word)) return "";
    plans.push_back(word);
  }
  if (plans.size() != 2) return "";
  std::string help = plans[0] + " and " + plans[1] + " are not there; each is a plan's: ";
  for (const std::string& plan : plans) {
    const std::string name = plain_word(plan.substr(plan.rfind('/') + 1));
    const bool is_pipeline = name.starts_with("pipe") || name.starts_with("pp");
    const bool is_data = name.find("fsdp") != name.npos || name.find("ddp") != name.npos ||
                         name.starts_with("dp") || name.find("zero") != name.npos;
    Arguments command{model_at_hand(), "-o", plan};
    if (is_pipeline) command.insert(command.end(), {"--pin", "PP=4"});
    if (is_data) command.insert(command.end(), {"--pin", "PP=1"});
    help += whole_command("plan", command) + "; ";
  }
  return help + "then " + whole_command("report", plans) + " shows both";
}

}  // namespace penstock
