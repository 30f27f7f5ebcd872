#include "cli/options/why_not_choices.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/options/question_settings.h"
#include "cli/words/field_words.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kOption = "--why-not";

const std::vector<std::string> kChoices{"P",     "V",        "D",       "T",        "C",
                                        "EP",    "ETP",      "b",       "schedule", "recompute",
                                        "zero1", "sharding", "offload", "device",   "placement"};

KeyValues choices_of(const std::string& text) {
  KeyValues choices = parse_key_values(kOption, text);
  for (auto& [key, value] : choices) {
    key = key_or_word(key);
    if (std::find(kChoices.begin(), kChoices.end(), key) != kChoices.end()) continue;
    bad_option(kOption, fmt::format("unknown key '{}'", field_word(key)),
               key == "gpus" || key == "nodes"
                   ? fmt::format("a plan file is for its GPUs: penstock plan ... --gpus {} plans "
                                 "for others, and --baseline PLAN compares with this plan",
                                 value)
               : key == "global-batch" || key == "sequence-length"
                   ? fmt::format("a plan file is for its batch: penstock plan ... --{} {} plans "
                                 "for another, and --baseline PLAN compares with this plan",
                                 key, value)
               : key == "M"
                   ? "micro-batches follow from the global batch, DP and mbs; ask for those"
                   : did_you_mean(key, in_field_words(kChoices)));
  }
  return choices;
}

}  // namespace

std::string pin_choices(Question& question, const std::string& text) {
  std::vector<std::string> words;
  for (const auto& [key, value] : choices_of(text)) {
    set(question, fmt::format("{} {}", kOption, key), key, value);
    words.push_back(fmt::format("{}={}", field_word(key), value));
  }
  return joined(words, ", ");
}

}  // namespace penstock
