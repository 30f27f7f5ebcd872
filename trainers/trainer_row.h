// What a trainer is, in one row of trainers/trainer_table.h: how plans are written for it, how its
// launch files are judged, how its logs are read. What holds for a version (limits, executor, names
// of flags and keys) is in trainers/<folder>/<version>.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/json.h"
#include "core/values/trainer.h"
#include "trainers/exports/export_plan.h"
#include "trainers/lint/lint.h"

namespace penstock {

struct LogContents;
struct LogText;

// A file of facts. `planned`: what plans are made for that this version is to run; null where plans
// can be exported only.
struct TrainerVersion {
  std::string name;  // "0.20"; empty: no version is told apart
  const Trainer* planned = nullptr;
  const Json* facts = nullptr;
};

struct Exporter {
  std::string_view summary;  // for --help
  // A plan that the trainer can run (export_plan.h asks first), by the facts of the version.
  Export (*write)(const PlanFile& plan, const ExportRequest& request, const Json& facts);
  bool tells_precision = true;
  // Of a trainer that no plans are made for (it has no Trainer): the schedule to plan with. It runs
  // those that change their order by a rule as this one does, on an even batch; no others, and why.
  std::string_view own_schedule{};
  std::string_view why_no_other_schedule{};
};

// How surely a text is the launch file of a trainer.
enum class Claim { kNone, kMaybe, kFlags, kTables, kRecipe, kConfiguration };

// What may give a rank room, as its users write it; empty: it has no such setting.
struct MemoryWords {
  std::string_view sharded, selective, full;
  std::string_view micro_batch;  // its new size follows
};

struct Linter {
  std::string_view title;  // as reports name it, before the version
  LintReport (*lint)(std::string_view text, const std::string& file, const LintRequest& request);
  Claim (*claim)(std::string_view text, const std::string& file);
  MemoryWords memory;
  bool chooses_version = false;  // by the file, where none is asked for; else the default
  bool needs_stages = false;     // P is not in its files (--stages)
  // Under fused attention, which estimates suppose, its selective mode saves nothing.
  bool selective_is_attention = false;
  // A Python file of it that sets something; null: it has none.
  bool (*is_recipe)(std::string_view text, const std::string& file) = nullptr;
  // A Python program of it that scripts start; null: it has none.
  bool (*is_program)(std::string_view text, const std::string& file) = nullptr;
  // The setting that gives every stage so many layers; null: it has none.
  std::string (*layers_setting)(const std::vector<int>& layers) = nullptr;
};

struct LogReader {
  Claim (*claim)(std::string_view text);
  LogContents (*read)(const LogText& text, const std::string& file);
  bool one_rank_writes = false;  // the same step once more is then of a restart
  bool logs_speed = false;       // tokens per second and GPU, in place of step times
};

struct TrainerRow {
  std::string_view name;    // as it is typed
  std::string_view folder;  // below trainers/
  std::string_view title;   // as its authors write it
  std::optional<Exporter> exporter{};
  std::optional<Linter> linter{};
  std::optional<LogReader> log{};
  std::vector<TrainerVersion> versions{};  // the first is the default; the table fills them in

  [[nodiscard]] std::vector<std::string_view> version_names() const;
};

}  // namespace penstock
