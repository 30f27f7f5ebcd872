#include "cli/why_not.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "cli/options/contradictions.h"
#include "cli/options/field_words.h"
#include "cli/options/nearest.h"
#include "cli/options/parse.h"
#include "report/words.h"
#include "search/relative_interval.h"

namespace penstock {
namespace {

constexpr const char* kOption = "--why-not";

const std::vector<std::string> kChoices{"P",        "V",         "D",     "T",      "b",
                                        "schedule", "recompute", "zero1", "device", "placement"};

KeyValues choices_of(const std::string& text) {
  KeyValues choices = parse_key_values(kOption, text);
  for (auto& [key, value] : choices) {
    key = key_or_word(key);
    if (std::find(kChoices.begin(), kChoices.end(), key) != kChoices.end()) continue;
    bad_option(kOption, fmt::format("unknown key '{}'", key),
               key == "M" ? "micro-batches follow from the global batch, DP and mbs; ask for those"
                          : did_you_mean(key, kChoices));
  }
  return choices;
}

// As many GPUs as the plan uses, or as the choices need if that is more.
void widen(Question& question, const Plan& plan, std::int64_t needed, WhyNot& why) {
  if (needed <= plan.devices()) return;
  question.request.gpus = static_cast<int>(needed);
  why.remark = fmt::format("It needs {}, {} more than this plan uses.", count_of(needed, "GPU"),
                           needed - plan.devices());
}

}  // namespace

WhyNot why_not(const PlanFile& file, Question question, const std::string& text,
               SearchProgress& progress) {
  WhyNot why;
  std::vector<std::string> words;
  for (const auto& [key, value] : choices_of(text)) {
    set(question, fmt::format("{} {}", kOption, key), key, value);
    words.push_back(fmt::format("{}={}", key, value));
  }
  why.asked = joined(words, ", ");
  const std::int64_t needed = devices_needed(question.request.pins);
  const ClusterSpec& cluster = question.cluster.value;
  why.contradictions =
      contradictions_of(question, {device_count(cluster), fmt::format("{} has", cluster.name)});
  if (!why.contradictions.empty()) return why;
  widen(question, file.plan, needed, why);
  why.result = best_plans(question.inputs(), question.request, progress);
  if (why.result.best.empty()) return why;
  RankedPlan asked_about;
  asked_about.plan = file.plan;
  asked_about.evaluation = file.prediction;
  why.relative_half_width = relative_half_width(asked_about, why.result.best.front());
  return why;
}

}  // namespace penstock
