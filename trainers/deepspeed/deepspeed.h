// The parts of the row. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "trainers/exports/export_plan.h"
#include "trainers/lint/lint.h"
#include "trainers/trainer_row.h"

namespace penstock {

Export export_deepspeed(const PlanFile& plan, const ExportRequest& request, const Json& facts);
LintReport lint_deepspeed(std::string_view text, const std::string& file,
                          const LintRequest& request);

}  // namespace penstock
