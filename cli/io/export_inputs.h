// What an export reads besides the plan: the model's sizes and the precision it trains in, from the
// files that the plan names or from options, and what the nearest plan is searched with.
#pragma once

#include <optional>
#include <string>

#include "cli/io/files.h"
#include "search/question.h"
#include "trainers/exports/export_plan.h"

namespace penstock {

struct ExportOptions {
  std::optional<std::string> model;      // path of a config.json
  std::optional<std::string> precision;  // bfloat16, bf16, ...
};

struct ExportInputs {
  std::optional<ModelConfig> model;
  std::string precision;
  std::string note;  // where the precision was assumed; else empty
};

// `path`: of the plan. Files count when they are those that the plan was made from; options come
// first. Error{kBadInput} for options that make no sense.
ExportInputs export_inputs(const PlanFile& plan, const std::string& path,
                           const ExportOptions& options);

// What a plan was made from, read again for the search of the nearest plan that a trainer can run.
// Of an estimate that cannot be made again no question, but the command that asks for another plan.
PlanQuestion asked_again(const PlanFile& plan, const TrainerRow& target,
                         const ExportRequest& request);

}  // namespace penstock
