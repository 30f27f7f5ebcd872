// Scripts that write their settings as words behind a program: recipes of Megatron-Bridge, and
// verl.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/trainers/lint_reports.h"
#include "trainers/lint/lint.h"
#include "trainers/lint/shell_script.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

using Codes = std::vector<std::string>;

LintReport judged(const std::string& script) {
  const TrainerRow* trainer = launch_trainer_of(script, "launch.sh");
  REQUIRE(trainer != nullptr);
  return lint(script, "launch.sh", *trainer, {});
}

TEST_CASE("an override is a path of names and a value") {
  for (const char* word : {"model.seq_length=4096", "+a.b=1", "++a.b@c.d=", "a.b=c=d"}) {
    CAPTURE(word);
    CHECK(is_override(word));
  }
  for (const char* word : {"", "+", "a=b", "--a.b=c", ".a=b", "a.=b", "1.5=x", "a.b", "a:b.c=d"}) {
    CAPTURE(word);
    CHECK_FALSE(is_override(word));
  }
}

// 8 GPUs, TP 2 x PP 2: DP 2. Of a batch of 30, micro-batches of 4 on two replicas take 8 at a time:
// 32 is the next that fits. A batch of 32 is 4 micro-batches.
TEST_CASE("the words behind a recipe of Megatron-Bridge are judged by their meaning") {
  const auto script_of = [](const std::string& batch) {
    return "TP=2\ntorchrun --nproc_per_node=8 scripts/training/run_recipe.py \\\n"
           "  --recipe llama3_8b_pretrain_config \\\n"
           "  model.tensor_model_parallel_size=$TP model.pipeline_model_parallel_size=2 \\\n"
           "  model.context_parallel_size=1 model.sequence_parallel=True \\\n"
           "  model.expert_model_parallel_size=1 train.micro_batch_size=4 \\\n"
           "  train.global_batch_size=" +
           batch + "\n";
  };
  const LintReport wrong = judged(script_of("30"));
  CHECK(wrong.trainer == find_trainer_row("megatron"));
  CHECK(found(wrong) == Codes{"E001:7"});
  CHECK(only(wrong).message == "a global batch of 30 is not a multiple of mbs x DP = 4 x 2 = 8");
  CHECK(only(wrong).fix == "train.global_batch_size=32");
  CHECK(only(wrong).setting == "train.global_batch_size=30");
  const LintReport right = judged(script_of("32"));
  CHECK(found(right) == Codes{});
  CHECK(right.job.micro_batches == 4);
}

TEST_CASE("what the recipe may set is not known, and what is switched off is") {
  const LintReport unknown = judged(
      "torchrun --nproc_per_node=8 run_recipe.py train.global_batch_size=30 "
      "train.micro_batch_size=4\n");
  CHECK(found(unknown) == Codes{});
  CHECK(gap(unknown, "E001") ==
        "the recipe that the script names may set model.tensor_model_parallel_size");
  // A micro-batch without the batch beside it says nothing of how many there are.
  const LintReport alone = judged(
      "torchrun --nproc_per_node=8 run_recipe.py model.tensor_model_parallel_size=1 "
      "model.context_parallel_size=1 model.pipeline_model_parallel_size=4 train.micro_batch_size=1 "
      "model.virtual_pipeline_model_parallel_size=null "
      "model.pipeline_model_parallel_layout=null\n");
  CHECK(found(alone) == Codes{});
  CHECK(gap(alone, "E020") == "the recipe that the script names may set train.global_batch_size");
  CHECK(alone.job.chunks == 1);
}

TEST_CASE("the body of a loop over words is read, and what it reads in is not known") {
  const LintReport report = judged(R"sh(
CONFIGS=("2,1" "1,2")
for CONFIG in "${CONFIGS[@]}"; do
  IFS=',' read -r TP PP <<< "$CONFIG"
  CMD="python run_recipe.py --recipe x train.global_batch_size=32"
  CMD="$CMD model.tensor_model_parallel_size=$TP model.expert_model_parallel_size=4"
  srun bash -c "$CMD"
done
)sh");
  CHECK(found(report) == Codes{});
  CHECK(report.job.global_batch == 32);
  CHECK(report.job.expert == 4);
  CHECK_FALSE(report.job.tensor.has_value());
}

// As launchers write it for a container: 64 GPUs hold TP 1 x PP 8 x CP 1, DP is 8, and 104 the next
// batch of which each has as much. The layout has 1 + 14 + 1 pieces, two for each of the 8 ranks.
TEST_CASE("a command in a text that is written to a file is read") {
  const LintReport report = judged(R"sh(
worker_command=$(cat <<- EOM
  if [ "\$RANK" -eq "0" ]; then sleep 3 ; fi ;
  python scripts/performance/setup_experiment.py \
    --num_gpus 64 --tensor_model_parallel_size 1 --pipeline_model_parallel_size 8 \
    --context_parallel_size 1 --global_batch_size 100 --micro_batch_size 1 \
    --pipeline_model_parallel_layout 'Et*2|(t|)*14tL'
EOM
)
echo "$worker_command" > worker_command.sh
)sh");
  CHECK(report.job.gpus == 64);
  CHECK(report.job.pipeline == 8);
  CHECK(report.job.chunks == 2);
  CHECK(only(report).code == "E001");
  CHECK(only(report).fix == "--global_batch_size 104");
}

TEST_CASE("a program of its own that has some of Megatron-LM's names is not judged by them") {
  const LintReport report = judged(
      "torchrun --nproc_per_node 8 finetune.py --global-batch-size 10 --micro-batch-size 4 "
      "--seq-length 512 --hf-model a --dataset-name b --experiment-root c --run-name d "
      "--component e --trained-checkpoint f\n");
  CHECK(found(report) == Codes{});
  CHECK(gap(report, "E001") ==
        "most flags of this program are its own, and no degree is among them");
}

std::string verl(const std::string& settings,
                 const std::string& program = "verl.trainer.main_ppo") {
  return "python3 -m " + program + " " + settings + "\n";
}

// 8 GPUs by verl's own YAML, FSDP: 32 prompts of a mini-batch are 4 on each rank.
TEST_CASE("a rank's share of a mini-batch is whole micro-batches") {
  const std::string rest =
      "data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=32 "
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=";
  const LintReport wrong = judged(verl(rest + "8"));
  CHECK(wrong.trainer == find_trainer_row("verl"));
  CHECK(found(wrong) == Codes{"E001:1"});
  CHECK(only(wrong).message ==
        "a rank's 4 answers of a mini-batch are not a multiple of micro-batches of 8");
  CHECK(found(judged(verl(rest + "4"))) == Codes{});
  // Two answers to each prompt are 8.
  CHECK(found(judged(verl(rest + "8 actor_rollout_ref.rollout.n=2"))) == Codes{});
  // Other programs and other configurations may say otherwise.
  CHECK(found(judged(verl(rest + "8", "verl.experimental.vla.main_ppo"))) == Codes{});
  const LintReport elsewhere = judged(verl("--config-name=my_config " + rest + "8"));
  CHECK(found(elsewhere) == Codes{});
  CHECK(gap(elsewhere, "E001") ==
        "whether batches are divided by tokens (use_dynamic_bsz) is not known");
  CHECK(found(judged(verl(rest + "8 actor_rollout_ref.actor.use_dynamic_bsz=True"))) == Codes{});
}

TEST_CASE("a mini-batch is no larger than the batch") {
  const LintReport report = judged(verl("trainer.n_gpus_per_node=8 data.train_batch_size=64"));
  CHECK(only(report).fix == "actor_rollout_ref.actor.ppo_mini_batch_size=64");  // 256 by default
}

// 32 GPUs, PP 8: experts on 8 ranks each need 8 x 8 = 64. EP 4 would fit.
TEST_CASE("verl's Megatron engine is judged by Megatron-LM's rules") {
  const LintReport report = judged(
      verl("--config-name=ppo_megatron_trainer trainer.nnodes=4 trainer.n_gpus_per_node=8 \\\n"
           "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 "
           "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=8 \\\n"
           "actor_rollout_ref.actor.megatron.expert_model_parallel_size=8 "
           "actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1 "
           "actor_rollout_ref.actor.use_dynamic_bsz=True"));
  CHECK(found(report) == Codes{"E001:3"});
  CHECK(only(report).message ==
        "32 GPUs are not a multiple of the experts' TP x EP x PP = 1 x 8 x 8 = 64");
  CHECK(only(report).fix == "actor_rollout_ref.actor.megatron.expert_model_parallel_size=4");
  CHECK(report.job.pipeline == 8);
}

// The rollout's default is TP 2: 3 GPUs do not hold it.
TEST_CASE("the rollout's ranks divide the GPUs") {
  const LintReport report =
      judged(verl("trainer.n_gpus_per_node=3 actor_rollout_ref.actor.use_dynamic_bsz=True"));
  CHECK(only(report).fix == "actor_rollout_ref.rollout.tensor_model_parallel_size=1");
}

// 10^9 ranks hold no answer: the most that 8 GPUs hold is TP 8, and of 12 GPUs with DP 5 none fits.
TEST_CASE("a rollout of any size ends with a mend that holds") {
  const std::string dynamic = "actor_rollout_ref.actor.use_dynamic_bsz=True trainer.nnodes=1 ";
  const std::string tensor = "actor_rollout_ref.rollout.tensor_model_parallel_size=";
  const LintReport large =
      judged(verl(dynamic + "trainer.n_gpus_per_node=8 " + tensor + "1000000000"));
  CHECK(only(large).fix == tensor + "8");
  const LintReport none = judged(verl(dynamic + "trainer.n_gpus_per_node=12 " + tensor +
                                      "2 actor_rollout_ref.rollout.data_parallel_size=5"));
  CHECK(only(none).fix == "start 20 GPUs");
  const LintReport huge =
      judged(verl(dynamic + "trainer.n_gpus_per_node=999999999 " + tensor + "1000000000"));
  CHECK(found(huge) == Codes{"E001:1"});
}

// 256 prompts of a mini-batch by verl's own YAML do not fit 64: only where that YAML holds.
TEST_CASE("defaults are those of the configuration that the script names") {
  const std::string rest = " data.train_batch_size=64 trainer.n_gpus_per_node=8";
  for (const char* other :
       {"--config-name=$CFG", "--config-name $CFG", "-cn my_conf", "-cn $CFG", "-cn=my_conf",
        "--config-path=/my/config --config-name=ppo_trainer", "--config-path=\"$HERE/config\"",
        "-cp /my/config", "--config-dir=/my/config", "--config-name=my_conf"}) {
    CAPTURE(other);
    CHECK(found(judged(verl(other + rest))) == Codes{});
  }
  for (const char* stock :
       {"", "\"${@:2}\"", "--config-name=ppo_trainer", "--config-name 'ppo_trainer.yaml'",
        "-cn ppo_trainer", "--config-path=config --config-name=ppo_trainer",
        "--config-path=./config"}) {
    CAPTURE(stock);
    CHECK(found(judged(verl(stock + rest))) == Codes{"E001:1"});
  }
  const LintReport open =
      judged(verl("--config-name=my_conf actor_rollout_ref.actor.strategy=megatron "
                  "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=3 "
                  "trainer.nnodes=1 trainer.n_gpus_per_node=8"));
  CHECK(found(open) == Codes{});
  CHECK(
      gap(open, "E001").find("(--config-name=my_conf) may set actor_rollout_ref.actor.megatron.") !=
      std::string::npos);
}

// 8 GPUs: neither TP 3 x PP 2 = 6 nor 3 ranks of a sequence divide them; 4 ranks do.
TEST_CASE("supervised training of verl is judged by its engine") {
  const auto tuned = [](const std::string& settings, const std::string& program = "sft_trainer") {
    return judged("torchrun --nproc-per-node 8 -m verl.trainer." + program +
                  " trainer.n_gpus_per_node=8 " + settings + "\n");
  };
  const std::string degrees =
      " engine.tensor_model_parallel_size=3 engine.pipeline_model_parallel_size=2";
  const LintReport wrong = tuned("engine=megatron" + degrees);
  CHECK(only(wrong).message == "8 GPUs are not a multiple of TP x PP x CP = 3 x 2 x 1 = 6");
  CHECK(only(wrong).fix == "start 12 GPUs");  // TP 3 alone does not divide 8
  CHECK(found(tuned("model_engine=megatron" + degrees)) == Codes{"E001:1"});
  // Which engine it is, a condition or nothing says.
  const LintReport silent = tuned(degrees);
  CHECK(found(silent) == Codes{});
  CHECK(gap(silent, "E001") == "engine= is not set, and degrees of its Megatron engine are");
  CHECK(found(tuned("engine=$ENGINE" + degrees)) == Codes{});
  CHECK(found(tuned("engine=veomni" + degrees)) == Codes{});
  CHECK(found(tuned("engine.ulysses_sequence_parallel_size=3")) == Codes{"E001:1"});
  CHECK(found(tuned("engine.ulysses_sequence_parallel_size=4")) == Codes{});
  CHECK(found(tuned("ulysses_sequence_parallel_size=3", "fsdp_sft_trainer")) == Codes{"E001:1"});
  // EP 2 with TP 2 wants sequences sharded, which is verl's default.
  const std::string experts =
      "engine=megatron engine.tensor_model_parallel_size=2 engine.expert_model_parallel_size=2";
  CHECK(found(tuned(experts)) == Codes{});
  CHECK(only(tuned(experts + " engine.sequence_parallel=False")).fix ==
        "engine.sequence_parallel=True");
}

TEST_CASE("what verl's scripts leave open is said in verl's words") {
  const LintReport report =
      judged(verl("--config-name=ppo_megatron_trainer trainer.nnodes=1 trainer.n_gpus_per_node=8 "
                  "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2"));
  CHECK(found(report) == Codes{});
  for (const LintGap& one : report.not_judged) {
    CAPTURE(one.why);
    const bool is_flag =
        one.why.find("--") != std::string::npos && one.why.find("--config") == std::string::npos;
    CHECK((!is_flag || one.code == "E040"));
  }
  CHECK(gap(report, "E020") == "micro-batches of verl's engine are not counted");
}

// 60 prompts on 8 GPUs.
TEST_CASE("one answer is an answer, and null is no value") {
  const std::string rest =
      "trainer.nnodes=1 trainer.n_gpus_per_node=8 data.train_batch_size=60 "
      "actor_rollout_ref.actor.ppo_mini_batch_size=60 "
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=";
  CHECK(judged(verl(rest + "1")).findings.front().message ==
        "60 prompts x 1 answer are not a multiple of 8 (DP x micro-batch)");
  const LintReport none =
      judged(verl("trainer.nnodes=1 trainer.n_gpus_per_node=8 data.train_batch_size=64 "
                  "actor_rollout_ref.actor.ppo_mini_batch_size=64 "
                  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=null"));
  CHECK(found(none) == Codes{});
  CHECK(gap(none, "E001") ==
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu is null (line 1)");
}

}  // namespace
}  // namespace penstock
