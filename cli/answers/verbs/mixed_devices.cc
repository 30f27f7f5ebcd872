#include "cli/answers/verbs/mixed_devices.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/io/shell_word.h"
#include "cli/words/device_facts.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

struct TypedDevice {
  std::string name, count;  // the count is empty where none was typed
};

// "h100-sxm:32", "a100-80gb=8", "h100-sxm".
TypedDevice device_in(const std::string& text) {
  const std::size_t mark = text.find_first_of(":=*");
  if (mark == std::string::npos) return {text, ""};
  return {text.substr(0, mark), text.substr(mark + 1)};
}

struct MixedDevices {
  std::vector<TypedDevice> types;
  std::vector<GivenOption> options;  // that name them
  bool by_gpus = false;              // "--gpus NAME=N"

  [[nodiscard]] bool are_known() const {
    return std::all_of(types.begin(), types.end(), [](const TypedDevice& each) {
      return (each.count.empty() || is_digits(each.count)) &&
             device_facts(each.name).memory_gib > 0.0;
    });
  }
  [[nodiscard]] bool are_counted() const {
    return std::none_of(types.begin(), types.end(),
                        [](const TypedDevice& each) { return each.count.empty(); });
  }
};

MixedDevices mixed_in(const std::vector<GivenOption>& options) {
  MixedDevices mixed;
  for (const GivenOption& option : options) {
    const bool is_gpus = option.name == "--gpus" && option.value.find('=') != std::string::npos;
    if (option.name != "--device" && !is_gpus) continue;
    for (const std::string& part : parted_at_commas(option.value)) {
      mixed.types.push_back(device_in(part));
    }
    mixed.options.push_back(option);
    mixed.by_gpus = mixed.by_gpus || is_gpus;
  }
  return mixed;
}

int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "h100-sxm:32,a100-80gb:32": as they were counted, or equal parts of all GPUs, or a node of each.
// Empty where the GPUs cannot be parted so.
std::string counts_of(const MixedDevices& mixed, const std::string& gpus) {
  Arguments words;
  const int types = static_cast<int>(mixed.types.size()), all = number_in(gpus);
  if (!gpus.empty() && !mixed.are_counted() && (!is_digits(gpus) || all % types != 0)) return "";
  for (const TypedDevice& each : mixed.types) {
    const int count = !each.count.empty() ? number_in(each.count)
                      : gpus.empty()      ? device_facts(each.name).per_node
                                          : all / types;
    if (count == 0) return "";
    words.push_back(fmt::format("{}:{}", each.name, count));
  }
  return joined(words, ",");
}

// "penstock compare config.json --gpus 64 --vary device=h100-sxm,a100-80gb".
std::string each_alone(const MixedDevices& mixed, const std::string& model, const Arguments& rest) {
  Arguments names, command = with_taken("compare", {model}, rest);
  for (const TypedDevice& each : mixed.types) names.push_back(each.name);
  if (mixed.are_counted() && !value_of(rest, {"--gpus", "--nodes"})) {
    command.insert(command.end(), {"--gpus", mixed.types.front().count});
  }
  command.insert(command.end(), {"--vary", "device=" + joined(names, ",")});
  return whole_command("compare", command);
}

}  // namespace

void refuse_mixed_devices(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table);
  if (!is_among({"plan", "predict", "estimate"}, verb)) return;
  if (value_of(words, {"--cluster", "--nodes", "--vary"})) return;
  const GivenWords given = given_words(table, words);
  const MixedDevices mixed = mixed_in(given.options);
  if (mixed.types.size() < 2 || given.bare.empty() || !mixed.are_known()) return;
  const std::string& model = given.bare.front();
  const Arguments rest = without(words, mixed.options);
  const std::string counts = counts_of(mixed, value_of(rest, {"--gpus"}).value_or(""));
  if (counts.empty()) return;
  constexpr const char* kFile = "mixed.json";
  Arguments planned = with_taken("plan", {model}, rest);
  const auto output = std::find(planned.begin(), planned.end(), "-o");
  if (verb != "plan" && planned.end() - output > 1) planned.erase(output, output + 2);
  planned.insert(planned.begin() + 1, {"--cluster", kFile});
  Arguments typed, own = rest;
  for (const GivenOption& option : mixed.options) typed.push_back(option.value);

  own.insert(own.end(), {"--device", mixed.types.front().name});
  throw_bad_input(fmt::format(
      "{}: {} are several device types\nhelp: {}GPUs of several types at once are a cluster file: "
      "{}; then {}{}",
      mixed.options.front().name, joined(typed, ","),
      verb == "estimate" ? fmt::format("an estimate is of one: {}; ", whole_command(verb, own))
                         : "",
      command_of("devices", {counts, "--cluster-out", kFile}), whole_command("plan", planned),
      mixed.by_gpus || verb == "estimate"
          ? ""
          : "; each type by itself: " + each_alone(mixed, model, rest)));
}

}  // namespace penstock
