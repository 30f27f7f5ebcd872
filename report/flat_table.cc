#include "report/flat_table.h"

#include <algorithm>
#include <utility>

#include "core/values/plan_file.h"
#include "report/measures.h"
#include "report/result_json.h"

namespace penstock {
namespace {

bool is_plain(const Json& value) {
  return value.kind() != Json::Kind::kArray && value.kind() != Json::Kind::kObject;
}

std::string cell_of(const Json& value) {
  if (value.kind() == Json::Kind::kBool) return value.boolean() ? "true" : "false";
  return value.text();  // of null: nothing
}

std::string joined_cells(const std::vector<Json>& values) {
  std::string out;
  for (const Json& value : values) out += (out.empty() ? "" : " ") + cell_of(value);
  return out;
}

std::vector<Column> columns_of(const std::vector<Json>& rows) {
  std::vector<Column> columns;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.members()) {
      const auto same = [&key = key](const Column& column) { return column.header == key; };
      if (std::none_of(columns.begin(), columns.end(), same)) columns.push_back({key});
    }
  }
  return columns;
}

}  // namespace

void append_flat(Json& row, const Json& object, const std::string& prefix) {
  for (const auto& [key, value] : object.members()) {
    if (key == "schema_version") continue;
    if (value.kind() == Json::Kind::kObject) {
      append_flat(row, value, prefix + key + "_");
    } else if (is_plain(value)) {
      row.set(prefix + key, value);
    } else if (std::all_of(value.elements().begin(), value.elements().end(), is_plain)) {
      row.set(prefix + key, joined_cells(value.elements()));
    }
  }
}

Json flat_row(const RankedPlan& ranked) {
  Json row = Json::object();
  append_flat(row, to_json(ranked.plan));
  append_flat(row, to_json(ranked.evaluation, ranked.plan));
  row.set("against_best", ranked.against_best);
  row.set("tied_with_best", ranked.tied_with_best);
  row.set("on_pareto_front", ranked.on_pareto_front);
  return row.set("placed", ranked.placed);
}

std::vector<Json> rank_rows(const Evaluation& evaluation, const Plan& plan) {
  std::vector<Json> rows;
  rows.reserve(evaluation.ranks.size());
  for (std::size_t r = 0; r < evaluation.ranks.size(); ++r) {
    const RankEvaluation& rank = evaluation.ranks[r];
    Json row = Json::object();
    row.set("rank", static_cast<std::int64_t>(r));
    if (plan.has_unequal_replicas()) row.set("replicas", replicas_of_rank_text(plan, r));
    row.set("device", plan.device_of_rank(static_cast<int>(r)));
    append_flat(row, write_rank_time(rank.time), "time_");
    append_flat(row, write_memory(rank.memory), "memory_");
    row.set("memory_total_bytes", rank.memory.total().count);
    row.set("capacity_bytes", rank.capacity.count);
    rows.push_back(std::move(row));
  }
  return rows;
}

TextTable flat_table(const std::vector<Json>& rows) {
  const std::vector<Column> columns = columns_of(rows);
  TextTable table(columns);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const Column& column : columns) {
      const Json* value = row.find(column.header);
      cells.push_back(value == nullptr ? "" : cell_of(*value));
    }
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace penstock
