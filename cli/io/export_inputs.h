// What an export is told besides the plan: the model's sizes and the precision it trains in, from
// the files that the plan names or from options.
#pragma once

#include <optional>
#include <string>

#include "cli/io/files.h"
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

}  // namespace penstock
