// Every choice of a question has one setter, used by options, by --pin and by the points of
// `compare --vary`, so that a word means the same everywhere. Values are checked against the
// profile at hand: a recompute mode that was not measured is refused with those that were.
#include "cli/options/question_settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/options/cluster_settings.h"
#include "cli/options/global_batch.h"
#include "cli/options/memory_limit.h"
#include "cli/options/search_options.h"
#include "cli/options/term_settings.h"
#include "cli/reports/known_host.h"
#include "cli/words/device_facts.h"
#include "cli/words/field_words.h"
#include "cli/words/near_words.h"
#include "cli/words/parse.h"
#include "cli/words/pasted_pairs.h"
#include "cli/words/schedule_called.h"
#include "cli/words/sharding_called.h"
#include "cli/words/trainer_called.h"
#include "report/words.h"
#include "simulator/schedules/schedules.h"
#include "studies/contradictions.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

std::string check_device(const ClusterSpec& cluster, const std::string& option,
                         const std::string& name) {
  std::vector<std::string> known;
  for (const DeviceType& type : cluster.device_types) known.push_back(type.name);
  if (std::string own = device_among(known, name); !own.empty()) return own;
  const std::string near = did_you_mean(name, known);
  const bool is_only = known.size() == 1 && !near.starts_with("did you mean");
  bad_option(option, fmt::format("the cluster has no device '{}'", name),
             is_only ? fmt::format("leave it out: the cluster has only {}; for another GPU: a "
                                   "config.json in the profile's place, and no --cluster",
                                   known[0])
                     : near);
}

constexpr std::string_view kAsNeeded = "as-needed";

std::string check_recompute(const ModelProfile& profile, const std::string& option,
                            const std::string& name) {
  std::vector<std::string> known;
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& measurement : type.measurements) {
      if (measurement.recompute == name) return name;
      known.push_back(measurement.recompute);
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string called = recompute_called(name);
  if (std::find(known.begin(), known.end(), called) != known.end()) {
    bad_option(option, fmt::format("the profile has no recompute mode '{}'", name),
               option == "--recompute" ? fmt::format("write {} {}", option, called)
                                       : fmt::format("did you mean '{}'?", called));
  }
  const std::string help = name.find(',') == std::string::npos
                               ? help_for_unknown(name, known)
                               : "name one mode; without the option all are searched";
  bad_option(option, fmt::format("the profile has no recompute mode '{}'", name), help);
}

// "full": in all sections; "full:as-needed": in as few sections of every stage as fit.
void set_recompute(const ModelProfile& profile, const std::string& option, const std::string& value,
                   Pins& pins) {
  const std::size_t colon = value.rfind(':');
  const bool has_part = colon != std::string::npos;
  const std::string mode = check_recompute(profile, option, value.substr(0, colon));
  const std::string part = has_part ? value.substr(colon + 1) : "";
  if (has_part && part != kAsNeeded) {
    bad_option(option, fmt::format("unknown '{}' after the mode", part),
               fmt::format("write {} or {}:{}", mode, mode, kAsNeeded));
  }
  if (has_part && mode == "none") {
    bad_option(option, fmt::format("'{}' recomputes nothing", value), "name another mode");
  }
  pins.recompute = mode;
  pins.recompute_as_needed = has_part;
}

Placement parse_placement(const std::string& option, const std::string& text) {
  if (text == "pipeline-inner") return Placement::kPipelineInner;
  if (text == "data-inner") return Placement::kDataInner;
  bad_option(option, fmt::format("unknown '{}'", text),
             "pipeline-inner (stages of one replica side by side) or data-inner (replicas of one "
             "stage side by side)");
}

std::optional<int>* pinned_degree(Pins& pins, const std::string& key) {
  if (key == "P") return &pins.pipeline;
  if (key == "V") return &pins.chunks;
  if (key == "D") return &pins.data;
  if (key == "T") return &pins.tensor;
  if (key == "C") return &pins.context;
  if (key == "EP") return &pins.expert;
  if (key == "ETP") return &pins.expert_tensor;
  if (key == "b") return &pins.micro_batch_size;
  return nullptr;
}
// "interleaved", or with its chunks "interleaved:2".
void set_schedule(Pins& pins, const std::string& option, const std::string& value) {
  const std::size_t colon = value.find(':');
  pins.schedules = {schedule_called(option, value.substr(0, colon))};
  if (colon != std::string::npos) pins.chunks = parse_int(option, value.substr(colon + 1), 1);
}
void pin_sharding(const ShardingChoice& choice, Pins& pins) {
  pins.zero1 = choice.zero1;
  pins.sharding.reset();
  pins.shard_group.reset();
  if (choice.zero1) pins.sharding = choice.sharding;
  if (choice.group > 0) pins.shard_group = choice.group;
}
// "any": both ways are tried.
std::optional<bool> offload_pinned(const std::string& option, const std::string& value) {
  if (value == "any" || value == "auto" || value == "all") return std::nullopt;
  return offload_called(option, value);
}
// "tp=8, schedule=1f1b" as "TP=8,schedule=1f1b".
std::string as_pairs(const std::string& text) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : parse_key_values("--pin", text)) {
    pairs.push_back(fmt::format("{}={}", field_word(key_or_word(key)), value));
  }
  return joined(pairs, ",");
}

// What is no degree has an option of its own.
std::string where_else(const std::string& key, const std::string& value) {
  if (key == "M") return "micro-batches follow from the global batch, DP and mbs; pin those";
  if (plain_word(key).starts_with("zero")) return "it has its own option: --sharding zero1";
  for (const char* other : {"global-batch", "sequence-length", "schedule", "recompute", "zero1",
                            "sharding", "device", "placement", "cp-kind", "gpus"}) {
    if (key == other) return fmt::format("it has its own option: --{} {}", key, value);
  }
  return "TP, CP, EP, PP, DP, VP, mbs (T, C, P, D, V, b) or offload; other choices have their own "
         "options";
}

// A single replica, which shards nothing, would be an answer to it.
void refuse_unknown_sharding(const Trainer& trainer, const SearchOptions& options) {
  if (!options.sharding) return;
  const ShardingChoice choice = sharding_called("--sharding", *options.sharding);
  const std::vector<Sharding>& known = trainer.shardings;
  if (!choice.zero1 || choice.sharding == Sharding::kState ||
      std::find(known.begin(), known.end(), choice.sharding) != known.end()) {
    return;
  }
  std::vector<std::string> others;
  for (const std::string& name : trainer_names()) {
    const Trainer* other = find_trainer(name);
    const bool shards =
        other != nullptr && std::find(other->shardings.begin(), other->shardings.end(),
                                      choice.sharding) != other->shardings.end();
    const bool is_plain = name != "penstock" && name.find('@') == std::string::npos;
    if (shards && is_plain) others.push_back("--for " + name);
  }
  bad_option(
      "--sharding", fmt::format("{} does not shard as '{}' does", trainer.title, *options.sharding),
      fmt::format("write {}, or leave out one of --sharding and --for", joined(others, " or ")));
}

}  // namespace

void settle_pipeline(Pins& pins, const std::string& option) {
  if (pins.sharding != Sharding::kGradients && pins.sharding != Sharding::kParameters) return;
  if (!pins.pipeline) pins.pipeline = 1;
  if (*pins.pipeline > 1) {
    bad_option(
        option,
        fmt::format("{} has no pipeline, and PP = {}",
                    pins.sharding == Sharding::kGradients ? "zero2" : "zero3", *pins.pipeline),
        "leave out PP, or take --sharding zero1 (or fsdp, for torchtitan)");
  }
}

void set_pins(Question& question, const SearchOptions& options) {
  for (const std::string& text : options.pins) {
    for (const auto& [typed, value] : parse_key_values("--pin", text)) {
      const std::string key = key_or_word(typed);
      if (plain_word(typed) == "fsdp") {
        const int shards = parse_int("--pin FSDP", value, 1);
        pin_sharding({true, Sharding::kFsdp, shards}, question.request.pins);
        continue;
      }
      if (key == "offload") {
        set(question, "--pin offload", key, value);
        continue;
      }
      std::optional<int>* pin = pinned_degree(question.request.pins, key);
      if (pin == nullptr) {
        const std::string help = where_else(key, value);
        const bool has_own = help == fmt::format("it has its own option: --{} {}", key, value);
        bad_option("--pin", fmt::format("unknown key '{}'", typed),
                   has_own ? "it has its own option: " + pairs_as_options(as_pairs(text)) : help);
      }
      if (pin->has_value()) {
        bad_option("--pin", fmt::format("{} is given twice", field_word(key)), "keep one of them");
      }
      if (value == "auto" || value == "any" || value == "all") {
        bad_option("--pin " + field_word(key), fmt::format("'{}' is what the search does", value),
                   "leave it out");
      }
      *pin = parse_int("--pin " + field_word(key), value, 1);
    }
  }
  Pins& pins = question.request.pins;
  for (const std::string& list : options.schedules) {
    for (const std::string& name : parse_list("--schedule", list)) {
      pins.schedules.push_back(schedule_called("--schedule", name));
    }
  }
  if (options.recompute) set(question, "--recompute", "recompute", *options.recompute);
  if (options.zero1) set(question, "--zero1", "zero1", *options.zero1);
  if (options.sharding && options.zero1) {
    bad_option("--sharding", "--zero1 says what is sharded as well", "leave out --zero1");
  }
  if (options.sharding) set(question, "--sharding", "sharding", *options.sharding);
  settle_pipeline(pins, "--sharding");
  if (options.device && !question.estimated) {
    set(question, "--device", "device", *options.device);
  }
  if (options.placement) set(question, "--placement", "placement", *options.placement);
  if (options.context_kind) set(question, "--cp-kind", "cp-kind", *options.context_kind);
  if (!options.trainer) return;
  question.request.trainer = &parse_trainer(*options.trainer);
  refuse_unknown_sharding(*question.request.trainer, options);
  for (const std::string& name : pins.schedules) {
    const std::string why = why_not_run(*question.request.trainer, *find_schedule(name));
    if (!why.empty()) {
      bad_option("--schedule", fmt::format("{} cannot run {}: {}", *options.trainer, name, why),
                 "leave out one of --schedule and --for");
    }
  }
}

bool pins_offload(const SearchOptions& options) {
  return std::any_of(options.pins.begin(), options.pins.end(), [](const std::string& text) {
    const auto pairs = parse_key_values("--pin", text);
    return std::any_of(pairs.begin(), pairs.end(),
                       [](const auto& pair) { return key_or_word(pair.first) == "offload"; });
  });
}

std::string help_for_pins(const Pins& pins, const GpusThere& there) {
  std::string words;
  for (const auto& [name, degree] :
       {std::pair{"TP", &pins.tensor}, std::pair{"PP", &pins.pipeline}, std::pair{"DP", &pins.data},
        std::pair{"CP", &pins.context}, std::pair{"VP", &pins.chunks},
        std::pair{"mbs", &pins.micro_batch_size}}) {
    if (*degree) words += fmt::format("{}{}={}", words.empty() ? "" : ",", name, **degree);
  }
  const bool takes_all = devices_needed(pins) == there.gpus;
  return fmt::format("write --pin {}{}", words,
                     takes_all ? fmt::format(", which takes all {} GPUs", there.gpus) : "");
}

void refuse_contradictions(const Question& question) {
  const GpusThere there{question.request.gpus, "--gpus allows"};
  const auto found = contradictions_of(question, there);
  if (found.empty()) return;
  const std::optional<Pins> nearest = nearest_pins(question, there);
  bad_option("--pin", joined(found, " "),
             nearest ? help_for_pins(*nearest, there) : "change or leave out one of the pins");
}

const std::vector<std::string>& settable_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all{
        "schedule",    "P",           "V",         "D",         "T",     "C",
        "EP",          "ETP",         "b",         "recompute", "zero1", "sharding",
        "offload",     "device",      "placement", "cp-kind",   "gpus",  "global-batch",
        "reserve-gib", "memory-limit"};
    all.insert(all.end(), cluster_keys().begin(), cluster_keys().end());
    return all;
  }();
  return keys;
}

bool set(Question& question, const std::string& option, const std::string& typed,
         const std::string& value) {
  const std::string key = key_or_word(typed);
  SearchRequest& request = question.request;
  if (std::optional<int>* pin = pinned_degree(request.pins, key)) {
    *pin = parse_int(option, value, 1);
  } else if (key == "schedule") {
    set_schedule(request.pins, option, value);
  } else if (key == "recompute") {
    set_recompute(question.profile.value, option, value, request.pins);
  } else if (key == "zero1") {
    request.pins.zero1 = parse_on_off(option, value);
    request.pins.sharding.reset();
  } else if (key == "sharding") {
    pin_sharding(sharding_called(option, value), request.pins);
  } else if (key == "offload") {
    request.pins.offload = offload_pinned(option, value);
    if (request.pins.offload.value_or(true)) use_hosts(question);
  } else if (key == "device") {
    request.pins.device = check_device(question.cluster.value, option, value);
  } else if (key == "cp-kind") {
    request.pins.context_kind = context_kind_called(option, value);
  } else if (key == "placement") {
    request.pins.placement = parse_placement(option, value);
  } else if (key == "gpus") {
    request.gpus = parse_int(option, value, 1);
  } else if (key == "global-batch") {
    request.global_batch = parse_int(option, value, 1, kMostSamples);
  } else if (key == "reserve-gib") {
    question.reserve = parse_gib(option, value);
  } else if (key == "memory-limit") {
    limit_memory(question.cluster.value, option, value);
  } else if (!set_term(question.profile.value, option, key, value)) {
    return set(question.cluster.value, option, key, value);
  }
  return true;
}

}  // namespace penstock
