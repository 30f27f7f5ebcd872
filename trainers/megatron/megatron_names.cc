// W060: flags that Megatron-LM does not have. Only renamed and misspelt ones are findings: scripts
// and forks add flags of their own, which no table can know.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/values/edit_distance.h"
#include "trainers/megatron/megatron_flags.h"
#include "trainers/megatron/megatron_judge.h"

namespace penstock {
namespace {

// The Megatron-LM of 2021 has it, and so has BigScience's fork (megatron/arguments.py at 8387ae17),
// whose scripts often set nothing else that tells them apart.
constexpr std::string_view kOfTwentyOne = "checkpoint-activations";
constexpr const char* kDeepspeedFork = "Megatron-DeepSpeed";

bool is_deepspeed_flag(std::string_view name) {
  return name.starts_with("deepspeed") || name.starts_with("zero-stage") ||
         name.starts_with("ds-") || name == "deepscale" || name == "deepscale_config";
}

// Argparse takes a flag's underscores as they are written: "--num_layers" is another flag.
std::optional<std::string_view> dashed_flag(const MegatronFlags& flags, std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  const auto& all = flags.own;
  const auto at = std::lower_bound(all.begin(), all.end(), std::string_view(name));
  if (at == all.end() || *at != name || flags.find_renamed(name) != nullptr) return {};
  return *at;
}

// One letter more, less or another, or two in a long name. Words that differ by a number or by
// "no-" are other flags, not misspelt ones.
std::optional<std::string_view> misspelt(const MegatronFlags& flags, const std::string& name) {
  constexpr std::size_t kShortest = 7, kLongName = 14;
  if (const auto dashed = dashed_flag(flags, name)) return dashed;
  if (name.size() < kShortest || name.size() > 80) return {};
  const std::size_t most = name.size() >= kLongName ? 2 : 1;
  const auto has_digit = [](std::string_view text) {
    return text.find_first_of("0123456789") != std::string_view::npos;
  };
  std::optional<std::string_view> nearest;
  std::size_t least = most + 1;
  for (const std::string_view flag : flags.own) {
    const std::size_t longer = std::max(flag.size(), name.size());
    if (longer - std::min(flag.size(), name.size()) >= least) continue;
    if (has_digit(flag) || has_digit(name) || flag.front() != name.front()) continue;
    if (flags.find_renamed(flag) != nullptr) continue;
    const std::size_t distance = edit_distance(name, flag);
    if (distance >= least) continue;
    least = distance;
    nearest = flag;
  }
  return nearest;
}

// "--a, --b and 3 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  const std::size_t shown = std::min(kMost, names.size());
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace

void MegatronJudge::read_fork() {
  std::map<std::string_view, int> flags_of_fork;
  int known = 0, unknown = 0;
  for (const LaunchSetting& setting : settings().all()) {
    if (!setting.name.starts_with("--")) continue;
    const std::string name = setting.name.substr(2);
    if (is_deepspeed_flag(name)) ++flags_of_fork[kDeepspeedFork];
    if (flags_.has(name) || dashed_flag(flags_, name) || is_deepspeed_flag(name)) {
      ++known;
      continue;
    }
    bool is_of_megatron = false;
    for (const std::string_view group : flags_.groups_with(name)) {
      const bool is_of_fork = group != kOwnScripts && group != kOlder;
      if (is_of_fork) ++flags_of_fork[group];
      is_of_megatron |= !is_of_fork;
    }
    ++(is_of_megatron ? known : unknown);
  }
  int most = 0;
  for (const auto& [fork, count] : flags_of_fork) {
    if (count <= most) continue;
    most = count;
    fork_ = fork;
  }
  // A program of its own, with some of Megatron-LM's names. A fork would know most of the flags;
  // a few unknown ones are slips.
  constexpr int kFewest = 6;
  // Words that the script leaves open may hold these flags, too.
  bool has_model = false;
  for (const char* flag : {kLayers, kPipeline, "--tensor-model-parallel-size"}) {
    has_model |= settings().has(flag) || !settings().doubt_of(flag).empty();
  }
  constexpr int kFewestWithoutModel = 3;
  is_other_program_ = (unknown - most >= kFewest && unknown - most > known + most) ||
                      (!has_model && unknown >= kFewestWithoutModel && unknown > known);
  if (is_other_program_) fork_ = {};
  // DeepSpeed's own flags are in no parser of the fork.
  is_deepspeed_ = settings().has("--deepspeed") || settings().has("--deepspeed_config");
  if (is_deepspeed_ && !fork_.starts_with(kDeepspeedFork)) fork_ = kDeepspeedFork;
}

// One flag with underscores is a slip; a script that writes several so has a parser of its own.
bool MegatronJudge::writes_underscores() const {
  const auto& all = settings().all();
  return std::count_if(all.begin(), all.end(), [](const LaunchSetting& setting) {
           return setting.name.find('_') != std::string::npos &&
                  !is_deepspeed_flag(
                      setting.name.substr(std::min<std::size_t>(2, setting.name.size())));
         }) > 1;
}

void MegatronJudge::judge_names() {
  if (is_other_program_) {
    not_judged("W060", "most flags of this program are not Megatron-LM's");
  } else {
    judged("W060");
  }
  const bool has_own_parser = writes_underscores();
  std::vector<std::string> older, unknown;
  std::set<std::string_view> all, listed;  // a script may have 100,000 flags
  for (const LaunchSetting& setting : settings().all()) all.insert(setting.name);
  for (const LaunchSetting& setting : settings().all()) {
    if (!setting.name.starts_with("--") || setting.name.find('$') != std::string::npos) continue;
    const std::string name = setting.name.substr(2);
    if (name == kOfTwentyOne && fork_.empty()) {
      older.emplace_back("--checkpoint-activations (now --recompute-granularity full)");
      continue;
    }
    if (flags_.has(name) || is_deepspeed_flag(name)) {
      if (fork_.empty() && !is_other_program_) judge_renamed(setting);
      continue;
    }
    const std::vector<std::string_view> groups = flags_.groups_with(name);
    const bool is_of_fork = std::find(groups.begin(), groups.end(), fork_) != groups.end();
    const bool is_of_script = std::find(groups.begin(), groups.end(), kOwnScripts) != groups.end();
    if (is_of_fork || (is_of_script && !dashed_flag(flags_, name))) continue;
    if (fork_.empty() && !is_other_program_ && judge_renamed(setting)) continue;
    auto& list = std::find(groups.begin(), groups.end(), kOlder) != groups.end() ? older : unknown;
    const auto near = groups.empty() ? misspelt(flags_, name) : dashed_flag(flags_, name);
    // Another program's parser may take flags cut short, as argparse does unless told otherwise.
    const bool is_slip =
        near && !is_other_program_ && !(has_own_parser && name.find('_') != std::string::npos);
    if (is_slip && !all.contains(fmt::format("--{}", *near))) {
      misspelt_flag(setting, std::string(*near));
    } else if (listed.insert(setting.name).second) {
      list.push_back(setting.name);
    }
  }
  tell_other_flags(older, unknown);
}

bool MegatronJudge::judge_renamed(const LaunchSetting& setting) {
  const RenamedFlag* renamed = flags_.find_renamed(setting.name.substr(2));
  if (renamed == nullptr) return false;
  broken("W060", {&setting}, fmt::format("{} is no longer the flag's name", setting.name),
         fmt::format("Megatron-LM {}.", renamed->what), fmt::format("{}", renamed->now));
  return true;
}

void MegatronJudge::misspelt_flag(const LaunchSetting& setting, const std::string& near) {
  if (!tell_unknown_name()) return;
  broken("W060", {&setting}, fmt::format("{} may be --{}, misspelt", setting.name, near),
         "Megatron-LM stops at a flag that it does not know, unless your script adds it.",
         "--" + near);
}

void MegatronJudge::tell_other_flags(const std::vector<std::string>& older,
                                     const std::vector<std::string>& unknown) {
  if (!fork_.empty()) {
    report().notes.push_back(
        fmt::format("this is a script of {}, judged by what it shares with Megatron-LM", fork_));
    return;
  }
  if (!older.empty()) {
    report().notes.push_back(fmt::format("Megatron-LM core {} no longer has {}, and stops there",
                                         request().version, listed(older)));
  }
  if (!unknown.empty()) {
    report().notes.push_back(
        fmt::format("Megatron-LM core {} does not have {}; it stops there, unless your script "
                    "adds them",
                    request().version, listed(unknown)));
  }
}

}  // namespace penstock
