// torch's FSDP2 divides everything, whatever Megatron-LM's strategy says; Megatron-FSDP divides
// what its strategy names, parameters where there is none.
#include "cli/answers/options/fsdp_flags.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 11> kFlags{
    "use-torch-fsdp2", "use-fsdp2",   "use-fsdp", "use-megatron-fsdp", "use-custom-fsdp", "fsdp",
    "enable-fsdp",     "torch-fsdp2", "fsdp2",    "torch-fsdp",        "megatron-fsdp"};
constexpr std::array<std::string_view, 5> kStrategies{"data-parallel-sharding-strategy",
                                                      "sharding-strategy", "fsdp-sharding-strategy",
                                                      "fsdp-strategy", "dp-sharding-strategy"};

// "full_shard auto_wrap" and "optim_grads_params" as --sharding has them; empty where it has none.
std::string sharding_of(const std::string& strategy) {
  struct Row {
    std::string_view strategy, sharding;
  };
  constexpr std::array<Row, 10> kRows{
      Row{"no-shard", "none"},       Row{"optim", "zero1"},
      Row{"optim-grads", "zero2"},   Row{"optim-grads-params", "zero3"},
      Row{"full-shard", "fsdp"},     Row{"shard-grad-op", "zero2"},
      Row{"hybrid-shard", "fsdp:8"}, Row{"fully-shard", "fsdp"},
      Row{"full", "fsdp"},           Row{"hsdp", "fsdp:8"}};
  const std::string word = plain_word(strategy.substr(0, strategy.find(' ')));
  for (const Row& row : kRows) {
    if (row.strategy == word) return std::string(row.sharding);
  }
  return "";
}

struct Typed {
  std::vector<std::string> names;  // of flags and of a strategy
  std::string flag, strategy;      // the words of the last of each
};

Typed typed_in(const Arguments& arguments, const Asked& asked) {
  Typed typed;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--")) continue;
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals), word = plain_word(name.substr(2));
    const bool is_flag = is_among(kFlags, word), is_strategy = is_among(kStrategies, word);
    if (asked.has(name) || (!is_flag && !is_strategy)) continue;
    const bool has_next = i + 1 < arguments.size() && !arguments[i + 1].starts_with('-');
    const std::string value = equals != std::string::npos ? argument.substr(equals + 1)
                              : has_next                  ? arguments[i + 1]
                                                          : "";
    typed.names.push_back(name);
    if (is_flag) typed.flag = word;
    if (is_strategy || !sharding_of(value).empty()) typed.strategy = value;
  }
  return typed;
}

// torchtitan's groups of HSDP: how many ranks divide the state, and how many such groups there are.
struct Groups {
  std::vector<std::string> names;
  int shard = 0, replicate = 0;
};
Groups groups_in(const Arguments& arguments, const Asked& asked) {
  Groups groups;
  for (const GivenOption& option : given_words({}, arguments).options) {
    const std::string plain = plain_name(option), word = plain.substr(plain.rfind('.') + 1);
    const bool is_shard =
        is_among({"data-parallel-shard-degree", "dp-shard", "dp-shard-degree"}, word);
    const bool is_replicate =
        is_among({"data-parallel-replicate-degree", "dp-replicate", "dp-replicate-degree"}, word);
    if ((!is_shard && !is_replicate) || !is_digits(option.value) || asked.has(option.name))
      continue;
    groups.names.push_back(option.name);
    (is_shard ? groups.shard : groups.replicate) = parse_int(option.name, option.value, 1);
  }
  return groups;
}

bool has_sharding(const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> kOwn{"--sharding", "--zero1"};
  for (const std::string& argument : arguments) {
    if (is_among(kOwn, argument.substr(0, argument.find('=')))) return true;
  }
  return false;
}

// "--dp-shard 8 --dp-replicate 4".
std::optional<CountsMeant> hybrid_meant(const Arguments& arguments, const Asked& asked) {
  const Groups groups = groups_in(arguments, asked);
  if (groups.shard > 1 && groups.replicate < 2) {
    const std::string pin = fmt::format("DP={}", groups.shard);
    return CountsMeant{
        groups.names,
        {"--sharding", "fsdp", "--pin", pin},
        fmt::format("write --sharding fsdp --pin {} in place of {}: {} replicas divide "
                    "the state among them",
                    pin, joined(groups.names, " and "), groups.shard)};
  }
  if (groups.shard < 2) return {};
  const std::string sharding = fmt::format("fsdp:{}", groups.shard);
  const std::string pin = fmt::format("DP={}", std::int64_t{groups.shard} * groups.replicate);
  return CountsMeant{
      groups.names,
      {"--sharding", sharding, "--pin", pin},
      fmt::format("write --sharding {} --pin {} in place of {}: {} groups of {} "
                  "replicas, which divide the state among them",
                  sharding, pin, joined(groups.names, " and "), groups.replicate, groups.shard)};
}

}  // namespace

std::optional<CountsMeant> sharding_meant(const Arguments& arguments, const Asked& asked) {
  if (!asked.has("--sharding") || has_sharding(arguments)) return {};
  if (auto hybrid = hybrid_meant(arguments, asked)) return hybrid;
  const Typed typed = typed_in(arguments, asked);
  if (typed.flag.empty()) return {};
  const bool is_torch = typed.flag.find("torch") != std::string::npos ||
                        typed.flag.find("fsdp2") != std::string::npos;
  const std::string of_strategy = is_torch ? "" : sharding_of(typed.strategy);
  const std::string sharding = of_strategy.empty() ? "fsdp" : of_strategy;
  std::string help = "write --sharding " + sharding;
  if (typed.names.size() > 1) help += " in place of " + joined(typed.names, " and ");
  if (sharding == "fsdp") help += " (fsdp:8 within groups of 8)";
  return CountsMeant{typed.names, {"--sharding", sharding}, help};
}

}  // namespace penstock
