#include "cli/answers/commands/typed_for_examples.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/proposed_commands.h"
#include "cli/answers/files/typed_files.h"
#include "cli/words/is_among.h"
#include "cli/words/near_files.h"

namespace penstock {
namespace {

// As typed_command.cc writes them for what nobody typed.
struct Example {
  std::string_view value;
  std::array<std::string_view, 3> options;  // of ours, the first one
};
constexpr std::array<Example, 3> kExamples{
    Example{"h100-sxm", {"--device", "--gpu-type", "--accelerator"}},
    Example{"64", {"--gpus", "--num-gpus", "--num_gpus"}},
    Example{"512", {"--global-batch", "--gbs", "--global-batch-size"}}};
constexpr std::string_view kModelExample = "config.json", kPlanExample = "plan.json";

// For the value of that option in a proposal; empty where it is no example, or nothing was typed.
std::string typed_for(const std::string& option, const std::string& value, const Arguments& typed) {
  const auto* example = std::find_if(kExamples.begin(), kExamples.end(), [&](const Example& one) {
    return one.value == value && one.options.front() == option;
  });
  if (example == kExamples.end()) return "";
  for (const std::string_view name : example->options) {
    const auto known = value_of(typed, {name});
    if (known && !known->empty()) return *known;
  }
  return "";
}

// The plan that was typed, and not to be written or compared with.
std::string plan_in(const Arguments& typed) {
  constexpr std::array<std::string_view, 4> kOthers{"-o", "--output", "--baseline", "--nearest"};
  Arguments words;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (is_among(kOthers, typed[i].substr(0, typed[i].find('=')))) {
      i += typed[i].find('=') == std::string::npos ? 1 : 0;
    } else {
      words.push_back(typed[i]);
    }
  }
  const Arguments plans = typed_files(words).plans;
  return plans.size() == 1 ? plans.front() : "";
}

// Other files that stand in examples, at whatever place.
struct FileExample {
  std::string_view name;
  FileRole role;
};
constexpr std::array kFileExamples{FileExample{"train.log", FileRole::kLog},
                                   FileExample{"job.json", FileRole::kJob},
                                   FileExample{"book.json", FileRole::kBook}};

// The one file of that kind which was typed; empty where there is none, or several.
std::string other_file_for(const std::string& word, const Arguments& typed) {
  const auto example = std::find_if(kFileExamples.begin(), kFileExamples.end(),
                                    [&](const FileExample& each) { return each.name == word; });
  if (example == kFileExamples.end() || is_among(typed, word)) return "";
  Arguments files;
  std::copy_if(typed.begin(), typed.end(), std::back_inserter(files),
               [&](const std::string& each) { return role_of(each) == example->role; });
  return files.size() == 1 ? files.front() : "";
}

// Of a proposal's first argument.
std::string file_for(const std::string& word, const Arguments& typed) {
  if (is_among(typed, word)) return "";
  if (word == kPlanExample) return plan_in(typed);
  if (word != kModelExample && word != model_at_hand()) return "";
  const Arguments models = typed_files(typed).models;
  return models.size() == 1 ? models.front() : "";
}

// One word of the command, by its place.
using Change = std::pair<std::size_t, std::string>;

std::vector<Change> changes_of(const Arguments& words, const Arguments& typed) {
  std::vector<Change> changes;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_device = i == 1 && words[0] == "devices";
    std::string put = is_device ? typed_for("--device", words[i], typed)
                      : i == 1  ? file_for(words[i], typed)
                                : typed_for(words[i - 1], words[i], typed);
    const bool is_written = words[i - 1] == "-o" || words[i - 1] == "--output";
    if (put.empty() && !is_written) put = other_file_for(words[i], typed);
    const bool is_there = is_among(words, put);  // "profile config.json --resume profile.json"
    if (!put.empty() && !is_there) changes.emplace_back(i, std::move(put));
  }
  return changes;
}

}  // namespace

std::string with_typed_for_examples(std::string message, const Arguments& typed,
                                    const RefusalOf& refusal_of) {
  std::vector<ProposedCommand> commands = proposed_commands(message);
  std::reverse(commands.begin(), commands.end());  // so that the places of the others stay
  // "-o plan.json; then penstock explain plan.json": that plan is made first.
  const bool is_plan_made = message.find("-o plan.json") != std::string::npos;
  for (const ProposedCommand& command : commands) {
    const Arguments words(
        command.words.begin(),
        command.words.begin() + static_cast<std::ptrdiff_t>(command.lengths.front()));
    std::vector<Change> changes = changes_of(words, typed);
    // The error is about that very file.
    std::erase_if(changes,
                  [&](const Change& change) { return message.starts_with(change.second + ": "); });
    const bool is_of_made = is_plan_made && is_among(words, kPlanExample);
    if (changes.empty() || is_of_made) continue;
    Arguments changed = words;
    for (const auto& [at, put] : changes) changed[at] = put;
    if (refusal_of(changed) && !refusal_of(words)) continue;
    std::reverse(changes.begin(), changes.end());
    for (const auto& [at, put] : changes) {
      const std::size_t size = words[at].size();
      message.replace(command.ends[at] - size, size, put);
    }
  }
  return message;
}

}  // namespace penstock
