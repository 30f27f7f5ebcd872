// What a verb asks for stands in its usage line, outside of brackets. An option that takes the
// place of another (--nodes, --cost-file) is as good as it, and a profile has a cluster where a
// config.json has a device.
#include "cli/options/typed_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/near_files.h"
#include "cli/io/shell_word.h"
#include "cli/options/field_words.h"
#include "cli/options/parse.h"
#include "core/files/format.h"
#include "core/files/plan_format.h"

namespace penstock {
namespace {

// A value that can be run; what the usage line calls an argument, or the name of an option.
struct Example {
  std::string_view name, value;
};
constexpr std::array<Example, 26> kExamples{{{"PLAN", "plan.json"},
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
                                             {"--cloud", "aws"}}};

// What says the same in another way.
struct Instead {
  std::string_view option, other;
};
constexpr std::array<Instead, 7> kInstead{{{"--device", "--cluster"},
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
  const std::string file = first_file(command);
  std::error_code error;
  const bool is_model = !file.empty() && std::filesystem::exists(file, error) &&
                        !is_plan_format(format_of_file(file));
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

// A layout of 64 GPUs, or of as many as were typed.
std::string example_of_layout(const TypedCommand& command) {
  return command.has("--gpus") ? "TP=1 PP=1 mbs=1 gbs=128" : "TP=4 PP=8 DP=2 mbs=1 gbs=128";
}

std::string example_of(const TypedCommand& command, const Need& need) {
  const std::string& name = need.name;
  if (name == "MODEL" || name == "CONFIG") return model_at_hand();
  if (name == "--layout") return example_of_layout(command);
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

bool is_there(const TypedCommand& command, const std::string& option) {
  if (command.has(option) || is_varied(command, option)) return true;
  const bool is_counted = option == "-P" || option == "-M";  // a list of actions has its own
  if (is_counted && first_file(command).ends_with(".csv")) return true;
  return std::any_of(kInstead.begin(), kInstead.end(), [&](const Instead& row) {
    return row.option == option && command.has(row.other);
  });
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
  const auto takes_value = [this](const std::string& word) {
    return std::any_of(valued.begin(), valued.end(), [&](const auto& names) {
      return std::find(names.begin(), names.end(), word) != names.end();
    });
  };
  Arguments files, options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_option = words[i].starts_with('-') && words[i].size() > 1;
    (is_option ? options : files).push_back(words[i]);
    if (is_option && takes_value(words[i]) && i + 1 < words.size()) options.push_back(words[++i]);
  }
  const std::string line = usage_of(*this);
  const std::vector<Need> needs = needs_of(line);
  std::size_t typed = 0;
  for (const Need& need : needs) {
    if (!need.is_option() && ++typed > files.size()) files.push_back(example_of(*this, need));
  }
  const std::vector<std::string> measured =
      files.empty() ? std::vector<std::string>() : devices_measured(files[0]);
  if (!measured.empty() && takes_value("--cluster") && !has("--cluster")) {
    const std::string cluster = cluster_with(measured);
    options.insert(options.begin(), {"--cluster", cluster.empty() ? "cluster.json" : cluster});
  }
  for (const Need& need : needs) {
    const bool is_of_cluster = need.name == "--device" || need.name == "--gpus";
    if (!need.is_option() || is_there(*this, need.name) || (is_of_cluster && !measured.empty())) {
      continue;
    }
    options.insert(options.end(), {need.name, example_of(*this, need)});
  }
  files.insert(files.end(), options.begin(), options.end());
  return command_of(line.substr(0, line.find(' ')), files);
}

const std::string& required(const std::optional<std::string>& value, const std::string& option,
                            const TypedCommand& command) {
  if (!value) bad_option(option, "missing", "add it, for example " + command.whole());
  return *value;
}

}  // namespace penstock
