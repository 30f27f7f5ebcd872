// verl trains by reinforcement: plans are not made for it, and its scripts are judged by what they
// say of GPUs, degrees and batches.
#include "trainers/verl/verl.h"

#include "trainers/lint/claims.h"
#include "trainers/lint/overrides.h"
#include "trainers/trainer_facts.h"
#include "trainers/trainer_rows.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

Claim claim(std::string_view text, const std::string& file) {
  if (!is_script(file)) return Claim::kNone;
  const Json& facts = *find_trainer_row("verl")->versions.front().facts;
  return sets_one_of(text, fact_names(facts, "marks")) ? Claim::kTables : Claim::kNone;
}

}  // namespace

TrainerRow verl_row() {
  return {
      .name = "verl",
      .folder = "verl",
      .title = "verl",
      .linter = Linter{.title = "verl",
                       .lint = lint_verl,
                       .claim = claim,
                       .memory = {"actor_rollout_ref.actor.megatron.use_distributed_optimizer",
                                  "recompute_granularity=selective", "recompute_granularity=full",
                                  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"},
                       .selective_is_attention = true}};
}

}  // namespace penstock
