#include <limits>
#include <string>

#include "core/files/plan_parts.h"
#include "core/values/json_fields.h"
#include "core/values/plan_words.h"

namespace penstock {

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, MemoryUse>& memory) {
  for (const auto& [key, part] : kMemoryKeys) fields(std::string(key) + "_bytes", memory.*part);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, RankTime>& time) {
  for (const auto& [key, part] : kRankTimeKeys) fields.time(key, time.*part);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, RankEvaluation>& rank) {
  fields("memory", rank.memory);
  fields("capacity_bytes", rank.capacity);
  fields("time", rank.time);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, Assumption>& assumption) {
  fields("text", assumption.text);
  fields("share", assumption.share, 0.0, 1.0);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, Evaluation>& prediction) {
  fields.time("step_time", prediction.step_time);
  fields.time("step_time_low", prediction.step_time_low);
  fields.time("step_time_high", prediction.step_time_high);
  fields.time("makespan", prediction.makespan);
  fields.time("longest_span", prediction.longest_span);
  fields.time("ideal", prediction.ideal);
  const char* cost = "cost_usd_per_step";
  if constexpr (Fields::kReads) {
    if (prediction.step_time < prediction.step_time_low ||
        prediction.step_time > prediction.step_time_high) {
      fields.reader().fail("step_time must lie between step_time_low and step_time_high");
    }
    // Files of before 2026-11-23 call it otherwise.
    if (fields.reader().has("usd_per_step")) cost = "usd_per_step";
  }
  fields(cost, prediction.usd_per_step, 0.0, std::numeric_limits<double>::max());
  fields("ranks", prediction.ranks);
  fields("assumptions", prediction.assumptions);
}

Evaluation read_prediction(JsonReader reader, int ranks) {
  auto prediction = read_json<Evaluation>(reader);
  if (static_cast<int>(prediction.ranks.size()) != ranks) {
    reader.at("ranks").expected("one entry for each of the " + std::to_string(ranks) +
                                " pipeline ranks (of unequal replicas those of every kind)");
  }
  return prediction;
}

Json write_prediction(const Evaluation& prediction) { return json_of(prediction); }
Json write_memory(const MemoryUse& memory) { return json_of(memory); }
Json write_rank_time(const RankTime& time) { return json_of(time); }

}  // namespace penstock
