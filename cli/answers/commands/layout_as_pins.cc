#include "cli/answers/commands/layout_as_pins.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/shell_word.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostGpus = 131072;

class Pins {
 public:
  void read(const std::string& layout) {
    std::string list = layout;
    std::replace(list.begin(), list.end(), ' ', ',');
    for (const std::string& part : parted_at_commas(list)) {
      const std::size_t equals = part.find('=');
      if (equals != std::string::npos) {
        read_pair(part.substr(0, equals), part.substr(equals + 1));
      } else if (ends_in_pin_) {  // "mbs=1,2,4", of which a pin has one
        pins_.pop_back();
        ends_in_pin_ = false;
        is_several_ = true;
      }
    }
  }

  // With as many GPUs as that takes, where nothing else says it: a prediction has one replica
  // unless several are said.
  [[nodiscard]] Arguments options(bool has_gpus) const {
    Arguments words;
    if (!pins_.empty()) words = {"--pin", joined(pins_, ",")};
    words.insert(words.end(), others_.begin(), others_.end());
    const bool is_known = !pins_.empty() && !is_several_ && gpus_ <= kMostGpus;
    if (is_known && !has_gpus) words.insert(words.end(), {"--gpus", fmt::format("{}", gpus_)});
    return words;
  }

 private:
  void read_pair(const std::string& typed, const std::string& value) {
    const std::string key = key_called(typed);
    ends_in_pin_ = false;
    if (key == "global-batch" || key == "sequence-length") {
      others_.insert(others_.end(), {"--" + key, value});
    } else if (is_among({"T", "P", "D", "V", "C", "b"}, key)) {
      pins_.push_back(field_word(key) + '=' + value);
      ends_in_pin_ = true;
      if (is_among({"T", "P", "D", "C"}, key)) count(value);
    } else if (is_among({"recompute", "sharding", "schedule", "placement"}, typed)) {
      others_.insert(others_.end(), {"--" + typed, value});
    }
  }

  void count(const std::string& value) {
    constexpr std::size_t kMostDigits = 6;
    const bool is_degree = is_digits(value) && value.size() <= kMostDigits && gpus_ <= kMostGpus;
    gpus_ = is_degree ? gpus_ * std::stoi(value) : kMostGpus + 1;
  }

  std::vector<std::string> pins_;
  Arguments others_;
  std::int64_t gpus_ = 1;
  bool ends_in_pin_ = false, is_several_ = false;
};

std::string key_of(const std::string& pin) { return key_called(pin.substr(0, pin.find('='))); }

}  // namespace

Arguments with_layout_as_pins(std::string_view verb, const Arguments& words) {
  if (verb != "plan" && verb != "compare") return words;
  Pins pins;
  std::vector<GivenOption> layouts;
  for (const GivenOption& option : given_words({}, words).options) {
    if (option.name != "--layout") continue;
    pins.read(option.value);
    layouts.push_back(option);
  }
  Arguments others = without(words, layouts);
  const bool has_gpus = value_of(words, {"--gpus", "--nodes"}).has_value();
  const Arguments options = layouts.empty() ? Arguments{} : pins.options(has_gpus);
  others.insert(others.end(), options.begin(), options.end());
  return others;
}

std::string with_pins_in_place(std::string message, const Arguments& typed) {
  constexpr std::string_view kHelp = "\nhelp: write --pin ";
  const std::size_t at = message.find(kHelp);
  const bool has_pin = std::any_of(typed.begin(), typed.end(), [](const std::string& word) {
    return word.starts_with("--pin");
  });
  if (at == std::string::npos || has_pin || typed.size() < 2) return message;
  const std::size_t begin = at + kHelp.size();
  std::size_t end = message.size();
  for (const char* sign : {" ", ", ", ";", "\n"}) end = std::min(end, message.find(sign, begin));
  const auto read = read_by_verb(typed.front(), {typed.begin() + 1, typed.end()});
  if (!read) return message;
  const std::string pins = message.substr(begin, end - begin);
  std::vector<std::string> keys;
  for (const std::string& pin : parted_at_commas(pins)) keys.push_back(key_of(pin));
  Arguments words;
  for (std::size_t i = 0; i < read->size(); ++i) {
    const bool is_pair = (*read)[i] == "--pin" && i + 1 < read->size();
    if (is_pair && is_among(keys, key_of((*read)[i + 1]))) {
      ++i;  // the other pins stay
    } else {
      words.push_back((*read)[i]);
    }
  }
  words.insert(words.end(), {"--pin", pins});
  return message + "\nhelp: together: " + command_of(typed.front(), words);
}

}  // namespace penstock
