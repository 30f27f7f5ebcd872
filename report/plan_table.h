// Ranked plans and the Pareto front as tables, and one plan in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/plan.h"
#include "report/screen.h"
#include "report/table.h"

namespace penstock {

// What a plan decides, TP to sharding, in the order of every table. CP and EP have their columns
// where some plan has them.
struct Decisions {
  bool context = false, expert = false;
  void add(const Plan& plan);
};
// `gap`: before the first column.
std::vector<Column> decision_columns(const Decisions& decisions, std::size_t gap);
std::vector<std::string> decision_cells(const Decisions& decisions, const Plan& plan);

TextTable plan_rows(const std::vector<RankedPlan>& plans);
// The same as text, with the line that explains its marks.
std::string plan_table(const std::vector<RankedPlan>& plans, std::size_t width = 100);

// What the Pareto front is made of: step time, memory, price.
std::string pareto_table(const std::vector<RankedPlan>& plans, Screen screen);

// "TP 2 x PP 4 x DP 8"
std::string degrees_text(const Plan& plan);
// "no recompute", "full recompute", "selective recompute in 5 of 34 sections (stage 2)"
std::string recompute_text(const Plan& plan);
// What the replicas divide, in a table: "ZeRO-1", "ZeRO-3 4x2" (shards by groups), "-".
std::string sharding_in_short(const Plan& plan);
// "TP 2 x PP 4 x DP 8, VP 2, mbs 1, 64 micro-batches, interleaved, no recompute, ZeRO-1"
std::string layout_line(const Plan& plan);
// The same with "64 GPUs", and which ranks are on which devices where these differ.
std::string plan_line(const Plan& plan);

// "0: embedding..layer.3 (5) | 1: layer.4..layer.7 (4)", broken into lines.
std::string stages_text(const Plan& plan, const std::vector<std::string>& section_names,
                        Screen screen);

// A sentence on how well the plans compare with each other; empty when there is one.
std::string relative_text(const std::vector<RankedPlan>& plans);
// A sentence about the plans that tie with the best; empty when none does.
std::string ties_text(const std::vector<RankedPlan>& plans);

}  // namespace penstock
