// W060: keys that torchtitan does not have.
#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "trainers/torchtitan/torchtitan_judge.h"
#include "trainers/trainer_facts.h"

namespace penstock {
namespace {

// The keys of a table, of all versions together.
std::vector<std::string_view> known_keys(std::string_view table) {
  std::vector<std::string_view> keys;
  for (const TrainerVersion& version : find_trainer_row("torchtitan")->versions) {
    for (const std::string_view key : fact_names(*version.facts, "keys")) {
      if (key.starts_with(table)) keys.push_back(key.substr(table.size()));
    }
  }
  return keys;
}

}  // namespace

void TorchtitanJudge::judge_names() {
  judged("W060");
  if (is_head() && file_.carrier == TorchtitanCarrier::kToml && !settings().all().empty()) {
    broken("W060", {&settings().all().front()},
           "head takes its configuration from a Python function",
           "torchtitan reads no TOML since 2026-02-23.",
           "--target-version 0.2 for this file, or penstock export --to torchtitan "
           "--target-version head");
  }
  for (const LaunchSetting& setting : settings().all()) judge_name(setting);
}

void TorchtitanJudge::judge_name(const LaunchSetting& setting) {
  if (const Json* now = version_.renamed->find(setting.name)) {
    broken("W060", {&setting},
           fmt::format("torchtitan {} has no {}", request().version, setting.name),
           "Other versions have it; this one stops at the key, or passes over it.",
           fmt::format("{} in its place", now->text()));
    return;
  }
  constexpr std::string_view kTable = "parallelism.";
  if (!setting.name.starts_with(kTable)) return;
  const std::string key = setting.name.substr(kTable.size());
  const std::vector<std::string_view> known = known_keys(kTable);
  if (std::find(known.begin(), known.end(), key) != known.end()) return;
  if (!tell_unknown_name()) return;
  const auto nearest = nearest_name(key, known);
  broken("W060", {&setting},
         fmt::format("torchtitan has no key {} that is known here", setting.name),
         "torchtitan stops at a key that it does not know.",
         nearest ? fmt::format("{}{}", kTable, *nearest) : "take it out, or --ignore W060");
}

}  // namespace penstock
