// Whose file is it, then what is wrong with it. Every trainer says how surely a text is its own
// (lint/claims.h), the surest judges it, and files that it names are read through
// LintRequest::beside. Findings are in order of file, line and code, whatever rule found them
// first.
#include "trainers/lint/lint.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "core/values/error.h"
#include "trainers/lint/claims.h"
#include "trainers/lint/shell_script.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

void sort(LintReport& report) {
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const LintFinding& a, const LintFinding& b) {
                     return std::tie(a.file, a.line, a.code) < std::tie(b.file, b.line, b.code);
                   });
}

const TrainerRow* trainer_by_content(std::string_view text, const std::string& file) {
  return surest_claim([&](const TrainerRow& row) {
    return row.linter ? row.linter->claim(text, file) : Claim::kNone;
  });
}

const TrainerRow* trainer_of_program(std::string_view text, const std::string& file) {
  for (const TrainerRow& row : trainer_table()) {
    if (row.linter && row.linter->is_program != nullptr && row.linter->is_program(text, file)) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

const TrainerRow* launch_trainer_of(std::string_view text, const std::string& file,
                                    const FindBeside& beside) {
  const TrainerRow* trainer = trainer_by_content(text, file);
  if (trainer != nullptr || !is_script(file) || !beside) return trainer;
  const ShellScript script = read_shell_script(text, file, beside);
  if (const TrainerRow* read = trainer_by_content(script.read_too, file)) return read;
  // A recipe that the script starts.
  for (const std::vector<ShellWord>& command : script.commands) {
    for (const ShellWord& word : command) {
      if (!word.text.ends_with(".py")) continue;
      const std::string path = path_beside_script(word);
      const auto recipe = path.empty() ? std::nullopt : beside(path);
      const TrainerRow* started = recipe ? trainer_of_program(*recipe, path) : nullptr;
      if (started != nullptr) return started;
    }
  }
  return nullptr;
}

bool is_python_recipe(std::string_view text, const std::string& file) {
  if (!file.ends_with(".py")) return false;
  const std::span<const TrainerRow> rows = trainer_table();
  return std::any_of(rows.begin(), rows.end(), [&](const TrainerRow& row) {
    return row.linter && row.linter->is_recipe != nullptr && row.linter->is_recipe(text, file);
  });
}

LintReport lint(std::string_view text, const std::string& file, const TrainerRow& trainer,
                const LintRequest& request) {
  if (!trainer.linter) throw Error(ErrorKind::kInternal, "a trainer without rules");
  LintRequest asked = request;
  if (asked.version.empty() && !trainer.linter->chooses_version) {
    asked.version = trainer.versions.front().name;
  }
  LintReport report = trainer.linter->lint(text, file, asked);
  report.trainer = &trainer;
  sort(report);
  return report;
}

const std::vector<LintRule>& lint_rules() {
  static const std::vector<LintRule> kRules{
      {"E001", "GPUs are TP x PP x CP x DP, and mbs x DP divides the global batch", ""},
      {"E010", "layers divide among the stages, or a layout says how", "Megatron-LM #1304"},
      {"E011", "a layout has the model's layers and PP x VP stages", "Megatron-LM #1852"},
      {"E012", "layers of the first or last stage are set only where PP > 1", "Megatron-LM #1778"},
      {"E013", "module lists have every module exactly once", "torchtitan PR #963"},
      {"E014", "no CUDA graphs with a pipeline (torchtitan head)", "torchtitan #3559"},
      {"E015", "TP divides the attention heads (Megatron-LM)", ""},
      {"E020", "at least PP micro-batches", "torchtitan #775"},
      {"E021", "groups of an interleaved schedule have at least PP micro-batches", "NeMo #14288"},
      {"E030", "the fullest rank fits its memory", "Megatron-LM #1784"},
      {"E040", "as many replicas as wrote the checkpoint", "DeepSpeed #3810, Lightning #19585"},
      {"W050", "no divided backward together with recompute", "torchtitan #773"},
      {"W051", "sends do not block the computation", "pytorch #172668"},
      {"W052", "no stage is slower than 1.1 times the mean", "DeepSpeed #4477"},
      {"W060", "the target version knows every setting", ""},
  };
  return kRules;
}

void add_finding(LintReport& report, LintFinding finding) {
  report.findings.push_back(std::move(finding));
  sort(report);
}

}  // namespace penstock
