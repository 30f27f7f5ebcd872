#include "cli/answers/verbs/mixed_devices.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
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

// "h100-sxm:32", "a100-80gb=8", "8xh100", "h100-sxm".
TypedDevice device_in(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 &&
      is_among({"x", "*", ":"}, text.substr(digits, 1))) {
    return {text.substr(digits + 1), text.substr(0, digits)};
  }
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
  // One GPU by two of its names is one type.
  [[nodiscard]] bool are_several() const {
    return std::any_of(types.begin(), types.end(), [this](const TypedDevice& each) {
      return device_facts(each.name).name != device_facts(types.front().name).name;
    });
  }
  [[nodiscard]] bool are_counted() const {
    return std::none_of(types.begin(), types.end(),
                        [](const TypedDevice& each) { return each.count.empty(); });
  }
};

// Of the options that name devices, or of those that count GPUs: the two together name one type,
// "--device h100 --gpus h100:64".
MixedDevices mixed_in(const std::vector<GivenOption>& options, bool by_gpus) {
  MixedDevices mixed;
  mixed.by_gpus = by_gpus;
  for (const GivenOption& option : options) {
    const std::string plain = plain_name(option);
    const bool is_gpus = is_among({"gpus", "num-gpus", "ngpus"}, plain) &&
                         option.value.find_first_of(":=x*") != std::string::npos;
    const bool is_device = is_among({"device", "devices", "gpu", "gpu-type", "accelerator"}, plain);
    if (by_gpus ? !is_gpus : !is_device) continue;
    for (const std::string& part : parted_at_commas(option.value)) {
      mixed.types.push_back(device_in(part));
    }
    mixed.options.push_back(option);
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

std::string on_type(const std::string& verb, Arguments words, const TypedDevice& type) {
  words.insert(words.end(), {"--device", type.name});
  return whole_command(verb, words);
}

// "devices a100-80gb:16 --cluster-out c.json": one type, whose number has an option. A number that
// was typed with it stays.
void refuse_counted(const Arguments& words, const GivenWords& given) {
  const std::string typed = given.bare.empty() ? "" : given.bare.front();
  const TypedDevice device = device_in(typed);
  const bool is_counted = typed.find(',') == std::string::npos && is_digits(device.count) &&
                          device_facts(device.name).memory_gib > 0.0;
  if (!is_counted || is_there(typed)) return;
  Arguments command = words;
  std::replace(command.begin(), command.end(), typed, device.name);
  if (!value_of(words, {"--gpus"})) {
    const auto at = std::find(command.begin(), command.end(), device.name);
    command.insert(at + 1, {"--gpus", device.count});
  }
  throw_bad_input(fmt::format("NAME: '{}' is a GPU and a number of them\nhelp: write {}", typed,
                              command_of("devices", command)));
}

// "devices h100,a100 --gpus 16 --cluster-out c.json".
void refuse_uncounted(const Arguments& words, const GivenWords& given) {
  if (given.bare.empty()) return;
  MixedDevices mixed;
  for (const std::string& part : parted_at_commas(given.bare.front())) {
    mixed.types.push_back(device_in(part));
  }
  const auto gpus = value_of(words, {"--gpus"});
  const bool is_whole = mixed.are_counted() && !gpus;
  if (mixed.types.size() < 2 || is_whole || !mixed.are_known() || !mixed.are_several()) return;
  const std::string counts = counts_of(mixed, gpus.value_or(""));
  if (counts.empty()) return;
  std::vector<GivenOption> counted;
  for (const GivenOption& option : given.options) {
    if (option.name == "--gpus") counted.push_back(option);
  }
  Arguments command = without(words, counted);
  std::replace(command.begin(), command.end(), given.bare.front(), counts);
  throw_bad_input(
      fmt::format("NAME: {} are several device types\nhelp: how many of each stands "
                  "behind its name: {}",
                  given.bare.front(), command_of("devices", command)));
}

}  // namespace

void refuse_mixed_devices(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table);
  const GivenWords given = given_words(table, words);
  if (verb == "devices") {
    refuse_counted(words, given);
    refuse_uncounted(words, given);
  }
  if (!is_among({"plan", "predict", "estimate"}, verb)) return;
  if (value_of(words, {"--cluster", "--nodes", "--vary"})) return;
  MixedDevices mixed = mixed_in(given.options, false);
  if (mixed.options.empty()) mixed = mixed_in(given.options, true);
  if (mixed.types.size() < 2 || given.bare.empty() || !mixed.are_known() || !mixed.are_several()) {
    return;
  }
  const std::string& model = given.bare.front();
  const Arguments rest = without(words, mixed.options);
  Arguments typed;
  for (const GivenOption& option : mixed.options) typed.push_back(option.value);
  const std::string what = fmt::format(
      "{}: {} are several device types\nhelp: ", mixed.options.front().name, joined(typed, ","));
  if (verb == "predict") {
    throw_bad_input(fmt::format("{}a layout is predicted on one at a time: {}; then {}", what,
                                on_type(verb, rest, mixed.types[0]),
                                on_type(verb, rest, mixed.types[1])));
  }
  const std::string counts =
      counts_of(mixed, value_of(rest, {"--gpus", "--num-gpus"}).value_or(""));
  if (counts.empty()) return;
  constexpr const char* kFile = "mixed.json";
  Arguments planned = with_taken("plan", {model}, rest);
  const auto output = std::find(planned.begin(), planned.end(), "-o");
  if (verb != "plan" && planned.end() - output > 1) planned.erase(output, output + 2);
  planned.insert(planned.begin() + 1, {"--cluster", kFile});
  const bool has_each = !mixed.by_gpus && verb == "plan" && role_of(model) != FileRole::kProfile;
  throw_bad_input(fmt::format(
      "{}{}GPUs of several types at once are a cluster file: {}; then {}{}", what,
      verb == "estimate" ? "an estimate is of one: " + on_type(verb, rest, mixed.types[0]) + "; "
                         : "",
      command_of("devices", {counts, "--cluster-out", kFile}), whole_command("plan", planned),
      has_each ? "; each type by itself: " + each_alone(mixed, model, rest) : ""));
}

}  // namespace penstock
