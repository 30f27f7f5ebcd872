// What a verb asks for stands in its usage line, outside of brackets. An option that takes the
// place of another (--nodes, --cost-file) is as good as it, and a profile has a cluster where a
// config.json has a device.
#include "cli/answers/commands/typed_command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "cli/answers/files/typed_files.h"
#include "cli/io/files.h"
#include "cli/io/shell_word.h"
#include "cli/words/device_facts.h"
#include "cli/words/field_words.h"
#include "cli/words/is_digits.h"
#include "cli/words/near_files.h"
#include "cli/words/number_spellings.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_spelled.h"
#include "core/files/format.h"
#include "report/words.h"

namespace penstock {
namespace {

// A value that can be run; what the usage line calls an argument, or the name of an option.
struct Example {
  std::string_view name, value;
};
constexpr std::array<Example, 27> kExamples{{{"PLAN", "plan.json"},
                                             {"TOOL", "nccl-tests"},
                                             {"FILE...", "all_reduce.log"},
                                             {"RUN", "train.log"},
                                             {"JOB", "job.json"},
                                             {"JOB.json", "job.json"},
                                             {"JOBS.json", "jobs.json"},
                                             {"FILE|FOLDER", "launch.sh"},
                                             {"NAME", "1f1b"},
                                             {"SHELL", "bash"},
                                             {"COMMAND", "checkpoint"},
                                             {"--device", "h100-sxm"},
                                             {"--gpus", "64"},
                                             {"--global-batch", "512"},
                                             {"--vary", "schedule=1f1b,zb-h1"},
                                             {"--to", "megatron"},
                                             {"--book", "book.json"},
                                             {"--trace", "trace.csv"},
                                             {"--runs", "runs.json"},
                                             {"--lengths", "lengths.csv"},
                                             {"-o", "report.html"},
                                             {"-P", "4"},
                                             {"-M", "8"},
                                             {"--cost", "F=10ms,I=10ms,W=10ms"},
                                             {"--data", "corpus.txt"},
                                             {"--cloud", "aws"},
                                             {"--machine", "node3"}}};

// What says the same in another way.
struct Instead {
  std::string_view option, other;
};
constexpr std::array<Instead, 8> kInstead{{{"--device", "--cluster"},
                                           {"--cluster", "--device"},
                                           {"--gpus", "--cluster"},
                                           {"--gpus", "--nodes"},
                                           {"--global-batch", "--global-batch-tokens"},
                                           {"--cost", "--cost-file"},
                                           {"-M", "--cost-file"},
                                           {"--layout", "--batch"}}};

// One thing that the usage line asks for.
struct Need {
  std::string name;        // "MODEL", "--gpus"
  std::string value = "";  // "N", of an option
  [[nodiscard]] bool is_option() const { return name.starts_with('-'); }
};

std::string first_file(const TypedCommand& command) {
  return command.words.empty() || command.words[0].starts_with('-') ? "" : command.words[0];
}

// "report PLAN -o FILE, or report MODEL --device NAME ...": that of a model where one was typed.
std::string usage_of(const TypedCommand& command) {
  constexpr std::string_view kOr = ", or ";
  const std::size_t parts = command.usage.find(kOr);
  if (parts == std::string::npos) return command.usage;
  const FileRole role = role_of(first_file(command));
  const bool is_model = role == FileRole::kModel || role == FileRole::kProfile;
  return is_model ? command.usage.substr(parts + kOr.size()) : command.usage.substr(0, parts);
}

std::vector<Need> needs_of(const std::string& usage) {
  std::vector<Need> needs;
  std::istringstream words(usage);
  std::string word;
  words >> word;  // the verb
  const auto skip_to = [&](char end) {
    while (!word.ends_with(end) && words >> word) {
    }
  };
  while (words >> word) {
    if (word.starts_with('[')) {
      skip_to(']');
    } else if (word.starts_with('-')) {
      needs.push_back({word});
      words >> word;
      needs.back().value = word;
      if (word.starts_with('"')) skip_to('"');
    } else {
      needs.push_back({word});
    }
  }
  return needs;
}

// All values of an option as the verb reads it; empty where it was not typed.
std::string values_of(const TypedCommand& command, std::string_view option) {
  const Arguments& said = command.read.empty() ? command.words : command.read;
  std::string values;  // --layout may stand several times
  for (std::size_t i = 0; i < said.size(); ++i) {
    const bool is_it = said[i] == option && i + 1 < said.size();
    const bool is_joined = said[i].starts_with(std::string(option) + '=');
    if (!is_it && !is_joined) continue;
    if (!values.empty()) values += ' ';
    values += is_it ? said[i + 1] : said[i].substr(option.size() + 1);
  }
  return values;
}

// TP and PP that divide as many GPUs as were typed, and leave replicas. Whoever has many GPUs has a
// model whose heads 8 divides.
std::string degrees_of_gpus(const std::string& typed) {
  int gpus = 0;
  std::from_chars(typed.data(), typed.data() + typed.size(), gpus);
  constexpr int kMany = 128;
  int tensor = 1, pipeline = 1;
  while (tensor < (gpus < kMany ? 4 : 8) && gpus % (tensor * 4) == 0) tensor *= 2;
  while (pipeline < 8 && gpus % (tensor * pipeline * 4) == 0) pipeline *= 2;
  return fmt::format("TP={} PP={}", tensor, pipeline);
}

// A layout of 64 GPUs, or of as many as were typed, with a batch unless that was typed.
std::string example_of_layout(const TypedCommand& command) {
  const std::string layout = values_of(command, "--layout");
  const bool has_gpus = command.has("--gpus");
  std::string example =
      has_gpus ? degrees_of_gpus(values_of(command, "--gpus")) : std::string("TP=4 PP=8 DP=2");
  if (layout.find("mbs=") == std::string::npos) example += " mbs=1";
  return layout.find("gbs=") == std::string::npos ? example + " gbs=128" : example;
}

// A layout that was typed says no batch, which is an example then.
bool lacks_batch(const TypedCommand& command) {
  if (!command.usage.starts_with("predict ") || command.has("--batch")) return false;
  const std::string layout = values_of(command, "--layout");
  return layout.find("gbs=") == std::string::npos && layout.find("M=") == std::string::npos;
}

// "--gbs 512" of `predict` is a part of --layout that says nothing of how a model is divided.
bool lacks_degrees(const TypedCommand& command) {
  const std::string layout = values_of(command, "--layout");
  std::istringstream pairs(layout);
  for (std::string pair; pairs >> pair;) {
    const std::string key = key_or_word(pair.substr(0, pair.find('=')));
    if (key != "global-batch" && key != "sequence-length" && key != "b") return false;
  }
  return true;
}

std::string example_of(const TypedCommand& command, const Need& need) {
  const std::string& name = need.name;
  if (name == "MODEL" || name == "CONFIG") return model_at_hand();
  if (name == "--layout") return example_of_layout(command);
  if (name == "FILE..." && first_file(command) == "skypilot") return "vms.csv";
  if (name == "FILE..." && first_file(command) == "nvbandwidth") return "nvbandwidth.json";
  const auto row = std::find_if(kExamples.begin(), kExamples.end(),
                                [&](const Example& each) { return each.name == name; });
  if (row != kExamples.end()) return std::string(row->value);
  return need.value.empty() ? name : need.value;
}

// "--vary gpus=8,16" says how many there are.
bool is_varied(const TypedCommand& command, std::string_view option) {
  const std::string key(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  return std::any_of(command.words.begin(), command.words.end(), [&](const std::string& word) {
    const std::size_t equals = word.find('=');
    return equals != std::string::npos && key_or_word(word.substr(0, equals)) == key;
  });
}

bool is_satisfied(const TypedCommand& command, const std::string& option) {
  if (option == "--layout" && command.has(option) && lacks_degrees(command)) return false;
  if (command.has(option) || is_varied(command, option)) return true;
  const bool is_counted = option == "-P" || option == "-M";  // a list of actions has its own
  if (is_counted && first_file(command).ends_with(".csv")) return true;
  // "--batch 1" of predict is no file of samples.
  const std::string batch = option == "--layout" ? values_of(command, "--batch") : "";
  if (!batch.empty() && batch.find_first_not_of("0123456789") == std::string::npos) return false;
  return std::any_of(kInstead.begin(), kInstead.end(), [&](const Instead& row) {
    return row.option == option && (command.has(row.other) || is_varied(command, row.other));
  });
}

// "--schedule 1f1b,zb-h1" and "--pin PP=2,4" where --vary is needed: "schedule=1f1b,zb-h1", or
// nothing of one value.
std::string varied_by(const std::string& option, const std::string& value) {
  constexpr std::array<std::string_view, 14> kVaried{"schedule",
                                                     "gpus",
                                                     "global-batch",
                                                     "sequence-length",
                                                     "device",
                                                     "precision",
                                                     "recompute",
                                                     "sharding",
                                                     "T",
                                                     "P",
                                                     "D",
                                                     "V",
                                                     "C",
                                                     "b"};
  const std::size_t equals = value.find('=');
  const bool is_pin = option == "--pin" && equals != std::string::npos;
  if (is_pin && value.find('=', equals + 1) != std::string::npos) return "";
  const std::string typed = is_pin ? value.substr(0, equals) : option.substr(2);
  const std::string key = key_or_word(typed == "schedules" ? "schedule" : typed);
  const std::string values = is_pin ? value.substr(equals + 1) : value;
  const bool is_number = key != "gpus" && !without_thousands(values, ',').empty();
  const bool is_known = std::find(kVaried.begin(), kVaried.end(), key) != kVaried.end();
  if (!is_known || is_number || values.find(',') == std::string::npos) return "";
  return field_word(key) + '=' + values;
}

// "--schedule 1f1b --schedule zero-bubble" as one list; a name that is none gives way to an
// example.
Arguments with_schedules_joined(const Arguments& words) {
  Arguments out, names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_one = words[i] == "--schedule" && i + 1 < words.size() &&
                        words[i + 1].find(',') == std::string::npos;
    if (!is_one) {
      out.push_back(words[i]);
      continue;
    }
    const std::string_view known = schedule_spelled(words[++i]);
    names.emplace_back(known.empty() ? "zb-h1" : known);
  }
  if (names.size() < 2) return words;
  out.insert(out.end(), {"--schedule", joined(names, ",")});
  return out;
}

// The command in which what lists values varies.
TypedCommand with_lists_varied(TypedCommand command) {
  if (command.usage.find(" --vary ") == std::string::npos || command.has("--vary")) return command;
  command.words = with_schedules_joined(command.words);
  Arguments words, varied;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i];
    const std::size_t equals = word.find('=');
    const bool is_option = word.starts_with("--") && word.size() > 2;
    const bool is_joined = is_option && equals != std::string::npos;
    const bool has_next = is_option && !is_joined && i + 1 < command.words.size();
    const std::string setting = is_joined
                                    ? varied_by(word.substr(0, equals), word.substr(equals + 1))
                                : has_next ? varied_by(word, command.words[i + 1])
                                           : "";
    if (setting.empty()) {
      words.push_back(word);
      continue;
    }
    varied.insert(varied.end(), {"--vary", setting});
    i += has_next ? 1 : 0;
  }
  command.words = std::move(words);
  command.words.insert(command.words.end(), varied.begin(), varied.end());
  if (!command.read.empty()) command.read.insert(command.read.end(), varied.begin(), varied.end());
  return command;
}

// The device types that a profile has times for; none of another file.
std::vector<std::string> devices_measured(const std::string& path) {
  std::vector<std::string> devices;
  if (!format_of_file(path).starts_with("penstock.profile/")) return devices;
  const ModelProfile profile = read_profile(load_json(path).value, path);
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& each : type.measurements) {
      if (std::find(devices.begin(), devices.end(), each.device) == devices.end()) {
        devices.push_back(each.device);
      }
    }
  }
  return devices;
}

}  // namespace

namespace {

// A cluster for a profile, and what makes it where there is none at hand.
struct ClusterForProfile {
  std::string file, made_by = "";
};
ClusterForProfile cluster_for(const std::vector<std::string>& measured,
                              const TypedCommand& command) {
  const std::string typed = device_among(measured, values_of(command, "--device"));
  const std::vector<std::string> wanted = typed.empty() ? measured : std::vector{typed};
  if (const std::string there = cluster_with(wanted); !there.empty()) return {there};
  const DeviceFacts device = device_facts(wanted.front());
  if (device.memory_gib <= 0.0) return {"cluster.json"};
  const std::string file =
      is_there("cluster.json") ? "cluster-" + wanted.front() + ".json" : "cluster.json";
  Arguments words{wanted.front(), "--cluster-out", file};
  if (const std::string gpus = values_of(command, "--gpus"); is_digits(gpus)) {
    words.insert(words.begin() + 1, {"--gpus", gpus});
  }
  return {file, command_of("devices", words) + "; then "};
}

}  // namespace

bool TypedCommand::has(std::string_view option) const {
  std::vector<std::string> names{std::string(option)};
  for (const std::vector<std::string>& each : valued) {
    if (std::find(each.begin(), each.end(), option) != each.end()) names = each;
  }
  const Arguments& said = read.empty() ? words : read;
  return std::any_of(said.begin(), said.end(), [&](const std::string& word) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const bool is_letter = name.size() == 2;  // "-P8"
      return word == name || word.starts_with(name + '=') || (is_letter && word.starts_with(name));
    });
  });
}

std::string TypedCommand::whole() const {
  const TypedCommand command = with_lists_varied(*this);
  const Arguments& all = command.words;
  const auto takes_value = [this](const std::string& word) {
    if (word == "--vary") return true;
    return std::any_of(valued.begin(), valued.end(), [&](const auto& names) {
      return std::find(names.begin(), names.end(), word) != names.end();
    });
  };
  Arguments files, options;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_option = all[i].starts_with('-') && all[i].size() > 1;
    (is_option ? options : files).push_back(all[i]);
    if (is_option && takes_value(all[i]) && i + 1 < all.size()) options.push_back(all[++i]);
  }
  const std::string line = usage_of(command);
  const std::vector<Need> needs = needs_of(line);
  std::size_t typed = 0;
  for (const Need& need : needs) {
    if (!need.is_option() && ++typed > files.size()) files.push_back(example_of(command, need));
  }
  const std::vector<std::string> measured =
      files.empty() ? std::vector<std::string>() : devices_measured(files[0]);
  std::string made_by;
  const bool has_cluster = command.has("--cluster") || is_varied(command, "--cluster");
  if (!measured.empty() && takes_value("--cluster") && !has_cluster) {
    const ClusterForProfile cluster = cluster_for(measured, command);
    made_by = cluster.made_by;
    options.insert(options.begin(), {"--cluster", cluster.file});
  }
  for (const Need& need : needs) {
    const bool is_of_cluster =
        need.name == "--device" || need.name == "--gpus" || need.name == "--cluster";
    if (!need.is_option() || is_satisfied(command, need.name) ||
        (is_of_cluster && !measured.empty())) {
      continue;
    }
    options.insert(options.end(), {need.name, example_of(command, need)});
  }
  if (lacks_batch(command) && is_satisfied(command, "--layout")) {
    options.insert(options.end(), {"--gbs", "512"});
  }
  files.insert(files.end(), options.begin(), options.end());
  return made_by + command_of(line.substr(0, line.find(' ')), files);
}

const std::string& required(const std::optional<std::string>& value, const std::string& option,
                            const TypedCommand& command) {
  if (!value) bad_option(option, "missing", "add it, for example " + command.whole());
  return *value;
}

}  // namespace penstock
