#include "trainers/torchtitan/torchtitan.h"

#include <algorithm>

#include "trainers/lint/claims.h"
#include "trainers/torchtitan/torchtitan_python.h"
#include "trainers/trainer_rows.h"

namespace penstock {
namespace {

Claim claim(std::string_view text, const std::string& file) {
  if (is_document(file)) return Claim::kNone;
  const bool has_tables =
      has_any(text, {"[parallelism]", "--parallelism.", "parallelism.pipeline_parallel",
                     "torchtitan.train", "./run_train.sh"});
  // NeMo has a class of this name, too.
  const bool is_recipe = has_any(text, {"ParallelismConfig("}) && has_any(text, {"torchtitan"});
  return has_tables || is_recipe || file.ends_with(".toml") ? Claim::kTables : Claim::kNone;
}

bool is_recipe(std::string_view text, const std::string& file) {
  if (!has_any(text, {"torchtitan"}) || !has_any(text, {"ParallelismConfig(", ".parallelism."})) {
    return false;
  }
  const std::vector<TorchtitanRecipe> recipes = read_torchtitan_recipes(text, file);
  return std::any_of(recipes.begin(), recipes.end(), is_job);
}

// Words that other logs may have, too.
Claim claim_log(std::string_view text) {
  const bool has_steps = has_any(text, {"step:"}) && has_any(text, {"tps:", "wps:"});
  return has_steps ? Claim::kMaybe : Claim::kNone;
}

}  // namespace

TrainerRow torchtitan_row() {
  return {.name = "torchtitan",
          .folder = "torchtitan",
          .title = "torchtitan",
          .exporter =
              Exporter{"its TOML, for head a Python configuration, and the CSV", export_torchtitan},
          .linter = Linter{.title = "torchtitan",
                           .lint = lint_torchtitan,
                           .claim = claim,
                           .memory = {"data_parallel_shard_degree = -1", "mode = \"selective\"",
                                      "mode = \"full\"", "pipeline_parallel_microbatch_size ="},
                           .chooses_version = true,
                           .is_recipe = is_recipe},
          .log = LogReader{.claim = claim_log, .read = read_torchtitan_log, .logs_speed = true}};
}

}  // namespace penstock
