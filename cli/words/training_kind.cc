// The kind stands in the name ("--sft", "--freeze-layers") or in the value of a name that says
// little by itself ("--task finetune"). Fine-tuning of all parameters is what is planned anyway;
// what trains only some must not be left out silently, since the answer would be to another
// question.
#include "cli/words/training_kind.h"

#include <algorithm>
#include <array>
#include <span>

#include "cli/words/field_words.h"
#include "cli/words/is_among.h"

namespace penstock {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 22> kNames{"task",
                                                  "task-type",
                                                  "stage",
                                                  "mode",
                                                  "type",
                                                  "training-type",
                                                  "train-type",
                                                  "training-mode",
                                                  "train-mode",
                                                  "training-stage",
                                                  "phase",
                                                  "method",
                                                  "finetuning",
                                                  "fine-tuning",
                                                  "finetuning-type",
                                                  "finetune-type",
                                                  "fine-tuning-type",
                                                  "training-method",
                                                  "tuning",
                                                  "tune-type",
                                                  "objective",
                                                  "regime"};

constexpr std::array<std::string_view, 26> kAll{
    "finetune",      "fine-tune",    "finetuning",   "fine-tuning", "full-finetune",
    "sft",           "full",         "pretrain",     "pre-train",   "full-finetuning",
    "pretraining",   "pre-training", "cpt",          "pt",          "continued-pretraining",
    "instruct",      "instruction",  "train",        "training",    "instruction-tuning",
    "full-sft",      "midtrain",     "mid-training", "causal-lm",   "full-fine-tuning",
    "full-parameter"};

constexpr std::array<std::string_view, 6> kAdapters{"lora",    "qlora", "peft",
                                                    "adapter", "dora",  "prefix-tuning"};
constexpr std::array<std::string_view, 8> kOfSeveral{"dpo", "rlhf", "ppo", "grpo",
                                                     "rl",  "orpo", "kto", "reward"};
constexpr std::array<std::string_view, 7> kFrozen{"freeze",   "frozen",    "freezing", "unfreeze",
                                                  "unfrozen", "trainable", "freezes"};

bool has_part(std::string_view word, Words parts) {
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find_first_of("-.", at), word.size());
    if (is_among(parts, word.substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

constexpr const char* kAllAreTrained =
    "leave it out: all parameters are trained, and a step of full fine-tuning takes what one of "
    "pretraining takes";
constexpr const char* kNoAdapters =
    "all parameters are trained: LoRA and other adapters are not modelled";
constexpr const char* kOneModel =
    "leave it out: the steps of the one model that is trained are planned, forward, backward and "
    "update; generation and further models beside it are not modelled";
constexpr const char* kNoneFrozen =
    "all parameters are trained in an estimate, and no option freezes some: without it the plan "
    "takes more time and memory than yours. Frozen ones count in a model that was measured: "
    "requires_grad = False in your module, then penstock profile model.pt -o profile.json "
    "(docs/profiling.md)";

}  // namespace

std::string help_for_training_kind(std::string_view word, std::string_view value) {
  constexpr std::array<std::string_view, 3> kOnly{"train-only", "only-train", "requires-grad"};
  if (has_part(word, kFrozen) || is_among(kOnly, word)) return kNoneFrozen;
  const std::string kind = plain_word(value);
  if (is_among(kNames, word)) {
    if (is_among(kAll, kind)) return kAllAreTrained;
    if (has_part(kind, kAdapters)) return kNoAdapters;
    if (has_part(kind, kFrozen)) return kNoneFrozen;
    if (is_among(kOfSeveral, kind)) return kOneModel;
  }
  constexpr std::array<std::string_view, 8> kFlags{
      "finetune", "fine-tune",       "full-finetune", "sft",
      "pretrain", "full-finetuning", "instruct-tune", "full-fine-tuning"};
  return is_among(kFlags, word) ? kAllAreTrained : "";
}

}  // namespace penstock
