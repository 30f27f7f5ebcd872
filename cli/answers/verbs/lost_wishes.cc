#include "cli/answers/verbs/lost_wishes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/answers/verbs/several_values.h"
#include "cli/io/shell_word.h"
#include "cli/words/device_facts.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/parted_at_commas.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::string_view kPriceOption = "--usd-per-gpu-hour";

// Words without the options that are answered otherwise.
template <typename Wanted>
Arguments without(const Arguments& words, const GivenWords& given, const Wanted& is_answered) {
  Arguments out;
  std::size_t at = 0;
  for (const GivenOption& option : given.options) {
    if (!is_answered(option)) continue;
    out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
               words.begin() + static_cast<std::ptrdiff_t>(option.begin));
    at = option.end;
  }
  out.insert(out.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return out;
}

// "50000", "$50,000", "50k" as a number; 0 of other texts.
double dollars_in(std::string text) {
  std::erase_if(text, [](char c) { return c == '$' || c == ',' || c == '_'; });
  constexpr double kThousand = 1e3;
  double factor = 1.0;
  if (text.ends_with('k') || text.ends_with('K')) {
    factor = kThousand;
    text.pop_back();
  }
  for (const std::string_view end : {"USD", "usd"}) {
    if (text.ends_with(end)) text.erase(text.size() - end.size());
  }
  double value = 0.0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size() ? value * factor : 0.0;
}

bool is_price(const GivenOption& option) {
  return is_among({"usd-per-gpu-hour", "price", "gpu-price", "cost-per-gpu-hour", "hourly-rate",
                   "price-per-gpu-hour", "gpu-hour-cost", "cost-per-hour", "price-per-hour",
                   "dollars-per-gpu-hour"},
                  plain_name(option)) &&
         dollars_in(option.value) > 0.0;
}

bool is_limit_of_money(const GivenOption& option) {
  constexpr double kLongestSearch = 7200;  // seconds: nobody lets a search run longer
  const std::string plain = plain_name(option);
  if (plain == "budget") return dollars_in(option.value) > kLongestSearch;
  return dollars_in(option.value) > 0.0 &&
         is_among({"max-cost", "max-price", "budget-usd", "usd-budget", "max-usd", "max-dollars",
                   "cost-limit", "max-budget", "money"},
                  plain);
}

// "plan config.json ... --price 4 --budget 50000".
void refuse_limit_of_money(const std::string& verb, const Arguments& words,
                           const GivenWords& given) {
  const auto limit = std::find_if(given.options.begin(), given.options.end(), is_limit_of_money);
  const auto price = std::find_if(given.options.begin(), given.options.end(), is_price);
  if (limit == given.options.end() || price == given.options.end()) return;
  Arguments command = without(words, given, is_limit_of_money);
  const bool has_tokens =
      std::any_of(given.options.begin(), given.options.end(),
                  [](const GivenOption& option) { return plain_name(option).ends_with("tokens"); });
  throw_bad_input(fmt::format(
      "{}: no option limits what a training costs, and '{}' is no time (--budget 10min limits the "
      "search)\nhelp: {} {}",
      limit->name, limit->value, whole_command(verb, std::move(command)),
      has_tokens
          ? fmt::format("prints what these tokens cost, to compare with {}", limit->value)
          : fmt::format("prints the dollars per million tokens: ${:.0f} divided by them is the "
                        "number of millions of tokens that you can pay; --tokens N then prints "
                        "their days and their price",
                        dollars_in(limit->value))));
}

// A device with a number of its own.
struct Fleet {
  std::string device, gpus;
};

std::optional<Fleet> fleet_in(const std::string& text) {
  const std::size_t mark = text.find_last_of(":=*");
  if (mark == std::string::npos || mark == 0 || is_there(text)) return {};
  const Fleet fleet{text.substr(0, mark), text.substr(mark + 1)};
  if (!is_digits(fleet.gpus) || fleet.device.find_first_of("/.") != std::string::npos) return {};
  return fleet;
}

// Of "--cluster h100:64 --cluster a100-80gb:128", or of "--device h100,a100 --gpus 64,128".
std::vector<Fleet> fleets_in(const GivenWords& given) {
  std::vector<Fleet> fleets;
  std::vector<std::string> devices, gpus;
  for (const GivenOption& option : given.options) {
    const std::string plain = plain_name(option);
    if (is_among({"cluster", "clusters", "device", "devices", "gpu"}, plain)) {
      for (const std::string& part : parted_at_commas(option.value)) {
        if (auto fleet = fleet_in(part)) fleets.push_back(*std::move(fleet));
      }
    }
    if (is_among({"device", "devices"}, plain)) devices = parted_at_commas(option.value);
    if (is_among({"gpus", "num-gpus", "ngpus"}, plain)) gpus = parted_at_commas(option.value);
  }
  if (!fleets.empty() || devices.size() != gpus.size()) return fleets;
  for (std::size_t i = 0; i < devices.size(); ++i) fleets.push_back({devices[i], gpus[i]});
  return fleets;
}

bool names_fleet(const GivenOption& option) {
  return is_among({"cluster", "clusters", "device", "devices", "gpu", "gpus", "num-gpus", "ngpus"},
                  plain_name(option));
}

// "compare m.json --cluster h100:64 --cluster a100:128": which of two machines is faster.
void refuse_fleets(const std::string& verb, const Arguments& words, const GivenWords& given) {
  const std::vector<Fleet> fleets = fleets_in(given);
  const bool are_devices =
      std::none_of(given.options.begin(), given.options.end(), [](const GivenOption& option) {
        return plain_name(option).starts_with("device") &&
               option.value.find(':') != std::string::npos;
      });
  // "--device=h100-sxm,gpus=8": commas join options there.
  const bool has_pairs =
      std::any_of(given.options.begin(), given.options.end(), [](const GivenOption& option) {
        return names_fleet(option) && option.value.find('=') != std::string::npos;
      });
  if (fleets.size() < 2 || given.bare.empty() || !are_devices || has_pairs) return;
  if (verb != "plan" && verb != "compare") return;
  const Arguments rest = without(words, given, names_fleet);
  std::vector<std::string> commands, names;
  for (const Fleet& fleet : fleets) {
    Arguments command = with_taken("plan", {given.bare.front()}, rest);
    command.insert(command.begin() + 1,
                   {"--device", device_facts(fleet.device).name, "--gpus", fleet.gpus});
    commands.push_back(whole_command("plan", std::move(command)));
    names.push_back(fleet.gpus + ' ' + fleet.device);
  }
  throw_bad_input(fmt::format(
      "{} are planned for one after the other\nhelp: a command for each: {}; the first lines have "
      "the tokens/s per GPU, and the time of a step of the same batch",
      joined(names, " and "), joined(commands, "; then ")));
}

// "a100:8" of "--nodes a100:1,v100:1", and of "a100x8" as well, which names a node of 8; empty of
// other texts.
std::string gpus_of_nodes_in(const std::string& part) {
  const std::size_t mark = part.find_last_of(":=*x");
  if (mark == std::string::npos || !is_like_gpu(part.substr(0, mark))) return "";
  const std::string count = part.substr(mark + 1);
  constexpr std::size_t kMostDigits = 4;
  if (!is_digits(count) || count.size() > kMostDigits) return "";
  const DeviceFacts facts = device_facts(part.substr(0, mark));
  const int nodes = std::stoi(count);
  const bool is_size = part[mark] == 'x' && nodes == facts.per_node;
  return fmt::format("{}:{}", facts.name, is_size ? nodes : nodes * facts.per_node);
}

// "plan config.json --nodes a100:1,v100:1": a cluster of both, which a file describes.
void refuse_mixed_nodes(const std::string& verb, const Arguments& words, const GivenWords& given) {
  if (given.bare.empty() || value_of(words, {"--cluster"})) return;
  for (const GivenOption& option : given.options) {
    if (plain_name(option) != "nodes") continue;
    std::vector<std::string> types;
    for (const std::string& part : parted_at_commas(option.value)) {
      types.push_back(gpus_of_nodes_in(part));
    }
    if (types.size() < 2 || is_among(types, "")) return;
    throw_bad_input(fmt::format(
        "{}: nodes of several device types are a cluster file\nhelp: {} writes it, with so many "
        "GPUs of each; then {}",
        option.name, command_of("devices", {joined(types, ","), "--cluster-out", "cluster.json"}),
        whole_command(verb, with_instead(words, option, {"--cluster", "cluster.json"}))));
  }
}

// "plan --from plan.json --gpus 24": the question of a plan, asked with other options.
void refuse_plan_as_option(const OptionTable& table, const Arguments& words,
                           const GivenWords& given) {
  if (verb_of(table) != "plan" || !given.bare.empty()) return;
  for (const GivenOption& option : given.options) {
    if (role_of(option.value) != FileRole::kPlan || row_named(table, option.name) != nullptr) {
      continue;
    }
    const Arguments rest = with_instead(words, option, {});
    const std::string command =
        command_for_its_model("plan", with_taken("plan", {option.value}, rest));
    if (command.empty()) return;
    throw_bad_input(
        fmt::format("unknown option '{}'\nhelp: the question that {} answers is asked again: {}",
                    option.name, option.value, command));
  }
}

// "plan config.json --device p5.48xlarge --price 98.32": a price that may be the machine's.
void refuse_price_of_machine(const std::string& verb, const Arguments& words,
                             const GivenWords& given) {
  constexpr double kDearestGpu = 15.0;  // dollars an hour
  const auto price = std::find_if(given.options.begin(), given.options.end(), is_price);
  const auto machine =
      std::find_if(given.options.begin(), given.options.end(), [](const GivenOption& option) {
        return !gpu_of_machine(option.value).empty() &&
               is_among({"device", "gpu", "instance-type", "instance", "machine-type"},
                        plain_name(option));
      });
  if (price == given.options.end() || machine == given.options.end()) return;
  const std::string device = gpu_of_machine(machine->value);
  const double usd = dollars_in(price->value);
  if (usd <= kDearestGpu || device.find(' ') != std::string::npos) return;
  const int gpus = device_facts(device).per_node;
  const auto command_at = [&](double each) {
    Arguments command = without(words, given, [&](const GivenOption& option) {
      return option.begin == price->begin || option.begin == machine->begin;
    });
    command.insert(command.end(),
                   {"--device", device, std::string(kPriceOption), fmt::format("{:.4g}", each)});
    return whole_command(verb, std::move(command));
  };
  throw_bad_input(
      fmt::format("{} {}: is it the price of a GPU, or of a {} with its {} GPUs?\nhelp: of the "
                  "machine, ${:.4g} "
                  "a GPU: {}; of a GPU: {}",
                  price->name, price->value, machine->value, gpus, usd / gpus,
                  command_at(usd / gpus), command_at(usd)));
}

bool is_without_nvlink(const GivenOption& option) {
  const std::string plain = plain_name(option);
  const bool is_off = is_among({"off", "false", "no", "none", "0"}, plain_word(option.value));
  return is_among({"no-nvlink", "without-nvlink", "disable-nvlink", "nvlink-off", "pcie",
                   "pcie-only", "no-nvswitch"},
                  plain) ||
         (plain == "nvlink" && is_off);
}

// "compare plan.json --no-nvlink".
void refuse_without_nvlink(const std::string& verb, const Arguments& words,
                           const GivenWords& given) {
  const bool is_asked = std::any_of(given.options.begin(), given.options.end(), is_without_nvlink);
  if (!is_asked || words.empty() || role_of(words.front()) != FileRole::kPlan) return;
  if (verb != "compare" && verb != "plan" && verb != "simulate") return;
  const PlanMade made = plan_made(words.front());
  if (made.model.empty() || made.device.empty() || made.gpus.empty()) return;
  throw_bad_input(fmt::format(
      "links inside a node are the cluster's\nhelp: {} writes them; set \"bandwidth_bytes_per_s\" "
      "of its first level to that of PCIe (datasheets: 6.4e10 of PCIe 5, 3.2e10 of PCIe 4); then "
      "{}",
      command_of("devices", {made.device, "--gpus", made.gpus, "--cluster-out", "pcie.json"}),
      whole_command("plan", {made.model, "--cluster", "pcie.json", "--gpus", made.gpus,
                             "--global-batch", made.batch, "--baseline", words.front()})));
}

}  // namespace

void refuse_lost_wish(const OptionTable& table, const Arguments& words, const GivenWords& given) {
  const std::string verb = verb_of(table);
  refuse_without_nvlink(verb, words, given);
  refuse_plan_as_option(table, words, given);
  refuse_several_values(verb, words, given);
  if (verb != "plan" && verb != "compare") return;
  refuse_mixed_nodes(verb, words, given);
  refuse_fleets(verb, words, given);
  refuse_price_of_machine(verb, words, given);
  refuse_limit_of_money(verb, words, given);
}

}  // namespace penstock
