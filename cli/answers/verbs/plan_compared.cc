#include "cli/answers/verbs/plan_compared.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_facts.h"
#include "cli/words/field_words.h"
#include "cli/words/has_part.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "cli/words/schedule_called.h"
#include "cli/words/schedule_spelled.h"
#include "report/words.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// What --vary calls it, and what people do.
struct Varied {
  std::string_view key;
  std::array<std::string_view, 14> typed;
};
constexpr std::array kVaried{
    Varied{"bandwidth",
           {"bandwidth", "network", "net", "interconnect", "link", "links", "ib", "infiniband",
            "network-bandwidth", "network-speed", "fabric", "inter-node-bandwidth",
            "link-bandwidth", "nvlink"}},
    Varied{"device",
           {"device", "gpu", "gpu-type", "hardware", "accelerator", "gpu-model", "device-type"}},
    Varied{"gpus", {"gpus", "num-gpus", "ngpus", "n-gpus", "world-size"}},
    Varied{"memory-gib", {"memory", "mem", "memory-gib", "vram", "hbm", "gpu-memory"}},
    Varied{"schedule", {"schedule", "schedules", "pipeline-schedule"}},
    Varied{"recompute",
           {"recompute", "recompute-granularity", "activation-checkpointing",
            "gradient-checkpointing", "recomputation"}},
    Varied{"precision", {"precision", "dtype", "mixed-precision"}},
    Varied{"sharding", {"sharding", "zero", "zero-stage"}}};

std::string key_of(const std::string& name) {
  const std::size_t dashes = std::min(name.find_first_not_of('-'), name.size());
  const std::string plain = plain_word(name.substr(dashes));
  for (const Varied& row : kVaried) {
    if (is_among(row.typed, plain)) return std::string(row.key);
  }
  const std::string key = key_called(plain);
  return key == "M" || key == "ETP" ? "" : field_word(key);
}

std::string own_value(const PlanMade& made, const std::string& key) {
  if (key == "bandwidth") return "1";
  if (key == "device") return made.device;
  if (key == "gpus") return made.gpus;
  if (key == "gbs") return made.batch;
  if (key == "memory-gib") {
    const double gib = device_facts(made.device).memory_gib;
    return gib > 0.0 ? fmt::format("{:.0f}", gib) : "";
  }
  std::string own = value_in_layout(made.layout, key);
  if (!own.empty() || made.layout.empty()) return own;
  if (key == "schedule") return "1f1b";
  if (key == "recompute") return "none";
  return is_among({"CP", "VP", "EP"}, key) ? "1" : "";
}

// "2x", "x2", "+100%" and "200%" as a factor; empty of "400Gb/s", which is none.
std::string factor_of(std::string typed) {
  const bool is_more = typed.starts_with('+'), is_percent = typed.ends_with('%');
  for (const std::string_view sign : {"x", "X", "*", "+"}) {
    if (typed.starts_with(sign)) typed.erase(0, 1);
  }
  if (!typed.empty() && is_among({"x", "X", "%"}, typed.substr(typed.size() - 1))) typed.pop_back();
  const bool is_number = !typed.empty() && typed.size() < 8 &&
                         typed.find_first_not_of("0123456789.") == std::string::npos &&
                         typed.find_first_of("0123456789") != std::string::npos;
  if (!is_number) return "";
  if (!is_percent) return typed;
  constexpr double kWhole = 100.0;
  return fmt::format("{:g}", std::stod(typed) / kWhole + (is_more ? 1.0 : 0.0));
}

// Of a family, "zero-bubble", the first; empty of other words.
std::string one_schedule(const std::string& name) {
  const std::string_view known = schedule_spelled(name);
  if (!known.empty()) return std::string(known);
  const std::vector<std::string> family = schedules_of_family(name);
  return family.empty() ? "" : family.front();
}

// "1f1b,zero-bubble", "on/off": each as it is called here.
std::string names_called(const std::string& key, std::string typed) {
  std::replace(typed.begin(), typed.end(), '/', ',');
  std::vector<std::string> names = parted_at_commas(typed);
  for (std::string& name : names) {
    const std::string known = key == "schedule"    ? one_schedule(name)
                              : key == "recompute" ? recompute_called(name)
                                                   : "";
    if (!known.empty()) name = known;
  }
  return joined(names, ",");
}

std::string value_for(const std::string& key, const std::string& typed) {
  if (key == "schedule" || key == "recompute") return names_called(key, typed);
  if (key == "bandwidth") {  // "400Gb/s" is no factor, and some stand in its place
    const std::string factor = factor_of(typed);
    return factor.empty() && !typed.empty() ? "1,2,4" : factor;
  }
  if (key == "memory-gib") {
    const std::size_t end = typed.find_first_not_of("0123456789.");
    return typed.substr(0, end);
  }
  const bool is_degree = is_among({"gpus", "TP", "PP", "DP", "CP", "VP", "EP", "mbs"}, key);
  return is_degree && !is_digits(typed.substr(0, typed.find(','))) ? "" : typed;
}

// "2x" of a number that the plan has, 512, as "1024"; other texts as they are.
std::string times(const std::string& own, const std::string& typed) {
  const bool is_times = typed.ends_with('x') || typed.ends_with('X') || typed.ends_with('%') ||
                        typed.starts_with('x') || typed.starts_with('*');
  const std::string factor = is_times ? factor_of(typed) : "";
  if (factor.empty() || own.empty() || own.find_first_not_of("0123456789.") != std::string::npos ||
      own == "1") {
    return typed;
  }
  return fmt::format("{:.0f}", std::stod(own) * std::stod(factor));
}

// "--set gbs=1024".
bool is_setting(const GivenOption& option) {
  return is_among({"--set", "--with", "--change", "--override", "--param", "--if"}, option.name) &&
         option.value.find('=') != std::string::npos;
}

GivenOption pair_in(const GivenOption& option) {
  const std::size_t equals = option.value.find('=');
  GivenOption pair = option;
  pair.name = option.value.substr(0, equals);
  pair.value = option.value.substr(equals + 1);
  return pair;
}

// "network=400Gb/s,800Gb/s" of "--network 800Gb/s" and a plan on assumed machines; of other plans a
// cluster file says what links they have.
std::optional<std::string> rates_of(const std::string& key, const std::string& typed,
                                    const PlanMade& made) {
  const bool is_rate = typed.ends_with("b/s") || typed.ends_with("bps") || typed.ends_with("B/s");
  const std::string own = device_facts(made.device).network;
  if (key != "bandwidth" || !is_rate || !made.cluster.empty() || own.empty()) return {};
  return "network=" + (own == typed ? own : own + ',' + typed);
}

// "bandwidth=1,2"; nothing where the option varies nothing.
std::optional<std::string> setting_of(const GivenOption& option, const PlanMade& made) {
  if (const int left = gpus_left(option, made); left > 0) {
    return fmt::format("gpus={},{}", made.gpus, left);
  }
  const std::string key = key_of(option.name);
  if (is_setting(option)) return setting_of(pair_in(option), made);
  if (auto rates = rates_of(key, option.value, made)) return rates;
  const std::string own = key.empty() ? "" : own_value(made, key);
  const std::string value = key.empty() ? "" : value_for(key, times(own, option.value));
  if (value.empty()) return {};
  const std::string name = key == "gbs" ? "global-batch" : key == "seq" ? "sequence-length" : key;
  const bool has_own = own.empty() || own == value || value.starts_with(own + ',');
  return name + '=' + (has_own ? value : own + ',' + value);
}

// "gpu=3:1.25" of "--slow-gpu 3:0.8": how many times as long it takes.
std::string slow_value(const std::string& plain, std::string value) {
  const std::size_t colon = value.rfind(':');
  if (colon == std::string::npos || value.find('=') != std::string::npos) return value;
  double factor = 0.0;
  const std::string number = value.substr(colon + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), factor);
  const bool is_speed = read.ec == std::errc{} && read.ptr == number.data() + number.size() &&
                        factor > 0.0 && factor < 1.0;
  if (is_speed) value = value.substr(0, colon + 1) + fmt::format("{:.4g}", 1.0 / factor);
  return has_part(plain, {"gpu", "gpus"}) ? "gpu=" + value : value;
}

// "--slow-gpu 3:0.8": a step with a slow GPU is replayed, not planned.
Arguments slow_options_in(const Arguments& words) {
  Arguments out;
  for (const GivenOption& option : given_words({}, words).options) {
    const std::string plain = plain_name(option);
    const bool is_slow = has_part(plain, {"slow", "straggler", "slowdown"});
    if (!is_slow || option.value.empty()) continue;
    out.insert(out.end(), {"--slow", slow_value(plain, option.value)});
  }
  return out;
}

Arguments with_files(const std::string& plan, const Arguments& options) {
  Arguments words{plan};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

}  // namespace

int gpus_left(const GivenOption& option, const PlanMade& made) {
  const std::string plain = plain_name(option);
  const bool is_lost =
      has_part(plain, {"lose", "lost", "losing", "loss", "fail", "failed", "failing", "dead",
                       "kill", "killed", "drop", "dropped", "remove", "removed", "minus", "without",
                       "fewer", "preempt", "preempted"}) &&
      has_part(plain, {"gpu", "gpus", "node", "nodes", "machine", "machines"});
  const bool is_share = option.value.ends_with('%');
  const std::string number = option.value.substr(0, option.value.size() - (is_share ? 1 : 0));
  constexpr std::size_t kMostDigits = 6;
  if (!is_lost || !is_digits(number) || number.size() > kMostDigits || !is_digits(made.gpus)) {
    return 0;
  }
  constexpr int kWhole = 100;
  const int gpus = std::stoi(made.gpus);
  const int of_one = has_part(plain, {"gpu", "gpus"}) ? 1 : device_facts(made.device).per_node;
  const int lost = is_share ? gpus * std::stoi(number) / kWhole : std::stoi(number) * of_one;
  return lost <= 0 || lost >= gpus ? 0 : gpus - lost;
}

std::string plan_compared(const Arguments& words) {
  const TypedFiles files = typed_files(words);
  if (files.plans.size() != 1 || !is_there(files.plans.front())) return "";
  if (const Arguments slow = slow_options_in(words); !slow.empty()) {
    return whole_command("simulate", with_files(files.plans.front(), slow));
  }
  const PlanMade made = plan_made(files.plans.front());
  const OptionTable table = options_of(*find_verb("compare"));
  Arguments varied, others;
  for (const GivenOption& option : given_words(table, words).options) {
    const auto setting = setting_of(option, made);
    if (setting) {
      varied.insert(varied.end(), {"--vary", *setting});
      continue;
    }
    const auto at = static_cast<std::ptrdiff_t>(option.begin);
    others.insert(others.end(), words.begin() + at,
                  words.begin() + static_cast<std::ptrdiff_t>(option.end));
  }
  const bool is_said = value_of(others, {"--vary"}).has_value();
  if (varied.empty() && !is_said) return "";
  Arguments command = with_taken("compare", {files.plans.front()}, others);
  // What its trainer cannot run is no rival of the plan.
  const bool is_for_one = !made.trainer.empty() && find_trainer(made.trainer) != nullptr;
  if (is_for_one && !value_of(command, {"--for"})) {
    command.insert(command.end(), {"--for", made.trainer});
  }
  command.insert(command.end(), varied.begin(), varied.end());
  std::string whole = command_for_its_model("compare", command);
  // What varies is no setting of all rows.
  const std::string device = " --device " + made.device + ' ';
  const std::size_t at = whole.find(device);
  const bool is_varied = whole.find("--vary device=") != std::string::npos;
  if (is_varied && at != std::string::npos) whole.erase(at, device.size() - 1);
  const bool is_network = whole.find("--vary network=") != std::string::npos;
  const bool is_one_node = is_digits(made.gpus) && made.gpus.size() < 6 &&
                           std::stoi(made.gpus) <= device_facts(made.device).per_node;
  if (is_network && is_one_node && !whole.empty()) {
    whole += fmt::format(
        "; its {} GPUs are in one node, where no network is used: with more, as --gpus {}, it "
        "matters",
        made.gpus, 2 * device_facts(made.device).per_node);
  }
  return whole;
}

}  // namespace penstock
