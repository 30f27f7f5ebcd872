#include "cli/answers/verbs/trainer_asked.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/shell_word.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/trainer_called.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

bool has_exporter(const std::string& trainer) {
  const TrainerRow* row = find_trainer_row(trainer.substr(0, trainer.find('@')));
  return row != nullptr && row->exporter.has_value();
}

// Of a value or a word: its own name, or that of a file of its.
std::string trainer_in(const std::string& word) {
  std::string called = trainer_called(word);
  if (has_exporter(called)) return called;
  return role_of(word) == FileRole::kPlan || role_of(word) == FileRole::kModel
             ? ""
             : trainer_of_file(word);
}

// A folder is written; a file that was to be written says only whose it is.
std::string folder_in(const Arguments& words) {
  const auto output = value_of(words, {"-o", "--output", "--output-dir", "--out", "--out-dir"});
  const bool is_file = !output || std::filesystem::path(*output).has_extension() || output->empty();
  return is_file ? "job" : *output;
}

}  // namespace

std::string trainer_of_file(std::string_view name) {
  const std::string plain = plain_word(std::filesystem::path(name).filename().string());
  const auto has = [&plain](std::string_view part) { return plain.find(part) != plain.npos; };
  if (plain.ends_with(".toml")) return "torchtitan";
  // "deepspeed.json" may be a plan for it.
  const bool is_config = plain.ends_with(".json") && has("config");
  if (is_config && (plain.starts_with("ds-") || has("deepspeed"))) return "deepspeed";
  const bool is_script = plain.ends_with(".sh") || plain.ends_with(".yaml");
  if (is_script && has("megatron")) return "megatron";
  return "";
}

bool starts_jobs(std::string_view word) {
  constexpr std::array<std::string_view, 14> kStarters{
      "slurm", "sbatch",   "srun",     "job",      "job.sbatch", "k8s",  "kubernetes",
      "sky",   "skypilot", "torchrun", "sky.yaml", "pbs",        "qsub", "shell"};
  const std::string plain = plain_word(word);
  return is_among(kStarters, plain) || plain.ends_with(".sbatch") || plain.ends_with(".slurm");
}

std::string trainer_asked(const Arguments& words) {
  for (const std::string& word : words) {
    const std::size_t equals = word.starts_with('-') ? word.find('=') : std::string::npos;
    if (word.starts_with('-') && equals == std::string::npos) continue;
    const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
    if (std::string trainer = trainer_in(value); !trainer.empty()) return trainer;
  }
  const Arguments plans = typed_files(words).plans;
  if (plans.empty() || !is_there(plans.front())) return "";
  const std::string own = plan_made(plans.front()).trainer;
  return has_exporter(own) ? own : "";
}

std::string command_of_export(const std::string& plan, const std::string& trainer,
                              const Arguments& words) {
  Arguments command{plan, "--to", trainer, "-o", folder_in(words)};
  const Arguments taken = options_taken("export", plan, words);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const bool is_kept =
        is_among({"--model", "--precision", "--nearest", "--target-version"}, taken[i]);
    if (is_kept && i + 1 < taken.size()) command.insert(command.end(), {taken[i], taken[i + 1]});
  }
  return command_of("export", command);
}

}  // namespace penstock
