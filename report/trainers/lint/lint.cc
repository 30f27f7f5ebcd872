#include "report/trainers/lint/lint.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/values/error.h"
#include "core/values/json.h"
#include "core/values/trainer_table.h"
#include "report/trainers/lint/judge.h"
#include "report/trainers/lint/megatron_recipe.h"
#include "report/trainers/lint/shell_script.h"
#include "report/trainers/lint/torchtitan_python.h"

namespace penstock {
namespace {

struct Linted {
  LintTrainer trainer;
  std::string_view name;  // of its row in core/values/trainer_table.h, which holds the versions
  LintReport (*lint)(std::string_view text, const std::string& file, const LintRequest& request);
};

const std::vector<Linted>& trainers() {
  static const std::vector<Linted> kTrainers{
      {LintTrainer::kMegatron, "megatron", lint_megatron},
      {LintTrainer::kTorchtitan, "torchtitan", lint_torchtitan},
      {LintTrainer::kDeepspeed, "deepspeed", lint_deepspeed},
  };
  return kTrainers;
}

const Linted& row_of(LintTrainer trainer) { return trainers()[static_cast<std::size_t>(trainer)]; }

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

// A JSON object that DeepSpeed would read; nothing of ours has such keys.
bool is_deepspeed(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '/')) return false;
  if (!has_any(text, {"\"train_batch_size\"", "\"train_micro_batch_size_per_gpu\"",
                      "\"zero_optimization\"", "\"gradient_accumulation_steps\""})) {
    return false;
  }
  const Json json = parse_json(text, file);
  return json.kind() == Json::Kind::kObject && json.find("format") == nullptr;
}

void sort(LintReport& report) {
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const LintFinding& a, const LintFinding& b) {
                     return std::tie(a.file, a.line, a.code) < std::tie(b.file, b.line, b.code);
                   });
}

bool is_script(std::string_view file) {
  return file.ends_with(".sh") || file.ends_with(".sbatch") || file.ends_with(".slurm");
}

std::optional<LintTrainer> trainer_by_content(std::string_view text, const std::string& file) {
  if (is_deepspeed(text, file)) return LintTrainer::kDeepspeed;
  if (is_megatron_recipe(text, file)) return LintTrainer::kMegatron;
  // A document may show flags, and is no launch file.
  if (file.ends_with(".json") || file.ends_with(".md")) return {};
  if (has_any(text, {"[parallelism]", "--parallelism.", "parallelism.pipeline_parallel",
                     "torchtitan.train", "./run_train.sh"})) {
    return LintTrainer::kTorchtitan;
  }
  if (file.ends_with(".toml")) return LintTrainer::kTorchtitan;
  // NeMo has a class of this name, too.
  if (has_any(text, {"ParallelismConfig("}) && has_any(text, {"torchtitan"})) {
    return LintTrainer::kTorchtitan;
  }
  if (has_any(text, {"--tensor-model-parallel-size", "--pipeline-model-parallel",
                     "--model-parallel-size", "pretrain_gpt.py"})) {
    return LintTrainer::kMegatron;
  }
  // Any one of these is other programs', too.
  int shared = 0;
  for (const char* flag : {"--num-layers", "--hidden-size", "--num-attention-heads",
                           "--micro-batch-size", "--global-batch-size", "--seq-length"}) {
    if (has_any(text, {flag})) ++shared;
  }
  if (shared >= 2) return LintTrainer::kMegatron;
  if (is_script(file) && has_any(text, {"--deepspeed_config", "--ds_config", "--deepspeed ",
                                        "\ndeepspeed ", " deepspeed "})) {
    return LintTrainer::kDeepspeed;
  }
  return {};
}

}  // namespace

std::string_view name_of(LintTrainer trainer) { return row_of(trainer).name; }

std::optional<LintTrainer> lint_trainer_named(std::string_view name) {
  for (const Linted& row : trainers()) {
    if (row.name == name) return row.trainer;
  }
  return {};
}

std::vector<std::string> lint_trainer_names() {
  std::vector<std::string> names;
  names.reserve(trainers().size());
  for (const Linted& row : trainers()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> versions_of(LintTrainer trainer) {
  const TrainerRow* row = find_trainer_row(name_of(trainer));
  if (row == nullptr) throw Error(ErrorKind::kInternal, "a linted trainer without a row");
  const std::vector<std::string_view> names = row->version_names();
  return {names.begin(), names.end()};
}

std::optional<LintTrainer> launch_trainer_of(std::string_view text, const std::string& file,
                                             const FindBeside& beside) {
  const auto trainer = trainer_by_content(text, file);
  if (trainer || !is_script(file) || !beside) return trainer;
  const ShellScript script = read_shell_script(text, file, beside);
  if (const auto read = trainer_by_content(script.read_too, file)) return read;
  // A recipe that the script starts.
  for (const std::vector<ShellWord>& command : script.commands) {
    for (const ShellWord& word : command) {
      if (!word.text.ends_with(".py")) continue;
      const std::string path = path_beside_script(word);
      const auto recipe = path.empty() ? std::nullopt : beside(path);
      if (recipe && is_megatron_recipe(*recipe, path)) return LintTrainer::kMegatron;
    }
  }
  return {};
}

bool is_python_recipe(std::string_view text, const std::string& file) {
  if (!file.ends_with(".py")) return false;
  if (is_megatron_recipe(text, file)) return !read_megatron_recipes(text, file).empty();
  if (!has_any(text, {"torchtitan"}) || !has_any(text, {"ParallelismConfig(", ".parallelism."})) {
    return false;
  }
  const std::vector<TorchtitanRecipe> recipes = read_torchtitan_recipes(text, file);
  return std::any_of(recipes.begin(), recipes.end(), is_job);
}

LintReport lint(std::string_view text, const std::string& file, LintTrainer trainer,
                const LintRequest& request) {
  LintRequest asked = request;
  // torchtitan's Python recipes are head's, and nobody else's.
  const bool is_recipe = trainer == LintTrainer::kTorchtitan && file.ends_with(".py");
  // The header of an exported file says for which version it was written.
  const std::string_view header = text.substr(0, text.find('\n'));
  if (asked.version.empty() && trainer == LintTrainer::kTorchtitan &&
      has_any(header, {" for torchtitan 0.1, written by penstock"})) {
    asked.version = "0.1";
  }
  // Of a script of torchtitan what it starts says the version.
  const bool is_open = trainer == LintTrainer::kTorchtitan && !is_recipe;
  if (asked.version.empty() && !is_open) {
    asked.version = is_recipe ? "head" : versions_of(trainer).front();
  }
  LintReport report = row_of(trainer).lint(text, file, asked);
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
