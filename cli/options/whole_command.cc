#include "cli/options/whole_command.h"

#include <algorithm>
#include <array>

#include "cli/io/shell_word.h"
#include "cli/options/able_verbs.h"
#include "cli/options/typed_files.h"

namespace penstock {
namespace {

// `instead`: options that say it as well, each between blanks; `typed`: how it is written.
struct NeededOption {
  std::string_view name, instead, typed, example;
};
constexpr NeededOption kDevice{"--device", " --cluster ", "--device", "h100-sxm"},
    kCluster{"--cluster", " --device ", "--cluster", "cluster.json"},
    kGpus{"--gpus", " --nodes --cluster ", "--gpus", "64"},
    kBatch{"--global-batch", " --global-batch-tokens ", "--global-batch", "512"},
    kLayout{"--layout", " --gbs --pin ", "--layout", "TP=2 PP=4 DP=2 mbs=1 gbs=64"},
    kVary{"--vary", " ", "--vary", "schedule=1f1b,zb-h1"}, kTo{"--to", " ", "--to", "megatron"},
    kFolder{"--output", " ", "-o", "job"}, kPage{"--output", " ", "-o", "report.html"},
    kData{"--data", " --replay --resume ", "--data", "corpus.txt"},
    kRuns{"--runs", " ", "--runs", "runs.json"}, kBook{"--book", " ", "--book", "book.json"},
    kRecording{"--trace", " ", "--trace", "trace.csv"}, kRanks{"--ranks", " ", "-P", "4"},
    kMicroBatches{"--micro-batches", " ", "-M", "8"},
    kCost{"--cost", " --cost-file ", "--cost", "F=10ms,I=10ms,W=10ms"};

struct Needs {
  std::string_view verb, first, second;
  std::array<NeededOption, 4> options;
};
constexpr std::array kNeeds{
    Needs{"plan", "config.json", "", {kDevice, kGpus, kBatch}},
    Needs{"predict", "config.json", "", {kDevice, kLayout}},
    Needs{"compare", "config.json", "", {kDevice, kGpus, kBatch, kVary}},
    Needs{"estimate", "config.json", "", {kDevice}},
    Needs{"profile", "config.json", "", {}},
    Needs{"simulate", "plan.json", "", {}},
    Needs{"explain", "plan.json", "", {}},
    Needs{"trace", "plan.json", "", {}},
    Needs{"report", "plan.json", "", {kPage}},
    Needs{"export", "plan.json", "", {kTo, kFolder}},
    Needs{"train", "plan.json", "", {kData}},
    Needs{"validate", "plan.json", "train.log", {}},
    Needs{"check", "train.sh", "", {}},
    Needs{"manage", "job.json", "", {}},
    Needs{"status", "job.json", "", {}},
    Needs{"tell", "job.json", "stop", {}},
    Needs{"multi", "jobs.json", "", {kGpus}},
    Needs{"calibrate", "", "", {kRuns}},
    Needs{"morph", "", "", {kBook, kRecording}},
    Needs{"schedule", "1f1b", "", {kRanks, kMicroBatches, kCost}},
};

bool is_among(const Arguments& words, std::string_view name) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

bool is_said(const NeededOption& option, const Arguments& read) {
  return is_among(read, option.name) || is_among(read, option.typed) ||
         std::any_of(read.begin(), read.end(), [&](const std::string& word) {
           return word.starts_with("--") &&
                  option.instead.find(' ' + word + ' ') != std::string_view::npos;
         });
}

void add_files(const Needs& needs, Arguments& words) {
  const auto has = [&words](std::size_t i) { return words.size() > i && words[i][0] != '-'; };
  if (!needs.first.empty() && !has(0)) words.insert(words.begin(), std::string(needs.first));
  if (!needs.second.empty() && !has(1)) words.insert(words.begin() + 1, std::string(needs.second));
}

}  // namespace

std::string whole_command(std::string_view verb, Arguments words) {
  std::erase(words, "");
  const auto needs = std::find_if(kNeeds.begin(), kNeeds.end(),
                                  [verb](const Needs& each) { return each.verb == verb; });
  if (needs == kNeeds.end()) return command_of(std::string(verb), words);
  add_files(*needs, words);
  const Arguments read = read_by_verb(verb, words).value_or(words);
  const bool is_profile = !words.empty() && role_of(words[0]) == FileRole::kProfile;
  for (const NeededOption& each : needs->options) {
    const NeededOption& option = is_profile && each.name == kDevice.name ? kCluster : each;
    const bool is_whole = is_profile && each.name == kGpus.name;  // all GPUs of the cluster
    if (option.name.empty() || is_whole || is_said(option, read)) continue;
    words.insert(words.end(), {std::string(option.typed), std::string(option.example)});
  }
  return command_of(std::string(verb), words);
}

Arguments options_taken(std::string_view verb, const std::string& first, const Arguments& words) {
  Arguments taken{first};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-') || words[i].size() < 2) continue;
    const bool has_next = words[i].find('=') == std::string::npos && i + 1 < words.size() &&
                          !words[i + 1].starts_with('-');
    Arguments with_value = taken, alone = taken;
    alone.push_back(words[i]);
    with_value.push_back(words[i]);
    if (has_next) with_value.push_back(words[i + 1]);
    const bool takes_both = read_by_verb(verb, with_value).has_value();
    if (takes_both || read_by_verb(verb, alone)) taken = takes_both ? with_value : alone;
    i += has_next && takes_both ? 1 : 0;
  }
  return {taken.begin() + 1, taken.end()};
}

}  // namespace penstock
