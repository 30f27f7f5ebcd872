// The parts of the row. Private to trainers/; Megatron-Bridge, which runs the same core, uses the
// cuts' layout, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainers/exports/export_plan.h"
#include "trainers/lint/lint.h"
#include "trainers/trainer_row.h"

namespace penstock {

struct LaunchScript;

Export export_megatron(const PlanFile& plan, const ExportRequest& request, const Json& facts);
// Of one replica, too: it then refuses CUDA_DEVICE_MAX_CONNECTIONS=1.
bool needs_megatron_fsdp(const Plan& plan);
// The cuts as Megatron-LM's layout string; what is to be said of them.
std::string megatron_layout(const PlanFile& plan);
std::vector<std::string> megatron_notes(const PlanFile& plan, const ExportRequest& request);

LintReport lint_megatron(std::string_view text, const std::string& file,
                         const LintRequest& request);

// Settings of another trainer that runs Megatron-LM's core, under the names of its flags.
void judge_as_megatron(const LaunchScript& script, const LintRequest& request, LintReport& report);

LogContents read_megatron_log(const LogText& text, const std::string& file);

}  // namespace penstock
