// Results for programs: the values of core/values/evaluation.h as JSON. Units stand in the key
// names.
#pragma once

#include "core/check/check.h"
#include "core/values/evaluation.h"
#include "core/values/json.h"
#include "core/values/plan.h"
#include "report/model_flops.h"

namespace penstock {

inline constexpr int kResultSchemaVersion = 2;

// What every answer of a verb begins with.
inline Json answer_json(const char* verb) {
  return Json::object().set("schema_version", kResultSchemaVersion).set("verb", verb);
}

// The keys of a plan file, and what follows from them: the micro-batches of a replica, all devices.
Json to_json(const Plan& plan);
// `flops`: what an MFU is measured by; without it there is none.
Json to_json(const Evaluation& evaluation, const Plan& plan, const ModelFlops* flops = nullptr);
Json to_json(const RankedPlan& ranked, const ModelFlops* flops = nullptr);
Json to_json(const Rejection& rejection);
Json to_json(const CheckReport& report);
// Appends candidates, best (the first of plans, or null), plans, pareto, rejected, ... to `json`.
void set_search_result(Json& json, const SearchResult& result, const ModelFlops* flops = nullptr);

}  // namespace penstock
