#include "cli/why_not.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/field_words.h"
#include "cli/nearest.h"
#include "cli/parse.h"
#include "costmodel/price_stages.h"
#include "report/words.h"
#include "search/relative_interval.h"
#include "simulator/schedules/schedules.h"

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
               key == "M" ? "M follows from the global batch, D and b; ask for those"
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

void add_devices(const Question& question, std::int64_t needed, WhyNot& why) {
  const Pins& pins = question.request.pins;
  std::vector<std::string> words;
  if (pins.pipeline) words.push_back(fmt::format("P = {}", *pins.pipeline));
  if (pins.data) words.push_back(fmt::format("D = {}", *pins.data));
  if (pins.tensor) words.push_back(fmt::format("T = {}", *pins.tensor));
  why.contradictions.push_back(
      fmt::format("{} {} {} (P times D times T), but {} has {}.", joined(words, ", "),
                  words.size() == 1 ? "needs" : "together need", count_of(needed, "GPU"),
                  question.cluster.value.name, device_count(question.cluster.value)));
}

void add_stages(const Question& question, WhyNot& why) {
  const Pins& pins = question.request.pins;
  const auto sections = static_cast<std::int64_t>(question.profile.value.sections.size());
  const std::int64_t stages = std::int64_t{pins.pipeline.value_or(1)} * pins.chunks.value_or(1);
  if (stages <= 2 * sections && pins.pipeline.value_or(1) <= sections) return;
  const std::string degrees =
      pins.chunks ? fmt::format("P = {} and V = {} make", pins.pipeline.value_or(1), *pins.chunks)
                  : fmt::format("P = {} makes", *pins.pipeline);
  why.contradictions.push_back(
      fmt::format("{} {}, but the model can be cut into no more than its {}.", degrees,
                  count_of(stages, "stage"), count_of(sections, "section")));
}

void add_tensor(const Question& question, WhyNot& why) {
  const Pins& pins = question.request.pins;
  if (!pins.tensor) return;
  std::set<int> known;
  for (const DeviceType& type : question.cluster.value.device_types) {
    if (pins.device && type.name != *pins.device) continue;
    const auto degrees = measured_tensor_degrees(question.profile.value, type.name);
    known.insert(degrees.begin(), degrees.end());
  }
  if (known.count(*pins.tensor) > 0) return;
  std::vector<std::string> words;
  words.reserve(known.size());
  for (const int degree : known) words.push_back(std::to_string(degree));
  why.contradictions.push_back(fmt::format("T = {}: {} has times for T = {} only.", *pins.tensor,
                                           question.profile.value.name, joined(words, ", ")));
}

void add_chunks(const Question& question, WhyNot& why) {
  const Pins& pins = question.request.pins;
  for (const std::string& name : pins.schedules) {
    const ScheduleKind& kind = *find_schedule(name);
    const int chunks = pins.chunks.value_or(kind.fewest_chunks);
    if (chunks < kind.fewest_chunks) {
      why.contradictions.push_back(
          fmt::format("V = {}: {} needs at least V = {}.", chunks, name, kind.fewest_chunks));
    } else if (kind.most_chunks > 0 && chunks > kind.most_chunks) {
      why.contradictions.push_back(
          fmt::format("V = {}: {} has V = {}.", chunks, name, kind.most_chunks));
    } else if (pins.pipeline == 1 && kind.fewest_chunks > 1) {
      why.contradictions.push_back(
          fmt::format("P = 1: {} has nothing to interleave on one rank.", name));
    }
  }
}

// What no search is needed for.
void find_contradictions(const Question& question, std::int64_t needed, WhyNot& why) {
  const SearchRequest& request = question.request;
  if (needed > device_count(question.cluster.value)) add_devices(question, needed, why);
  if (request.pins.data.value_or(1) > request.global_batch) {
    why.contradictions.push_back(
        fmt::format("D = {}: a global batch of {} has less than one sample per replica.",
                    *request.pins.data, request.global_batch));
  }
  add_stages(question, why);
  add_tensor(question, why);
  add_chunks(question, why);
}

// Of three numbers of at most 31 bits; more than any cluster has, where 64 bits are not enough.
std::int64_t devices_needed(const Pins& pins) {
  const std::int64_t two =
      std::int64_t{pins.pipeline.value_or(1)} * std::int64_t{pins.data.value_or(1)};
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  return two > kMost / pins.tensor.value_or(1) ? kMost : two * pins.tensor.value_or(1);
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
  find_contradictions(question, needed, why);
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
