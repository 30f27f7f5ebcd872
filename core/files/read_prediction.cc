#include <limits>
#include <string>

#include "core/files/plan_parts.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

constexpr double kMostUsdPerStep = std::numeric_limits<double>::max();

MemoryUse read_memory(JsonReader reader) {
  MemoryUse memory;
  for (const auto& [key, part] : kMemoryKeys) {
    memory.*part = reader.at(std::string(key) + "_bytes").bytes();
  }
  reader.finish();
  return memory;
}

RankTime read_rank_time(JsonReader reader) {
  RankTime time;
  for (const auto& [key, part] : kRankTimeKeys) time.*part = reader.duration(key);
  reader.finish();
  return time;
}

}  // namespace

Evaluation read_prediction(JsonReader reader, int ranks) {
  Evaluation prediction;
  prediction.step_time = reader.duration("step_time");
  prediction.step_time_low = reader.duration("step_time_low");
  prediction.step_time_high = reader.duration("step_time_high");
  if (prediction.step_time < prediction.step_time_low ||
      prediction.step_time > prediction.step_time_high) {
    reader.fail("step_time must lie between step_time_low and step_time_high");
  }
  prediction.makespan = reader.duration("makespan");
  prediction.longest_span = reader.duration("longest_span");
  prediction.ideal = reader.duration("ideal");
  // Files of before 2026-11-23 call it otherwise.
  const char* cost = reader.has("usd_per_step") ? "usd_per_step" : "cost_usd_per_step";
  prediction.usd_per_step = reader.at(cost).number(0.0, kMostUsdPerStep);
  const JsonReader list = reader.at("ranks");
  for (JsonReader rank : list.elements()) {
    prediction.ranks.push_back({read_memory(rank.at("memory")), rank.at("capacity_bytes").bytes(),
                                read_rank_time(rank.at("time"))});
    rank.finish();
  }
  if (static_cast<int>(prediction.ranks.size()) != ranks) {
    list.expected("one entry for each of the " + std::to_string(ranks) +
                  " pipeline ranks (of unequal replicas those of every kind)");
  }
  for (JsonReader assumption : reader.at("assumptions").elements()) {
    prediction.assumptions.push_back(
        {assumption.at("text").string(), assumption.at("share").number(0.0, 1.0)});
    assumption.finish();
  }
  reader.finish();
  return prediction;
}

}  // namespace penstock
