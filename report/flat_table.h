// Results as a table of exact values, for spreadsheets and scripts: the keys of their JSON become
// columns, so that names and units are the same in both.
#pragma once

#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/json.h"
#include "core/values/plan.h"
#include "report/table.h"

namespace penstock {

// Appends the members of `object` to the flat object `row`, each key behind `prefix`. A nested
// object's members follow, its key in front of theirs; plain values of an array are joined by
// blanks; arrays of objects, and the version of a schema, are left out.
void append_flat(Json& row, const Json& object, const std::string& prefix = "");

// What JSON results say of a plan, and of every rank of its first pipeline.
Json flat_row(const RankedPlan& ranked);
std::vector<Json> rank_rows(const Evaluation& evaluation, const Plan& plan);

// A column for every key, in the order in which they come up; a row without one has an empty cell.
TextTable flat_table(const std::vector<Json>& rows);

}  // namespace penstock
