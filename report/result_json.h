// Results for programs: the values of core/evaluation.h as JSON. Units stand in the key names; the
// caller puts `schema_version` first.
#pragma once

#include "core/check.h"
#include "core/evaluation.h"
#include "core/json.h"
#include "core/plan.h"

namespace penstock {

inline constexpr int kResultSchemaVersion = 1;

// The keys of a plan file, and what follows from them: the micro-batches of a replica, all devices.
Json to_json(const Plan& plan);
Json to_json(const Evaluation& evaluation, const Plan& plan);
Json to_json(const RankedPlan& ranked);
Json to_json(const Rejection& rejection);
Json to_json(const CheckReport& report);
// Appends candidates, best, pareto, rejected, ... to `json`.
void set_search_result(Json& json, const SearchResult& result);

}  // namespace penstock
