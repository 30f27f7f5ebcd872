// Exporters: a plan in the words of a trainer, for a named version of it. What the trainer cannot
// express is an answer, not an error: a sentence, and where only a decision or two are in the way
// the nearest plan without them. docs/exporting.md says what each file is for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/plan_file.h"
#include "core/values/trainers.h"
#include "report/traces/trace_files.h"

namespace penstock {

// The model's config.json, for trainers that are told sizes by flags.
struct ModelConfig {
  std::string path;
  Json json;
  Architecture architecture;
};

// What the files say besides the plan.
struct ExportRequest {
  std::string version;  // of the target; one of ExportTarget::versions
  std::string plan_path, plan_hash, tool_version;
  std::string command;                 // that reproduces the export
  std::string precision = "bfloat16";  // as name_of(Arithmetic) writes it
  std::optional<ModelConfig> model{};
};

struct Export {
  std::vector<NamedText> files;  // the one to begin with first; empty when it is refused
  std::vector<std::string> notes;
  std::string why_not;          // a sentence; empty when it can be expressed
  std::optional<Plan> nearest;  // of a refusal: the same plan, but for what is in the way
};

struct ExportTarget {
  std::string_view name;
  std::string_view summary;                // for --help
  std::vector<std::string_view> versions;  // the first is the default
  // The schedule must be one that the target's trainer has (search/trainers.h judges that). All
  // else is judged here, by the rules of core/values/trainer_limits.h.
  Export (*write)(const PlanFile& plan, const ExportRequest& request);
};

// The trainer that plans are made for (--for) to be exported so; nothing for varuna.
std::optional<Trainer> trainer_of(const ExportTarget& target, std::string_view version);

// pytorch, torchtitan, megatron, megatron-bridge, deepspeed, varuna
std::span<const ExportTarget> export_targets();
const ExportTarget* find_export_target(std::string_view name);  // null when unknown

}  // namespace penstock
