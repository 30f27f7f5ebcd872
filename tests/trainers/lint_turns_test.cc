// What a script says that runs more often than it is read, or whose parts may be missing: loops,
// texts of <<EOF, flags that a recipe and a script both set.
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

LintReport judged(const std::string& script, const std::string& as = "megatron") {
  const TrainerRow* trainer = find_trainer_row(as);
  REQUIRE(trainer != nullptr);
  return lint(script, "launch.sh", *trainer, {});
}

// 8 GPUs of TP 2 x PP 1: DP 4, so a batch is a multiple of 4.
std::string megatron(const std::string& before, const std::string& tensor,
                     const std::string& batch) {
  return before +
         "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --seq-length 4096 \\\n"
         "  --tensor-model-parallel-size " +
         tensor + " --pipeline-model-parallel-size 1 --micro-batch-size 1 --global-batch-size " +
         batch + "\n";
}

// Three turns make 6 into 48, a multiple of 4; one turn makes it 12, ten make it 6,144.
TEST_CASE("what each turn of a loop computes from the turn before it is not known") {
  for (const char* turn : {"BS=$((BS*2))", "BS=$((BS + 1))", "BS+=1", "BS=${BS}1", "((BS *= 2))",
                           "((BS++))", "let BS*=2", "let \"BS += 3\""}) {
    CAPTURE(turn);
    const std::string loop = std::string("BS=6\nfor i in 1 2 3; do ") + turn + "; done\n";
    const LintReport report = judged(megatron(loop, "2", "$BS"));
    CHECK(found(report) == Codes{});
    CHECK(gap(report, "E001").starts_with("$BS is not set in this file"));
  }
  // What the body sets anew is the same in every turn: 6 is no multiple of 4.
  CHECK(found(judged(megatron("for i in 1 2; do BS=2; BS=$((BS*3)); done\n", "2", "$BS"))) ==
        Codes{"E001:3"});
}

TEST_CASE("a loop over what the script does not say may not run") {
  const std::string three = "for a in WORDS; do TP=3; done\n";
  const auto over = [&three](const std::string& words) {
    std::string loop = three;
    loop.replace(loop.find("WORDS"), 5, words);
    return found(judged(megatron(loop, "${TP:-2}", "32")));
  };
  for (const char* words : {"\"$@\"", "$*", "$HOSTS", "$(cat hosts)"}) {
    CAPTURE(words);
    CHECK(over(words) == Codes{});
  }
  CHECK(found(judged(megatron("for a; do TP=3; done\n", "${TP:-2}", "32"))) == Codes{});
  // 8 GPUs do not hold TP 3.
  for (const char* words : {"1 2", "$(seq 0 3)", "a$X", "{0..7}"}) {
    CAPTURE(words);
    CHECK(over(words) == Codes{"E001:3"});
  }
  CHECK(found(judged(megatron("for ((i=0; i<4; i++)); do TP=3; done\n", "${TP:-2}", "32"))) ==
        Codes{"E001:3"});
}

TEST_CASE("flags that a loop adds are there, and what was there stays") {
  const LintReport report = judged(
      "ARGS=\"--global-batch-size 30\"\nfor i in 1 2; do ARGS=\"$ARGS --blend $i\"; done\n"
      "for a in \"$@\"; do ARGS=\"$ARGS --micro-batch-size 2\"; done\n"
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --seq-length 64 "
      "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 $ARGS\n");
  CHECK(found(report) == Codes{});
  CHECK(report.job.global_batch == 30);
  CHECK(gap(report, "E001") == "--micro-batch-size is set under a condition (line 3)");
}

// "1" is no part of "16".
TEST_CASE("a number that a condition replaces by a longer one is not known") {
  for (const char* set : {"TP=12", "TP=21", "TP+=2"}) {
    CAPTURE(set);
    const LintReport report = judged(
        megatron(std::string("TP=1\nif [ \"$BIG\" = 1 ]; then ") + set + "; fi\n", "$TP", "30"));
    CHECK(found(report) == Codes{});
    CHECK_FALSE(report.job.tensor.has_value());
  }
  CHECK(found(judged(megatron("TP=2\n(( BIG > 0 )) && TP=3\n", "$TP", "32"))) == Codes{});
}

TEST_CASE("variables are put into the text behind <<EOF, and not behind <<'EOF'") {
  const auto script = [](const std::string& end, const std::string& set) {
    return set + "ARGS=$(cat <<" + end +
           "\n--num-layers 32 --tensor-model-parallel-size $TP\n--micro-batch-size ${MBS:-1} "
           "--global-batch-size $((4 * 8))\nEOF\n)\n"
           "torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 64 "
           "--pipeline-model-parallel-size 1 $ARGS\n";
  };
  const LintReport known = judged(script("EOF", "TP=3\n"));
  CHECK(only(known).message == "8 GPUs are not a multiple of TP x PP x CP = 3 x 1 x 1 = 3");
  CHECK(known.job.global_batch == 32);
  const LintReport unknown = judged(script("EOF", ""));
  CHECK(found(unknown) == Codes{});
  CHECK(gap(unknown, "E001").starts_with("$TP is not set in this file"));
  // Megatron-LM gets the letters $TP, and stops.
  CHECK(refusal([&] { judged(script("'EOF'", "TP=3\n")); }).find("got '$TP'") != std::string::npos);
}

TEST_CASE("texts in each other end with a message or an answer") {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "$(cat <<E\n";
  for (int i = 0; i < 200; ++i) deep += "\nE\n)";
  CHECK(refusal([&] { read_shell_script("A=\"" + deep + "\"\n", "a.sh"); }).size() < 1000);
}

TEST_CASE("an override wins over a flag, wherever it stands") {
  const std::string rest =
      " model.context_parallel_size=1 model.pipeline_model_parallel_size=1 "
      "train.micro_batch_size=1 train.global_batch_size=32\n";
  const std::string program = "torchrun --nproc_per_node=8 run_recipe.py ";
  const std::string flag = "--tensor_model_parallel_size ",
                    override_ = "model.tensor_model_parallel_size=";
  CHECK(judged(program + flag + "3 " + override_ + "2" + rest).job.tensor == 2);
  CHECK(judged(program + override_ + "2 " + flag + "3 " + rest).job.tensor == 2);
  // 8 GPUs, TP 3: the mend names what holds.
  const LintReport wrong = judged(program + flag + "2 " + override_ + "3" + rest);
  CHECK(only(wrong).message == "8 GPUs are not a multiple of TP x PP x CP = 3 x 1 x 1 = 3");
  CHECK(only(wrong).setting == "model.pipeline_model_parallel_size=1");
  // NeMo's name for the batch does not undo Megatron-Bridge's.
  CHECK(judged(program + override_ + "1 model.global_batch_size=30" + rest).job.global_batch == 32);
}

TEST_CASE("GPUs that a script counts in another way are not known") {
  const auto gpus_of = [](const std::string& before, const std::string& settings) {
    const LintReport report =
        judged(before + "python train.py model.tensor_model_parallel_size=3 " +
               "model.pipeline_model_parallel_size=1 model.context_parallel_size=1 " +
               "train.micro_batch_size=1 train.global_batch_size=32 " + settings + "\n");
    CHECK((found(report) == Codes{}) == !report.job.gpus.has_value());
    return report.job.gpus;
  };
  CHECK(gpus_of("", "trainer.num_nodes=2 trainer.devices=8") == 16);
  for (const char* devices : {"-1", "auto", "[0,1]", "0", "null"}) {
    CAPTURE(devices);
    CHECK_FALSE(gpus_of("", std::string("trainer.num_nodes=2 trainer.devices=") + devices));
  }
  CHECK_FALSE(gpus_of("", "--num_gpus -8"));
  CHECK_FALSE(
      gpus_of("N=\"trainer.num_nodes=2\"\nif [ $BIG ]; then N=\"trainer.num_nodes=3\"; fi\n",
              "trainer.devices=8 $N"));
  CHECK_FALSE(gpus_of("A=\"\"\nif [ $BIG ]; then A=\"$A trainer.num_nodes=3\"; fi\n",
                      "trainer.num_nodes=2 trainer.devices=8 $A"));
}

// PP 4 x VP 2 of 32 layers on 8 GPUs: DP 2, 16 micro-batches of a batch of 32.
const char* const kRecipe = R"py(
from megatron.bridge.recipes.llama import llama3_8b_pretrain_config
def main():
    cfg = llama3_8b_pretrain_config()
    cfg.model.tensor_model_parallel_size = 1
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.context_parallel_size = 1
    cfg.model.num_layers = 32
    cfg.model.virtual_pipeline_model_parallel_size = 2
    cfg.train.global_batch_size = 32
    cfg.train.micro_batch_size = 1
)py";

TEST_CASE("what a script sets, switches off or may set is put over the recipe that it starts") {
  const LintRequest request = with_files({{"recipe.py", kRecipe}});
  const auto started = [&request](const std::string& before, const std::string& settings) {
    return lint(before + "torchrun --nproc_per_node=8 recipe.py " + settings + "\n", "run.sh",
                *find_trainer_row("megatron"), request);
  };
  CHECK(started("", "train.micro_batch_size=1").job.chunks == 2);
  // VP needs PP > 1: an error where VP stays, none where the script takes it back.
  CHECK_FALSE(found(started("", "model.pipeline_model_parallel_size=1")).empty());
  const LintReport off = started(
      "", "model.pipeline_model_parallel_size=1 model.virtual_pipeline_model_parallel_size=null");
  CHECK(found(off) == Codes{});
  CHECK(off.job.chunks == 1);
  for (const char* other : {"", "EXTRA=\"model.tensor_model_parallel_size=1\"\n"}) {
    CAPTURE(other);
    const LintReport doubt =
        started(std::string(other) +
                    "if [ \"$BIG\" = 1 ]; then EXTRA=\"model.tensor_model_parallel_size=3\"; fi\n",
                "$EXTRA");
    CHECK(found(doubt) == Codes{});
    CHECK(gap(doubt, "E001").find("under a condition") != std::string::npos);
  }
}

// TP 2 x PP 1 with EP 2 of 8 experts, on 8 GPUs.
TEST_CASE("the mend of a missing switch is a setting that can be written") {
  const LintReport report = judged(
      "torchrun --nproc_per_node=8 run_recipe.py model.tensor_model_parallel_size=2 "
      "model.pipeline_model_parallel_size=1 model.context_parallel_size=1 "
      "model.expert_model_parallel_size=2 model.expert_tensor_parallel_size=1 "
      "model.num_moe_experts=8 model.sequence_parallel=False train.micro_batch_size=1 "
      "train.global_batch_size=32\n");
  CHECK(only(report).fix == "model.sequence_parallel=True");
}

TEST_CASE("three slips do not make a program of its own") {
  const std::string flags =
      " --micro-batch-size 3 --global-batch-size 32 --lr 1e-4 --min-lr 1e-5 --bf16 "
      "--train-iters 100 --swigluu --use-flash-atn --sequence-paralel\n";
  const LintReport known = judged("torchrun --nproc-per-node 8 pretrain_gpt.py" + flags);
  CHECK(gap(known, "W060").empty());
  const LintReport open = judged("torchrun --nproc-per-node 8 pretrain_gpt.py $MODEL_ARGS" + flags);
  CHECK(gap(open, "W060").empty());
  CHECK(gap(open, "E001").find("$MODEL_ARGS (line 1) may set") == 0);
}

}  // namespace
}  // namespace penstock
