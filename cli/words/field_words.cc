// One table: the key that a choice has here, the word of the field that is printed, and every
// spelling that trainers use. A typed word is looked up in plain form (lower case, dashes), never
// by edit distance, because "tp" and "top" are one letter apart and mean different things.
#include "cli/words/field_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace penstock {
namespace {

struct Words {
  std::string_view key, field_word;
  std::span<const std::string_view> names;
};

constexpr std::array<std::string_view, 9> kTensor{"t",
                                                  "tp",
                                                  "tensor",
                                                  "tensor-parallel",
                                                  "tensor-parallel-size",
                                                  "tp-size",
                                                  "tp-degree",
                                                  "tensor-parallel-degree",
                                                  "tensor-model-parallel-size"};
constexpr std::array<std::string_view, 7> kContext{
    "cp",      "context",   "context-parallel",       "context-parallel-size",
    "cp-size", "cp-degree", "context-parallel-degree"};
constexpr std::array<std::string_view, 9> kExpert{"ep",
                                                  "expert",
                                                  "experts",
                                                  "expert-parallel",
                                                  "expert-parallel-size",
                                                  "ep-size",
                                                  "ep-degree",
                                                  "expert-parallel-degree",
                                                  "expert-model-parallel-size"};
constexpr std::array<std::string_view, 5> kExpertTensor{
    "etp", "expert-tensor", "expert-tensor-parallel", "expert-tensor-parallel-size",
    "expert-tensor-parallel-degree"};
constexpr std::array<std::string_view, 15> kPipeline{"p",
                                                     "pipe",
                                                     "pp",
                                                     "pipeline",
                                                     "pipeline-parallel",
                                                     "pipeline-parallel-size",
                                                     "pp-size",
                                                     "pp-degree",
                                                     "pipeline-parallel-degree",
                                                     "pipeline-model-parallel-size",
                                                     "pipeline-stages",
                                                     "stages",
                                                     "pipe-parallel-size",
                                                     "pp-stages",
                                                     "num-stages"};
constexpr std::array<std::string_view, 11> kData{"d",
                                                 "dp",
                                                 "data",
                                                 "data-parallel",
                                                 "data-parallel-size",
                                                 "dp-size",
                                                 "dp-degree",
                                                 "data-parallel-degree",
                                                 "replicas",
                                                 "replica",
                                                 "num-replicas"};
constexpr std::array<std::string_view, 11> kChunks{"v",
                                                   "vp",
                                                   "vpp",
                                                   "chunks",
                                                   "virtual-stages",
                                                   "virtual-pipeline",
                                                   "virtual-pipeline-size",
                                                   "vp-size",
                                                   "vpp-size",
                                                   "virtual-pipeline-model-parallel-size",
                                                   "num-virtual-stages"};
constexpr std::array<std::string_view, 7> kMicroBatchSize{"mbs",
                                                          "micro-batch-size",
                                                          "microbatch-size",
                                                          "micro-batch",
                                                          "microbatch",
                                                          "micro-bs",
                                                          "train-micro-batch-size-per-gpu"};
constexpr std::array<std::string_view, 23> kMicroBatches{"m",
                                                         "ga",
                                                         "acc",
                                                         "accum",
                                                         "grad-acc-steps",
                                                         "mb",
                                                         "nmb",
                                                         "num-mb",
                                                         "grad-accum",
                                                         "accumulate",
                                                         "grad-accum-steps",
                                                         "accumulation-steps",
                                                         "grad-acc",
                                                         "gradient-accumulation",
                                                         "accumulate-grad-batches",
                                                         "micro-batches",
                                                         "microbatches",
                                                         "num-microbatches",
                                                         "n-microbatches",
                                                         "n-micro-batches",
                                                         "num-micro-batches",
                                                         "gas",
                                                         "gradient-accumulation-steps"};
constexpr std::array<std::string_view, 5> kGlobalBatch{"gbs", "gb", "global-batch",
                                                       "global-batch-size", "train-batch-size"};
constexpr std::array<std::string_view, 14> kSequenceLength{"s",
                                                           "tokens-per-sample",
                                                           "tokens-per-sequence",
                                                           "seq",
                                                           "seq-len",
                                                           "seq-length",
                                                           "seqlen",
                                                           "sequence-length",
                                                           "max-seq-len",
                                                           "max-seq-length",
                                                           "context-length",
                                                           "model-max-length",
                                                           "max-length",
                                                           "ctx-len"};

const std::array<Words, 11>& all_words() {
  static constexpr std::array<Words, 11> kAll{{{"T", "TP", kTensor},
                                               {"C", "CP", kContext},
                                               {"EP", "EP", kExpert},
                                               {"ETP", "ETP", kExpertTensor},
                                               {"P", "PP", kPipeline},
                                               {"D", "DP", kData},
                                               {"V", "VP", kChunks},
                                               {"b", "mbs", kMicroBatchSize},
                                               {"M", "M", kMicroBatches},
                                               {"global-batch", "gbs", kGlobalBatch},
                                               {"sequence-length", "seq", kSequenceLength}}};
  return kAll;
}

}  // namespace

std::string plain_word(std::string_view typed) {
  std::string out;
  for (const char c : typed) {
    out.push_back(c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return out;
}

std::string key_called(std::string_view typed) {
  if (typed == "b") return "b";
  if (typed == "B") return "global-batch";
  const std::string word = plain_word(typed);
  for (const Words& words : all_words()) {
    if (std::find(words.names.begin(), words.names.end(), word) != words.names.end()) {
      return std::string(words.key);
    }
  }
  return "";
}

std::string cost_called(std::string_view typed) {
  constexpr std::array<std::array<std::string_view, 8>, 7> kNames{
      {{"F", "f", "fwd", "forward", "tf", "t-f", "forward-time", "fwd-time"},
       {"B", "b", "bwd", "backward", "tb", "t-b", "backward-time", "bwd-time"},
       {"I", "i", "input", "bi", "dgrad", "input-gradient", "ti", "t-i"},
       {"W", "w", "weight", "bw", "wgrad", "weight-gradient", "tw", "t-w"},
       {"R", "r", "recompute", "recomputation", "remat", "tr", "", ""},
       {"O", "o", "overlap", "", "", "", "", ""},
       {"C", "c", "comm", "communication", "transfer", "p2p", "p2p-time", "comm-time"}}};
  const std::string word = plain_word(typed);
  for (const auto& names : kNames) {
    if (!word.empty() && std::find(names.begin() + 1, names.end(), word) != names.end())
      return std::string(names[0]);
  }
  return std::string(typed);
}

std::string recompute_called(std::string_view typed) {
  constexpr std::array<std::string_view, 8> kNone{"none",  "off",      "never", "no",
                                                  "false", "disabled", "0",     "nowhere"};
  constexpr std::array<std::string_view, 7> kFull{"full",   "on",  "true",      "yes",
                                                  "always", "all", "everywhere"};
  const std::string word = plain_word(typed);
  if (std::find(kNone.begin(), kNone.end(), word) != kNone.end()) return "none";
  if (std::find(kFull.begin(), kFull.end(), word) != kFull.end()) return "full";
  return word == "selective" ? word : "";
}

std::string key_or_word(std::string_view typed) {
  std::string key = key_called(typed);
  return key.empty() ? std::string(typed) : key;
}

std::vector<std::string> names_of_key(std::string_view key) {
  for (const Words& words : all_words()) {
    if (words.key == key) return {words.names.begin(), words.names.end()};
  }
  return {};
}

std::string field_word(std::string_view key) {
  for (const Words& words : all_words()) {
    if (words.key == key) return std::string(words.field_word);
  }
  return std::string(key);
}

std::vector<std::string> in_field_words(std::vector<std::string> keys) {
  for (std::string& key : keys) {
    if (key.size() == 1) key = field_word(key);
  }
  return keys;
}

}  // namespace penstock
