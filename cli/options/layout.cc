#include "cli/options/layout.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "cli/options/field_words.h"
#include "cli/options/nearest.h"
#include "cli/options/parse.h"
#include "cli/options/schedule_called.h"
#include "core/values/recompute_sections.h"
#include "search/choose_cuts.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

// What a key is called, the first as --help has it, and what it means.
struct Key {
  std::array<std::string_view, 4> names;
  std::string_view means;
};
constexpr std::array kKeys{
    Key{{"TP", "T", "tensor"}, "tensor degree, default 1"},
    Key{{"PP", "P", "pipeline"}, "pipeline ranks, default 1"},
    Key{{"DP", "D", "data"}, "replicas, default --gpus / (TP PP), else 1"},
    Key{{"VP", "V", "VPP", "chunks"},
        "virtual stages per rank, default the fewest of the schedule"},
    Key{{"mbs", "b"}, "micro-batch size, default 1"},
    Key{{"gbs", "gb", "B", "global-batch"}, "samples per step"},
    Key{{"M", "micro-batches"}, "micro-batches of a replica, instead of gbs"},
    Key{{"seq", "s", "sequence-length"}, "tokens per sample, default the model's"},
    Key{{"schedule"}, "default 1f1b, with VP > 1 interleaved"},
    Key{{"recompute"}, "a mode of the profile, default none"},
    Key{{"recompute-sections"},
        "4,3,..: how many sections of every stage use that mode, counted from its first; "
        "default all"},
    Key{{"zero1", "distributed-optimizer"}, "on or off, default off"},
    Key{{"placement"},
        "pipeline-inner (default: neighbouring ranks hold the stages of one replica) or "
        "data-inner"},
    Key{{"device"}, "a device type of the cluster"},
    Key{{"devices"}, "device types of a mixed pipeline, its ranks in order: 2*a100+2*v100"},
    Key{{"replicas"},
        "unequal replicas: 2*a100:24/(a100+v100):8 lists the kinds of replicas, separated by /, "
        "each COUNT*DEVICES and after the colon the samples of each replica per step (without: an "
        "equal part of the rest)"},
    Key{{"cuts"},
        "equal (default: as many layers on every stage, the embedding on the first, the head on "
        "the last); search (as plan does); or 0,5,..: the first section of every stage, and at "
        "the end the number of sections"},
};

// The first name of a key; empty when there is none of the name. A lone B is the global batch, b
// the size of a micro-batch.
std::string_view key_named(std::string_view name) {
  if (name == "b") return "mbs";
  if (name == "B") return "gbs";
  for (const Key& key : kKeys) {
    for (const std::string_view known : key.names) {
      if (!known.empty() && plain_word(known) == plain_word(name)) return key.names[0];
    }
  }
  const std::string field = field_word(key_called(name));
  for (const Key& key : kKeys) {
    if (key.names[0] == field) return key.names[0];
  }
  return {};
}

[[noreturn]] void unknown_key(std::string_view option, std::string_view name) {
  std::vector<std::string> known;
  for (const Key& key : kKeys) {
    for (const std::string_view each : key.names) {
      if (!each.empty()) known.emplace_back(each);
    }
  }
  bad_option(option, fmt::format("unknown key '{}'", name), did_you_mean(name, known));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_list(std::string_view word) {
  const std::string_view key = key_named(word.substr(0, word.find('=')));
  return key == "cuts" || key == "recompute-sections";
}

// The key of a degree, and what follows it without a blank: "TP8" is "TP=8".
std::string with_equals(const std::string& word) {
  const std::size_t digit = word.find_first_of("0123456789");
  if (digit == std::string::npos || digit == 0 || !is_number(word.substr(digit))) return word;
  return key_called(word.substr(0, digit)).empty()
             ? word
             : word.substr(0, digit) + "=" + word.substr(digit);
}

// "TP 8 x PP 4 x DP 2, VP 2, mbs 1", as plans are printed, is "TP=8 PP=4 DP=2 VP=2 mbs=1".
std::vector<std::string> with_equals(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "x" || words[i] == "*") continue;
    const bool is_pair =
        i + 1 < words.size() && !key_called(words[i]).empty() && is_number(words[i + 1]);
    result.push_back(is_pair ? words[i] + "=" + words[i + 1] : with_equals(words[i]));
    if (is_pair) ++i;
  }
  return result;
}

// Words between blanks and commas; a number that follows that of a list belongs to it.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    const bool continues = is_number(word) && !words.empty() && is_list(words.back());
    if (continues) {
      words.back() += "," + word;
    } else {
      words.push_back(word);
    }
    word.clear();
  };
  for (const char c : text) {
    if (c == ',' || std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
    } else {
      word.push_back(c);
    }
  }
  end_word();
  return words;
}

std::vector<int> parse_cuts(std::string_view option, const std::string& value) {
  std::vector<int> cuts;
  for (const std::string& cut : parse_list(option, value)) {
    cuts.push_back(parse_int(std::string(option) + " cuts", cut, 0));
    if (cuts.size() > 1 && cuts.back() <= cuts[cuts.size() - 2]) {
      bad_option(option,
                 fmt::format("cuts do not ascend: {} after {}", cuts.back(), cuts[cuts.size() - 2]),
                 "give the first section of every stage and, last, the number of sections");
    }
  }
  return cuts;
}

std::vector<int> parse_counts(std::string_view option, const std::string& value) {
  std::vector<int> counts;
  for (const std::string& count : parse_list(option, value)) {
    counts.push_back(parse_int(std::string(option) + " recompute-sections", count, 0));
  }
  return counts;
}

void set_cuts(std::string_view option, const std::string& value, Layout& layout) {
  if (value == "search") {
    layout.default_cuts = DefaultCuts::kSearched;
  } else if (value != "equal") {
    layout.cuts = parse_cuts(option, value);
  }
}

Placement placement_of(std::string_view option, const std::string& value) {
  if (value == "pipeline-inner") return Placement::kPipelineInner;
  if (value == "data-inner") return Placement::kDataInner;
  bad_option(option, fmt::format("unknown placement '{}'", value), "pipeline-inner or data-inner");
}

std::optional<int>* number_of(Layout& layout, std::string_view key) {
  if (key == "TP") return &layout.tensor;
  if (key == "PP") return &layout.pipeline;
  if (key == "DP") return &layout.data;
  if (key == "VP") return &layout.chunks;
  if (key == "mbs") return &layout.micro_batch_size;
  if (key == "gbs") return &layout.global_batch;
  if (key == "M") return &layout.micro_batches;
  if (key == "seq") return &layout.sequence_length;
  return nullptr;
}

void set(std::string_view option, std::string_view key, const std::string& value, Layout& layout) {
  if (std::optional<int>* number = number_of(layout, key)) {
    if (value.find('/') != std::string::npos) {
      bad_option(option, fmt::format("{} is '{}'", key, value),
                 "replicas may differ in their device types and their shares of the batch "
                 "(replicas=..), not in TP, PP, mbs or cuts");
    }
    *number = parse_int(fmt::format("{} {}", option, key), value, 1);
  } else if (key == "schedule") {
    layout.schedule = schedule_called(option, value);
  } else if (key == "recompute") {
    layout.recompute = value;
  } else if (key == "recompute-sections") {
    layout.recompute_sections = parse_counts(option, value);
  } else if (key == "zero1") {
    layout.zero1 = parse_on_off(fmt::format("{} zero1", option), value);
  } else if (key == "placement") {
    layout.placement = placement_of(option, value);
  } else if (key == "device") {
    layout.device = value;
  } else if (key == "devices") {
    layout.devices = parse_ranks_on(fmt::format("{} devices", option), value);
  } else if (key == "replicas") {
    layout.replicas = parse_replicas_on(fmt::format("{} replicas", option), value);
  } else {
    set_cuts(option, value, layout);
  }
}

int data_of(const Layout& layout, const Plan& plan, const LayoutDefaults& defaults,
            std::string_view option) {
  if (!layout.replicas.empty()) {
    const int replicas = replicas_in(layout.replicas);
    if (layout.data.value_or(replicas) == replicas) return replicas;
    bad_option(option, fmt::format("DP = {}, but replicas says {}", *layout.data, replicas),
               "leave out DP");
  }
  if (layout.data) return *layout.data;
  const std::int64_t replica = std::int64_t{plan.tensor} * plan.pipeline;
  if (defaults.gpus == 0) return 1;
  if (defaults.gpus < replica || defaults.gpus % replica != 0) {
    bad_option(option,
               fmt::format("TP {} x PP {} does not divide {} GPUs", plan.tensor, plan.pipeline,
                           defaults.gpus),
               "say DP=.. as well");
  }
  return static_cast<int>(defaults.gpus / replica);
}

int parse_product(std::string_view option, int a, int b) {
  const std::int64_t product = std::int64_t{a} * b;
  if (product <= std::numeric_limits<int>::max()) return static_cast<int>(product);
  bad_option(option, fmt::format("M = {} is too large", a), "give fewer");
}

int batch_of(const Layout& layout, const Plan& plan, const LayoutDefaults& defaults,
             std::string_view option) {
  if (!layout.replicas.empty()) {
    std::optional<int> of_each;
    if (layout.micro_batches) {
      of_each = parse_product(option, *layout.micro_batches, plan.micro_batch_size);
    }
    const auto batch = batch_in(option, layout.replicas, of_each);
    if (batch && layout.global_batch.value_or(*batch) != *batch) {
      bad_option(option,
                 fmt::format("the shares of the replicas are {} samples, not gbs = {}", *batch,
                             *layout.global_batch),
                 "leave out gbs");
    }
    if (batch) return *batch;
  } else if (layout.micro_batches) {
    const std::int64_t batch =
        std::int64_t{*layout.micro_batches} * plan.micro_batch_size * plan.data;
    if (layout.global_batch && *layout.global_batch != batch) {
      bad_option(option,
                 fmt::format("M = {} is a batch of {}, not gbs = {}", *layout.micro_batches, batch,
                             *layout.global_batch),
                 "leave out M or gbs");
    }
    if (batch <= std::numeric_limits<int>::max()) return static_cast<int>(batch);
    bad_option(option, fmt::format("M = {} is too large", *layout.micro_batches), "give fewer");
  }
  if (layout.global_batch) return *layout.global_batch;
  if (defaults.global_batch > 0) return defaults.global_batch;
  bad_option(option, "gbs is missing", "add the samples of a step, for example gbs=512");
}

// One of device, devices and replicas.
void set_devices(const Layout& layout, std::string_view option, Plan& plan) {
  const int said = (layout.device ? 1 : 0) + (layout.devices.empty() ? 0 : 1) +
                   (layout.replicas.empty() ? 0 : 1);
  if (said > 1) {
    bad_option(option, "it has more than one of device, devices and replicas",
               "keep the one that says most");
  }
  if (!layout.replicas.empty()) plan.device = layout.replicas.front().ranks.front().device;
  if (!layout.devices.empty()) {
    set_ranks_on(fmt::format("{} devices", option), layout.devices, plan);
  }
}

void set_schedule(const Layout& layout, std::string_view option, Plan& plan) {
  plan.schedule = layout.schedule.value_or(layout.chunks.value_or(1) > 1 ? "interleaved" : "1f1b");
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  plan.stage_map = kind.map;
  plan.chunks = layout.chunks.value_or(kind.fewest_chunks);
  const bool too_many = kind.most_chunks > 0 && plan.chunks > kind.most_chunks;
  if (plan.chunks >= kind.fewest_chunks && !too_many) return;
  bad_option(option, fmt::format("{} cannot have VP = {}", plan.schedule, plan.chunks),
             kind.most_chunks == kind.fewest_chunks
                 ? fmt::format("it has VP = {}", kind.fewest_chunks)
                 : fmt::format("it has VP of {} and more", kind.fewest_chunks));
}

void set_cuts(const Layout& layout, const ModelProfile& profile, std::string_view option,
              Plan& plan) {
  const auto sections = static_cast<int>(profile.sections.size());
  const int stages = plan.stages_per_copy();
  if (stages > sections) {
    bad_option(option,
               fmt::format("PP x VP = {} stages, but {} has {} sections", plan.stages(),
                           profile.name, sections),
               "choose fewer stages");
  }
  if (!layout.cuts.empty()) {
    plan.cuts = layout.cuts;
    const bool whole = plan.cuts.front() == 0 && plan.cuts.back() == sections;
    if (whole && static_cast<int>(plan.cuts.size()) == stages + 1) return;
    bad_option(option,
               fmt::format("cuts has {} numbers from {} to {}", plan.cuts.size(), plan.cuts.front(),
                           plan.cuts.back()),
               fmt::format("{} has {} sections in {} stages: give {} numbers from 0 to {}",
                           profile.name, sections, stages, stages + 1, sections));
  }
  if (layout.default_cuts == DefaultCuts::kEqualLayers) {
    plan.cuts = equal_layer_cuts(profile, stages);
  }
}

// The plan's cuts are set, unless they are to be searched.
void set_recompute(const Layout& layout, std::string_view option, Plan& plan) {
  const std::vector<int>& counts = layout.recompute_sections;
  if (counts.empty()) return;
  if (plan.recompute == "none") {
    bad_option(option, "recompute-sections without a recompute mode",
               "add for example "
               "recompute=full");
  }
  if (plan.cuts.empty()) {
    bad_option(option, "recompute-sections counts sections of stages that are yet to be cut",
               "give the cuts as well, or leave it out");
  }
  if (counts.size() + 1 != plan.cuts.size()) {
    bad_option(option,
               fmt::format("recompute-sections has {} numbers, and there are {} stages",
                           counts.size(), plan.cuts.size() - 1),
               "give one for each stage");
  }
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const int all = plan.cuts[s + 1] - plan.cuts[s];
    if (counts[s] <= all) continue;
    bad_option(option, fmt::format("stage {} has {} sections, not {}", s, all, counts[s]),
               "recompute-sections counts those that recompute");
  }
  set_recompute_sections(plan, counts);
}

}  // namespace

Layout parse_layout(std::string_view option, std::string_view text) {
  Layout layout;
  std::vector<std::string_view> seen;
  for (const std::string& word : with_equals(words_in(text))) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      bad_option(option, fmt::format("'{}' is not KEY=VALUE", word.substr(0, 60)),
                 "write for example \"TP=4 PP=8 DP=2 mbs=1 gbs=128\"");
    }
    const std::string_view key = key_named(word.substr(0, equals));
    if (key.empty()) unknown_key(option, word.substr(0, equals));
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      bad_option(option, fmt::format("{} is given twice", key), "keep one of them");
    }
    seen.push_back(key);
    set(option, key, word.substr(equals + 1), layout);
  }
  if (seen.empty()) {
    bad_option(option, "it is empty", "write for example \"TP=4 PP=8 DP=2 mbs=1 gbs=128\"");
  }
  return layout;
}

std::vector<std::string> device_types_of(const Layout& layout) {
  std::vector<std::string> types;
  const auto add = [&](const std::vector<RanksOn>& ranks) {
    for (const RanksOn& run : ranks) {
      if (std::find(types.begin(), types.end(), run.device) == types.end()) {
        types.push_back(run.device);
      }
    }
  };
  add(layout.devices);
  for (const ReplicasOn& kind : layout.replicas) add(kind.ranks);
  return types;
}

std::string layout_keys_help() {
  std::string text;
  for (const Key& key : kKeys) {
    text += text.empty() ? "" : "; ";
    text += key.names[0];
    for (std::size_t i = 1; i < key.names.size(); ++i) {
      if (!key.names[i].empty()) text += fmt::format(" or {}", key.names[i]);
    }
    text += fmt::format(": {}", key.means);
  }
  return text;
}

Plan plan_of(const Layout& layout, const ModelProfile& profile, const LayoutDefaults& defaults,
             std::string_view option) {
  Plan plan;
  plan.tensor = layout.tensor.value_or(1);
  plan.pipeline = layout.pipeline.value_or(1);
  plan.data = data_of(layout, plan, defaults, option);
  plan.micro_batch_size = layout.micro_batch_size.value_or(1);
  plan.global_batch = batch_of(layout, plan, defaults, option);
  plan.sequence_length = layout.sequence_length.value_or(defaults.sequence_length);
  plan.recompute = layout.recompute.value_or("none");
  plan.zero1 = layout.zero1.value_or(false);
  plan.placement = layout.placement.value_or(Placement::kPipelineInner);
  plan.device = layout.device.value_or(defaults.device);
  set_devices(layout, option, plan);
  if (plan.device.empty()) {
    bad_option(option, "device is missing", "the cluster has several types: add device=NAME");
  }
  if (plan.global_batch < plan.data) {
    bad_option(option,
               fmt::format("gbs = {} is less than one sample per replica", plan.global_batch),
               fmt::format("give at least {}", plan.data));
  }
  if (!layout.replicas.empty()) {
    set_replicas_on(fmt::format("{} replicas", option), layout.replicas, plan);
  }
  set_schedule(layout, option, plan);
  set_cuts(layout, profile, option, plan);
  set_recompute(layout, option, plan);
  return plan;
}

std::vector<int> equal_layer_cuts(const ModelProfile& profile, int stages) {
  const std::vector<Section>& sections = profile.sections;
  std::vector<int> uses(profile.section_types.size());
  for (const Section& section : sections) ++uses[static_cast<std::size_t>(section.type)];
  const auto repeats = [&](std::size_t i) {
    return uses[static_cast<std::size_t>(sections[i].type)] > 1;
  };
  std::size_t first = 0, end = sections.size();
  while (first < end && !repeats(first)) ++first;
  while (end > first && !repeats(end - 1)) --end;
  const int layers = static_cast<int>(end - first);
  if (layers < stages) return equal_cuts(static_cast<int>(sections.size()), stages);
  std::vector<int> cuts = equal_cuts(layers, stages);
  for (int& cut : cuts) cut += static_cast<int>(first);
  cuts.front() = 0;
  cuts.back() = static_cast<int>(sections.size());
  return cuts;
}

}  // namespace penstock
