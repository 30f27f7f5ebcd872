// Exporters: a plan in the words of a trainer, for a named version of it. What the trainer cannot
// express is an answer, not an error: a sentence, and where only a decision or two are in the way
// the nearest plan without them. docs/exporting.md says what each file is for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/plan_file.h"
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
  std::string version;  // of the trainer; one of TrainerRow::versions
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

struct TrainerRow;
struct Trainer;

// Whose limits hold for plans that are exported so; null for varuna.
const Trainer* trainer_of(const TrainerRow& target, std::string_view version);

// The schedule must be one that the trainer has (search/trainers.h judges that). All else is judged
// here, by verdict_of() of core/values/trainer_limits.h, as in a search for it.
Export export_plan(const TrainerRow& target, const PlanFile& plan, const ExportRequest& request);

}  // namespace penstock
