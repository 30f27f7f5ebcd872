#include "trainers/megatron/megatron.h"

#include "trainers/lint/claims.h"
#include "trainers/megatron/megatron_layout.h"
#include "trainers/megatron_bridge/megatron_recipe.h"
#include "trainers/trainer_rows.h"

namespace penstock {
namespace {

Claim claim(std::string_view text, const std::string& file) {
  if (is_megatron_recipe(text, file)) return Claim::kRecipe;
  if (is_document(file)) return Claim::kNone;
  if (has_any(text, {"--tensor-model-parallel-size", "--pipeline-model-parallel",
                     "--model-parallel-size", "pretrain_gpt.py"})) {
    return Claim::kFlags;
  }
  // Any one of these is other programs', too.
  int shared = 0;
  for (const char* flag : {"--num-layers", "--hidden-size", "--num-attention-heads",
                           "--micro-batch-size", "--global-batch-size", "--seq-length"}) {
    if (has_any(text, {flag})) ++shared;
  }
  if (shared >= 2) return Claim::kFlags;
  return is_script(file) && starts_recipe(text) ? Claim::kMaybe : Claim::kNone;
}

bool is_recipe(std::string_view text, const std::string& file) {
  return is_megatron_recipe(text, file) && !read_megatron_recipes(text, file).empty();
}

Claim claim_log(std::string_view text) {
  return has_any(text, {"elapsed time per iteration ("}) ? Claim::kTables : Claim::kNone;
}

std::string layers_setting(const std::vector<int>& layers) {
  return "--pipeline-model-parallel-layout \"" + write_megatron_layout(layers, 0) + '"';
}

}  // namespace

TrainerRow megatron_row() {
  return {.name = "megatron",
          .folder = "megatron",
          .title = "Megatron-LM",
          .exporter = Exporter{"flags and layout string for Megatron-LM", export_megatron},
          .linter =
              Linter{.title = "Megatron-LM core",
                     .lint = lint_megatron,
                     .claim = claim,
                     .memory = {"--use-distributed-optimizer", "--recompute-granularity selective",
                                "--recompute-granularity full --recompute-method uniform "
                                "--recompute-num-layers 1",
                                "--micro-batch-size"},
                     .selective_is_attention = true,
                     .is_recipe = is_recipe,
                     .is_program = is_megatron_recipe,
                     .layers_setting = layers_setting},
          .log = LogReader{.claim = claim_log, .read = read_megatron_log, .one_rank_writes = true}};
}

}  // namespace penstock
