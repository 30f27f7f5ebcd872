// What a launch script of Megatron-LM says through its shell: variables, other files, the job's
// own directives, and recipes of Megatron-Bridge that it starts.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/trainers/lint_reports.h"
#include "trainers/lint/lint.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

using Codes = std::vector<std::string>;

LintReport judged(const std::string& script, const LintRequest& request = {}) {
  return lint(script, "launch.sh", *find_trainer_row("megatron"), request);
}

TEST_CASE("what a launcher sets has no default") {
  const auto script_of = [](const std::string& nodes) {
    return "NNODES=" + nodes +
           "\ntorchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py "
           "--num-layers 32 --pipeline-model-parallel-size 16\n";
  };
  CHECK(found(judged(script_of("1"))) == Codes{"E001:2"});
  for (const char* nodes : {"${SLURM_NNODES:-1}", "${NNODES:-1}", "${WORLD_SIZE:=1}"}) {
    const LintReport report = judged(script_of(nodes));
    CHECK(found(report) == Codes{});
    CHECK(!report.job.gpus.has_value());
    const LintGap unknown{"E001",
                          "$" + std::string(nodes).substr(2, std::string(nodes).find(':') - 2) +
                              " is not set in this script; say it with --gpus"};
    CHECK(std::find(report.not_judged.begin(), report.not_judged.end(), unknown) !=
          report.not_judged.end());
  }
}

TEST_CASE("a command in single quotes is read with the script's variables") {
  const LintReport report = judged(R"sh(
export LAUNCHER="python -m torch.distributed.run --nproc_per_node 8 --nnodes 2"
export CMD=" `pwd`/pretrain_gpt.py \
    --num-layers 30 \
    --pipeline-model-parallel-size 4"
srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee log
)sh");
  CHECK(found(report) == Codes{"E010:5"});
  CHECK(report.job.gpus == 16);
  const LintReport sent = judged(
      "N=30\nsbatch <<EOF\n#!/bin/bash\ntorchrun --nproc_per_node 8 "
      "--nnodes \\$SLURM_NNODES pretrain_gpt.py --num-layers $N "
      "--pipeline-model-parallel-size 4\nEOF\n");
  CHECK(found(sent) == Codes{"E010:4"});
}

TEST_CASE("what the script does not set is not judged, and said") {
  const LintReport report = judged(
      "torchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py --num-layers 30 "
      "--micro-batch-size 1 --global-batch-size 8 --pipeline-model-parallel-size $PP \"$@\"\n");
  CHECK(found(report) == Codes{});
  CHECK(gap(report, "E010") == "$PP is not set in this file (line 1)");
  CHECK(gap(report, "E001") == "$PP is not set in this file (line 1)");
  CHECK(report.notes == Codes{"$@ (line 1) may hold more flags"});
  LintRequest request;
  request.layers = 30;
  CHECK(found(judged("--pipeline-model-parallel-size 4\n", request)) == Codes{"E010:1"});
}

TEST_CASE("the job's own program is judged, also inside srun") {
  const std::string flags = " --num-layers 30 --pipeline-model-parallel-size 4 ";
  CHECK(found(judged("python prepare.py --input x\nsrun -N 2 bash -c \"torchrun "
                     "--nproc_per_node 4 pretrain_gpt.py" +
                     flags + "\"\n")) == Codes{"E010:2"});
  CHECK(found(judged("CMD=\"python -m torch.distributed.run --nproc_per_node 4 pretrain_gpt.py" +
                     flags + "\"\neval $CMD\n")) == Codes{"E010:1"});
}

// The shape of scripts that people have: strings of flags, more of them under conditions, a command
// in a variable that eval reads.
TEST_CASE("a long script is followed to its command") {
  const LintReport report = judged(R"sh(#!/bin/bash
LOG=${1:-"out.log"}
export NCCL_IB_HCA=${NCCL_IB_HCA:-$(rdma link -j | python3 -c "import json; print('x')")}
TP="${TP:-8}"
PP="${PP:-4}"
GPT_ARGS="
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size $PP \
    --num-layers 30 \
"
if [ "$RECOMPUTE" -eq 1 ]; then
    GPT_ARGS="$GPT_ARGS --recompute-granularity full \
        "
fi
EXTRA=()
if [[ "$DTYPE" == "fp8" ]]; then
    EXTRA+=(
        "--fp8-format hybrid"
    )
fi
run_cmd="
    torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py \
        $GPT_ARGS --micro-batch-size 1 --global-batch-size 16 ${EXTRA[@]}
"
if [ "$TEE" -eq 0 ]; then
    run_cmd="$run_cmd >& $LOG"
else
    run_cmd="$run_cmd |& tee $LOG"
fi
if [ "$NO_TRAINING" -eq 0 ]; then
    eval $run_cmd
fi
echo 'import argparse
print("--num-layers")' > mean.py
)sh");
  CHECK(found(report) == Codes{"E010:8"});
  CHECK(report.job.data == 1);
  CHECK(report.job.micro_batches == 16);
  CHECK(report.notes == Codes{"$GPT_ARGS is set under a condition (line 13)",
                              "$EXTRA is set under a condition (line 19)",
                              "$run_cmd is set under a condition (line 26)"});
}

// --- files that the script reads

// T = 1, P = 4 on 8 GPUs: D = 2; b = 1 and a batch of 6 make M = 3, fewer than P.
const char* const kArgs =
    "# sizes\nARGS=(--num-layers 8 --pipeline-model-parallel-size 4\n"
    "  --micro-batch-size 1 --global-batch-size 6)\n";

TEST_CASE("flags of a sourced file are judged, and found in that file") {
  const LintReport report = judged(
      "here=$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" && pwd)\nsource \"$here/args.sh\"\n"
      "torchrun --nproc_per_node 8 pretrain_gpt.py \"${ARGS[@]}\"\n",
      with_files({{"args.sh", kArgs}}));
  CHECK(found(report) == Codes{"E020:3"});
  CHECK(only(report).file == "args.sh");
  CHECK(report.notes == std::vector<std::string>{"args.sh was read as well (line 2)"});
}

TEST_CASE("$(cat FILE) puts in the flags of the file") {
  const LintReport report = judged("torchrun --nproc_per_node 8 pretrain_gpt.py $(cat args.txt)\n",
                                   with_files({{"args.txt",
                                                "--num-layers 8 --pipeline-model-parallel-size 4\n"
                                                "--micro-batch-size 1 --global-batch-size 6\n"}}));
  CHECK(found(report) == Codes{"E020:2"});
  CHECK(only(report).file == "args.txt");
}

TEST_CASE("a job that starts another script is judged by that script") {
  // The outer script's directives say 1 node; the arguments of run.sh are its $1.
  const LintReport report = judged(
      "#SBATCH --nodes=1\nsrun bash -c 'exec bash \"$0\" 4' \"$(dirname x)/run.sh\"\n",
      with_files({{"run.sh",
                   "torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py "
                   "--num-layers 8 \\\n --pipeline-model-parallel-size $1 --micro-batch-size 1 "
                   "--global-batch-size 6\n"}}));
  CHECK(report.job.gpus == 8);
  CHECK(report.job.pipeline == 4);
  CHECK(found(report) == Codes{"E020:2"});
  CHECK(only(report).file == "run.sh");
}

TEST_CASE("files that source each other end, and missing ones are named") {
  const LintReport report =
      judged("source a.sh\nsource /etc/profile\ntorchrun pretrain_gpt.py --num-layers 8\n",
             with_files({{"a.sh", ". b.sh\n. none.sh\n"}, {"b.sh", ". a.sh\n"}}));
  CHECK(report.notes ==
        std::vector<std::string>{
            "a.sh was read as well (line 1)", "b.sh was read as well (line 1 of a.sh)",
            "a.sh (line 1 of b.sh) is sourced, and was not read: it would read itself",
            std::string("none.sh (line 2 of a.sh) is sourced, and was not read: ") +
                "there is no such file beside the script",
            std::string("/etc/profile (line 2) is sourced, and was not read: ") +
                "its path is not in the script's folder"});
}

TEST_CASE("#SBATCH says how many GPUs a job has where its launcher does not") {
  // 2 x 4 GPUs, of which T x P = 8 x 2 is no part.
  for (const char* wants :
       {"#SBATCH -N 2\n#SBATCH --gpus-per-node=h100:4\n",
        "#SBATCH --nodes=2 --gres=gpu:4  # of 8\n", "#SBATCH -N2\n#SBATCH --ntasks-per-node 4\n"}) {
    const LintReport report = judged(std::string(wants) +
                                     "srun python pretrain_gpt.py --tensor-model-parallel-size 8 "
                                     "--pipeline-model-parallel-size 2 --num-layers 8\n");
    CHECK(report.job.gpus == 8);
    REQUIRE(report.findings.size() == 1);
    CHECK(only(report).code == "E001");
  }
}

// --- recipes of Megatron-Bridge

constexpr const char* kRecipe =
    "from megatron.bridge.recipes.common import _pretrain_common\n\n\n"
    "def planned(cfg):\n"
    "    cfg.model.tensor_model_parallel_size = 2\n"
    "    cfg.model.pipeline_model_parallel_size = 2\n"
    "    cfg.model.pipeline_model_parallel_layout = \"Ett|ttt|t|ttL\"\n"
    "    cfg.model.virtual_pipeline_model_parallel_size = 2\n"
    "    cfg.model.context_parallel_size = 1\n"
    "    cfg.model.num_layers = 8\n"
    "    cfg.train.micro_batch_size = 3\n"
    "    cfg.train.global_batch_size = 1_6\n"
    "    return cfg\n";

TEST_CASE("a recipe's fields are judged as the flags of the same meaning") {
  // 16 is not a multiple of b = 3, whatever D is; the layout has 8 layers in 2 x 2 stages.
  const LintReport report = lint(kRecipe, "recipe.py", *find_trainer_row("megatron"), {});
  CHECK(found(report) == Codes{"E001:12"});
  CHECK(only(report).setting == "cfg.train.global_batch_size = 1_6");
  CHECK(only(report).fix == "global_batch_size = 18");
  CHECK(report.job.layers_per_stage == std::vector<int>{2, 3, 1, 2});
  CHECK(report.job.chunks == 2);
  CHECK(launch_trainer_of(kRecipe, "recipe.py") == find_trainer_row("megatron"));
}

TEST_CASE("E011: VP beside a layout agrees with it") {
  const auto with_virtual = [](const std::string& size) {
    std::string recipe = kRecipe;
    const std::string field = "virtual_pipeline_model_parallel_size = ";
    recipe.replace(recipe.find(field) + field.size(), 1, size);
    return lint(recipe, "recipe.py", *find_trainer_row("megatron"), {});
  };
  CHECK(found(with_virtual("None")) == Codes{"E001:12"});
  const LintReport report = with_virtual("4");
  CHECK(found(report) == Codes{"E011:8", "E001:12"});
  CHECK(report.findings[0].message == "VP is 4, but the layout has 4 stages for PP = 2, VP 2");
  CHECK(report.findings[0].fix == "virtual_pipeline_model_parallel_size = 2");
}

TEST_CASE("what a recipe does not set is its model's, and not the default of a flag") {
  // Megatron-LM's default of P is 1; a recipe's is what it begins with.
  const LintReport report = lint(
      "import nemo_run\ndef f():\n    cfg = base()\n    cfg.model.num_layers = 8\n"
      "    if big:\n        cfg.model.pipeline_model_parallel_size = 3\n    return cfg\n",
      "recipe.py", *find_trainer_row("megatron"), {});
  CHECK(found(report) == Codes{});
  CHECK_FALSE(report.job.pipeline.has_value());
  CHECK(gap(report, "E001").find("tensor_model_parallel_size") != std::string::npos);
}

TEST_CASE("a script that starts a recipe is judged by it, on the script's GPUs") {
  // 6 GPUs are not a multiple of T x P = 4.
  const std::string script =
      "here=$(dirname \"$0\")\nexec torchrun --nproc_per_node=6 \\\n  \"$here/recipe.py\" \"$@\"\n";
  const LintRequest request = with_files({{"recipe.py", kRecipe}});
  CHECK(launch_trainer_of(script, "run.sh", request.beside) == find_trainer_row("megatron"));
  const LintReport report = judged(script, request);
  CHECK(found(report) == Codes{"E001:6"});
  CHECK(only(report).file == "recipe.py");
  CHECK(only(report).message == "6 GPUs are not a multiple of TP x PP x CP = 2 x 2 x 1 = 4");
}

}  // namespace
}  // namespace penstock
