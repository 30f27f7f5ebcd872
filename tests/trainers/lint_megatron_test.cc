// One case per rule: a script with the mistake, and the same script repaired by what the finding
// says. The rules are Megatron-LM's own checks, worked out in the comments.
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

// Line 1 starts 16 GPUs; `flags` are line 2. T = 2, P = 4, so that D = 2; b = 2 and a batch of 32
// make M = 32 / (2 * 2) = 8.
std::string script(const std::string& flags,
                   const std::string& sizes = "--num-layers 32 --global-batch-size 32") {
  return "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \\\n" + flags +
         " \\\n  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "
         "--micro-batch-size 2 " +
         sizes + '\n';
}

TEST_CASE("a sound script has no findings, and every rule of its own was judged") {
  const LintReport report = judged(script("--bf16"));
  CHECK(found(report) == Codes{});
  CHECK(report.judged == Codes{"E001", "E010", "E012", "E020", "E021", "W050", "W051", "W060"});
  CHECK(report.job.data == 2);
  CHECK(report.job.micro_batches == 8);
  CHECK(report.job.layers_per_stage == std::vector<int>{8, 8, 8, 8});
}

TEST_CASE("E001: GPUs are a multiple of T x P x C") {
  // 16 is not a multiple of 2 x 4 x 3 = 24.
  const LintReport report = judged(script("--context-parallel-size 3"));
  CHECK(found(report) == Codes{"E001:3"});
  CHECK(only(report).fix.starts_with("start 24 GPUs"));
  CHECK(gap(report, "E020").find("(E001)") != std::string::npos);
  LintRequest request;
  request.gpus = 24;
  CHECK(found(judged(script("--context-parallel-size 3", "--num-layers 32 --global-batch-size 32"),
                     request)) == Codes{});  // D = 1, M = 16
  // 10^9 GPUs and T = 1: of the divisors of 10^9 the nearest to PP = 999,999,999 is 5 x 10^8.
  request.gpus = 1'000'000'000;
  const std::string large =
      "torchrun pretrain_gpt.py --pipeline-model-parallel-size 999999999 --num-layers 32\n";
  CHECK(
      judged(large, request).findings[0].fix.ends_with("--pipeline-model-parallel-size 500000000"));
}

// 32 heads: TP = 2 divides them, TP = 3 does not, and 8 groups fit TP = 2 and 16, but not 12.
TEST_CASE("E015: TP divides the attention heads") {
  CHECK(judged(script("--num-attention-heads 32")).judged.at(3) == "E015");
  const LintReport report = judged(script("--num-attention-heads 31"));
  CHECK(found(report) == Codes{"E015:3"});
  CHECK(only(report).fix == "--tensor-model-parallel-size 1");
  CHECK(gap(report, "E001").find("(E015)") != std::string::npos);
  const auto grouped = [](const std::string& tensor, const std::string& groups) {
    return judged(
        "torchrun --nproc_per_node 48 pretrain_gpt.py --num-layers 32 "
        "--num-attention-heads 96 --group-query-attention "
        "--tensor-model-parallel-size " +
        tensor + " --num-query-groups " + groups + '\n');
  };
  CHECK(found(grouped("2", "8")) == Codes{});
  CHECK(found(grouped("16", "8")) == Codes{});
  CHECK(found(grouped("12", "8")) == Codes{"E015:1"});
  CHECK(only(grouped("12", "8")).fix == "--tensor-model-parallel-size 8");
}

TEST_CASE("E001: b x D divides the global batch") {
  const LintReport report = judged(script("--bf16", "--num-layers 32 --global-batch-size 34"));
  CHECK(found(report) == Codes{"E001:3"});
  CHECK(only(report).message == "a global batch of 34 is not a multiple of mbs x DP = 2 x 2 = 4");
  CHECK(only(report).fix == "--global-batch-size 36");
  CHECK(found(judged(script("--bf16", "--num-layers 32 --global-batch-size 36"))) == Codes{});
  // Even without D an odd batch does not divide by b = 2.
  const LintReport unknown = judged("--micro-batch-size 2 --global-batch-size 33 --num-layers 2\n");
  CHECK(found(unknown) == Codes{"E001:1"});
}

TEST_CASE("E001: experts have whole groups of ranks") {
  // 16 GPUs, experts' T x E x P = 2 x 4 x 4 = 32.
  const LintReport report = judged(script("--num-experts 8 --expert-model-parallel-size 4"));
  CHECK(found(report) == Codes{"E001:2"});
  CHECK(only(report).fix == "--expert-model-parallel-size 2");
  const std::string sound = "--num-experts 8 --expert-model-parallel-size 2";
  CHECK(found(judged(script(sound + " --sequence-parallel"))) == Codes{});
  // T = 2 beside EP asks for sequence parallelism; 2 does not divide 7 experts.
  CHECK(only(judged(script(sound))).fix == "--sequence-parallel");
  CHECK(only(judged(script("--num-experts 7 --expert-model-parallel-size 2"))).fix ==
        "--expert-model-parallel-size 1");
}

TEST_CASE("E010: layers divide among the stages, or the fix is a layout that passes") {
  const LintReport report = judged(script("--bf16", "--num-layers 30 --global-batch-size 32"));
  CHECK(found(report) == Codes{"E010:3"});
  const LintFinding& finding = only(report);
  CHECK(finding.severity == LintSeverity::kError);
  CHECK(finding.message == "30 layers cannot be split evenly over 4 stages");
  CHECK(finding.fix == "--pipeline-model-parallel-layout \"Et*8|t*8|t*7|t*7L\"");
  CHECK(finding.seen_in == "Megatron-LM #1304");
  const LintReport repaired = judged(script(finding.fix, "--num-layers 30 --global-batch-size 32"));
  CHECK(found(repaired) == Codes{});
  CHECK(repaired.job.layers_per_stage == std::vector<int>{8, 8, 7, 7});
}

TEST_CASE("E010: virtual stages, uneven ends and accounted layers are counted as Megatron does") {
  const auto codes = [](const std::string& flags, int layers) {
    return found(judged(
        script(flags, "--num-layers " + std::to_string(layers) + " --global-batch-size 32")));
  };
  // 32 / 4 = 8 layers of a rank.
  CHECK(codes("--num-layers-per-virtual-pipeline-stage 3", 32) == Codes{"E010:2"});
  CHECK(codes("--num-layers-per-virtual-pipeline-stage 2", 32) == Codes{});
  CHECK(codes("--num-virtual-stages-per-pipeline-rank 3", 32) == Codes{"E010:2"});
  CHECK(codes("--num-virtual-stages-per-pipeline-rank 4", 32) == Codes{});
  // 30 + embedding + loss = 32.
  CHECK(codes("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
              30) == Codes{});
  CHECK(codes("--account-for-embedding-in-pipeline-split", 30) == Codes{"E010:3"});
  // 31 - 7 = 24 on three ranks, and 31 - 6 - 7 = 18 on two; 31 - 6 = 25 on three does not.
  CHECK(codes("--decoder-first-pipeline-num-layers 7", 31) == Codes{});
  CHECK(codes("--decoder-first-pipeline-num-layers 6 --decoder-last-pipeline-num-layers 7", 31) ==
        Codes{});
  CHECK(codes("--decoder-first-pipeline-num-layers 6", 31) == Codes{"E010:2"});
  CHECK(judged(script("--decoder-first-pipeline-num-layers 7",
                      "--num-layers 31 --global-batch-size 32"))
            .job.layers_per_stage == std::vector<int>{7, 8, 8, 8});
}

TEST_CASE("E010: the layers are split once") {
  CHECK(found(judged(script("--num-virtual-stages-per-pipeline-rank 2 "
                            "--num-layers-per-virtual-pipeline-stage 4"))) == Codes{"E010:2"});
  CHECK(found(judged(script("--decoder-first-pipeline-num-layers 8 "
                            "--num-layers-per-virtual-pipeline-stage 4"))) == Codes{"E010:2"});
  CHECK(found(judged(script("--hybrid-layer-pattern 'M*|M*|M*|M*' "
                            "--decoder-first-pipeline-num-layers 8"))) == Codes{"E010:2"});
}

TEST_CASE("E011: layers, stages, E and L of a layout") {
  const auto message = [](const std::string& layout) {
    return only(judged(script("--pipeline-model-parallel-layout \"" + layout + '"'))).message;
  };
  CHECK(message("Et*8|t*8|t*8|t*7L") == "the layout has 31 layers, and the model 32");
  CHECK(message("t*8|Et*8|t*8|t*8L") == "the layout must begin with its only E");
  CHECK(message("Et*8|t*8|t*8|t*8") == "the layout must end with its only L");
  CHECK(message("Et*8|t*8|t*16L") == "the layout has 3 stages, not a multiple of PP = 4");
  CHECK(message("Et*16||t*8|t*8L") == "stage 1 of the layout is empty");
  CHECK(message("Et*8|t*8|t*8|mt*8L").find("has 1 m") != std::string::npos);
  CHECK(message("Et*8|x|t*8|t*8L").find("'x' is none of") != std::string::npos);
  for (const char* layout : {"Et*8|t*8|t*8|t*7L", "Et*8|t*8|t*16L"}) {
    const LintReport report =
        judged(script("--pipeline-model-parallel-layout \"" + std::string(layout) + '"'));
    CHECK(found(judged(script(only(report).fix))) == Codes{});
  }
}

TEST_CASE("E011: multi-token prediction stands behind all layers, in one stage") {
  const auto codes = [](const std::string& layout) {
    return found(
        judged(script("--mtp-num-layers 1 --pipeline-model-parallel-layout '" + layout + '\'')));
  };
  CHECK(codes("Et*8|t*8|t*8|t*8mL") == Codes{});
  CHECK(codes("Et*8|t*8|t*8m|t*8L") == Codes{"E011:2"});
  CHECK(codes("Et*8|t*8|t*8|t*8L") == Codes{"E011:2"});
}

TEST_CASE("E012: layers of the last stage with P = 1 shrink the model without a warning") {
  const std::string head =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 "
      "--global-batch-size 8 --num-layers 20\\\n ";
  const LintReport report = judged(head + "--decoder-last-pipeline-num-layers 1");
  CHECK(found(report) == Codes{"E012:2"});
  CHECK(only(report).message ==
        "--decoder-last-pipeline-num-layers with PP = 1 builds 1 layers, not 20");
  CHECK(found(judged(head)) == Codes{});
  CHECK(found(judged(head + "--decoder-last-pipeline-num-layers 20")) == Codes{});
}

TEST_CASE("E020: at least P micro-batches") {
  // M = 12 / (2 * 2) = 3 < 4; idle for 3 / (3 + 3) = 50 %. b D P = 16.
  const LintReport report = judged(script("--bf16", "--num-layers 32 --global-batch-size 12"));
  CHECK(found(report) == Codes{"E020:3"});
  CHECK(only(report).why.find("50 %") != std::string::npos);
  CHECK(only(report).fix == "--global-batch-size 16");
  CHECK(found(judged(script("--bf16", "--num-layers 32 --global-batch-size 16"))) == Codes{});
  // Without a global batch Megatron-LM takes one micro-batch.
  CHECK(found(judged(script("--bf16", "--num-layers 32"))) == Codes{"E020:3"});
}

TEST_CASE("E021: groups of an interleaved schedule have at least PP micro-batches") {
  const auto report = [](int group, int batch) {
    return judged(
        script("--num-virtual-stages-per-pipeline-rank 2 "
               "--microbatch-group-size-per-virtual-pipeline-stage " +
                   std::to_string(group),
               "--num-layers 32 --global-batch-size " + std::to_string(batch)));
  };
  CHECK(found(report(4, 32)) == Codes{});          // M = 8 in two groups
  CHECK(found(report(3, 32)) == Codes{"E021:2"});  // less than P
  CHECK(found(report(9, 32)) == Codes{"E021:2"});  // more than M
  CHECK(found(report(5, 36)) == Codes{});          // M = 9: the rest of 4 is P
  CHECK(found(report(5, 32)) == Codes{"E021:2"});  // M = 8: a rest of 3
  CHECK(only(report(5, 32)).fix == "--microbatch-group-size-per-virtual-pipeline-stage 4");
  CHECK(only(report(3, 32)).seen_in == "NeMo #14288");
  // The default group is P: M = 6 leaves 2.
  CHECK(found(judged(script("--num-virtual-stages-per-pipeline-rank 2",
                            "--num-layers 32 --global-batch-size 24"))) == Codes{"E021:3"});
}

TEST_CASE("E021: virtual stages need a pipeline, and three ranks where transfers do not overlap") {
  const auto codes = [](int ranks, const std::string& more) {
    return found(judged("torchrun --nproc_per_node " + std::to_string(ranks) +
                        " pretrain_gpt.py --num-layers 24 --micro-batch-size 1 "
                        "--global-batch-size 12 --pipeline-model-parallel-size " +
                        std::to_string(ranks) + " \\\n --num-virtual-stages-per-pipeline-rank 2 " +
                        more));
  };
  CHECK(codes(1, "") == Codes{"E021:2"});
  CHECK(codes(2, "") == Codes{});
  CHECK(codes(2, "--no-overlap-p2p-communication") == Codes{"E021:2", "W051:2"});
}

TEST_CASE("E040: another number of replicas than the checkpoint's") {
  LintRequest request;
  request.checkpoint_data_parallel = 4;
  const std::string resumed = "--load ckpt --use-distributed-optimizer --ckpt-format ";
  CHECK(found(judged(script(resumed + "torch"), request)) == Codes{"E040:2"});
  // torch_dist deals the optimizer out again.
  CHECK(found(judged(script(resumed + "torch_dist"), request)) == Codes{});
  request.checkpoint_data_parallel = 2;
  CHECK(found(judged(script(resumed + "torch"), request)) == Codes{});
  CHECK(gap(judged(script("--load ckpt")), "E040") != "");
}

TEST_CASE("W050, W051: divided backwards that recompute, transfers that are waited for") {
  CHECK(found(judged(script("--enable-zero-bubble --recompute-granularity full"))) ==
        Codes{"W050:2"});
  CHECK(found(judged(script("--enable-zero-bubble"))) == Codes{});
  const std::string interleaved = "--num-virtual-stages-per-pipeline-rank 2";
  const LintReport report = judged(script(interleaved + " --no-overlap-p2p-communication"));
  CHECK(found(report) == Codes{"W051:2"});
  CHECK(only(report).severity == LintSeverity::kWarning);
  CHECK(found(judged(script(interleaved))) == Codes{});
  // Without virtual stages nothing overlaps in any case.
  CHECK(found(judged(script("--no-overlap-p2p-communication"))) == Codes{});
}

TEST_CASE("W060: mistyped and renamed flags have their right name") {
  const auto fix = [](const std::string& flags) { return only(judged(script(flags))).fix; };
  CHECK(fix("--recompute-granularty full") == "--recompute-granularity");
  CHECK(fix("--use_distributed_optimizer") == "--use-distributed-optimizer");
  CHECK(fix("--warmup 0.1") == "--lr-warmup-fraction");
  // Known to nobody, or to older versions: a note, since scripts add flags of their own.
  const LintReport report = judged(script("--turbo-boost --no-query-key-layer-scaling"));
  CHECK(found(report) == Codes{});
  REQUIRE(report.notes.size() == 2);
  CHECK(report.notes[0].find("no longer has --no-query-key-layer-scaling") != std::string::npos);
  CHECK(report.notes[1].find("does not have --turbo-boost") != std::string::npos);
  // A flag that is there as well is no slip, and neither is one that differs at its beginning.
  CHECK(found(judged(script("--recompute-granularty full --recompute-granularity full"))) ==
        Codes{});
  CHECK(found(judged(script("--patch-size 14"))) == Codes{});
  CHECK(found(judged(script("--use_distributed_optimizer --seq_length 8"))) == Codes{});
}

// BioNeMo's train_esm2.py, which has a parser of its own: argparse takes "--num-attention-head" for
// "--num-attention-heads" there, as Megatron-LM's would not.
TEST_CASE("flags of another program that shares some names are not called misspelt") {
  const std::string theirs =
      "--train-cluster-path a --train-database-path b --valid-cluster-path c "
      "--valid-database-path d --num-gpus 8 --num-steps 100 --val-check-interval 25 "
      "--limit-val-batches 2 --create-tensorboard-logger --result-dir r ";
  const std::string shared = "--num-layers 33 --hidden-size 1280 --num-attention-head 20";
  const LintReport other = judged("torchrun --nproc_per_node 8 train_esm2.py " + theirs + shared);
  CHECK(found(other) == Codes{});
  CHECK(gap(other, "W060") == "most flags of this program are not Megatron-LM's");
  CHECK(found(judged("torchrun --nproc_per_node 8 pretrain_gpt.py " + shared)) == Codes{"W060:1"});
}

TEST_CASE("embedding and loss are accounted for only where the split is even") {
  const std::string start = "--num-layers 30 --pipeline-model-parallel-size 4 ";
  for (const char* flag :
       {"--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"}) {
    for (const char* split :
         {"--pipeline-model-parallel-layout 'Et*8|t*8|t*7|t*7L'",
          "--decoder-first-pipeline-num-layers 6", "--decoder-last-pipeline-num-layers 6"}) {
      const LintReport report = judged(start + split + ' ' + flag);
      CHECK(found(report) == Codes{"E010:1"});
      CHECK(only(report).message.find(std::string(flag) + " cannot be combined with") == 0);
    }
  }
}

TEST_CASE("virtual stages without a pipeline are found, also when they do not divide the layers") {
  const std::string flag = "--num-layers-per-virtual-pipeline-stage ";
  CHECK(found(judged("--num-layers 24 " + flag + "6")) == Codes{"E021:1"});
  CHECK(found(judged("--num-layers 24 " + flag + "5")) == Codes{"E010:1"});
  CHECK(found(judged("--num-layers 24 " + flag + "24")) == Codes{});  // V = 1
}

TEST_CASE("what a condition or an unread array may set is not judged") {
  const std::string start = "ARGS=(--num-layers 30 --pipeline-model-parallel-size 4)\n";
  const std::string layout = "--pipeline-model-parallel-layout 'Et*8|t*8|t*7|t*7L'";
  const std::string end = "torchrun --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]}\n";
  CHECK(found(judged(start + end)) == Codes{"E010:1"});
  const LintReport added =
      judged(start + "if [ $A ]; then\n  ARGS=(\"${ARGS[@]}\" " + layout + ")\nfi\n" + end);
  CHECK(found(added) == Codes{});
  CHECK(gap(added, "E010") == "--pipeline-model-parallel-layout is set under a condition (line 3)");
  // What is certain stays, and the condition is told.
  const LintReport other =
      judged(start + "[ $A ] && ARGS=(\"${ARGS[@]}\" --fp8-format hybrid)\n" + end);
  CHECK(found(other) == Codes{"E010:1"});
  const LintReport unread = judged(start + "torchrun pretrain_gpt.py ${ARGS[@]} ${MORE_ARGS[@]}\n");
  CHECK(found(unread) == Codes{});
  CHECK(gap(unread, "E010") == "${MORE_ARGS[@]} (line 2) may set --pipeline-model-parallel-layout");
}

TEST_CASE("forks are recognised by their flags, and judged by what they share") {
  const LintReport bloom = judged(
      "torchrun --nproc_per_node 8 --nnodes 48 pretrain_gpt.py --pipeline-model-parallel-size 12 "
      "--num-layers 70 --tensor-model-parallel-size 4 --micro-batch-size 2 --global-batch-size "
      "2048 --deepspeed --deepspeed_config ds.json --zero-stage 1 --checkpoint-activations");
  CHECK(found(bloom) == Codes{});
  CHECK(gap(bloom, "E010").starts_with("DeepSpeed cuts the model"));
  REQUIRE(bloom.notes.size() == 1);
  CHECK(bloom.notes[0].starts_with("this is a script of Megatron-DeepSpeed"));
  // DeepSpeed under a condition: who cuts the model is not known.
  const LintReport perhaps = judged(
      "A=\"--num-layers 30 --pipeline-model-parallel-size 4\"\nif [ $D ]; then A=\"$A "
      "--deepspeed\"; "
      "fi\ntorchrun pretrain_gpt.py $A\n");
  CHECK(found(perhaps) == Codes{});
  CHECK(gap(perhaps, "E010") == "--deepspeed is set under a condition (line 2)");
  const LintReport pai =
      judged(script("--patch-tokenizer-type Qwen2Tokenizer --extra-vocab-size 0"));
  CHECK(found(pai) == Codes{});
  REQUIRE(pai.notes.size() == 1);
  CHECK(pai.notes[0].starts_with("this is a script of Pai-Megatron-Patch"));
}

TEST_CASE("a script of nothing but unknown flags ends") {
  std::string flags = "--num-layers 4";
  const int unknown = 50'000;
  for (int i = 0; i < unknown; ++i) flags += " --x" + std::to_string(i);
  const LintReport report = judged(flags);
  CHECK(report.findings.empty());
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0].find("and " + std::to_string(unknown - 8) + " more") != std::string::npos);
}

TEST_CASE("a value that is no number is refused with its place") {
  const auto refused = [](const std::string& flags) {
    return refusal([&flags] { (void)judged(script(flags)); });
  };
  CHECK(refused("--context-parallel-size two") ==
        "launch.sh:2: --context-parallel-size: expected a whole number from 1 to 1000000000, got "
        "'two'\nhelp: write a number, as in --context-parallel-size 1");
  CHECK(refused("--context-parallel-size 0").starts_with("launch.sh:2: "));
  CHECK(refused("--context-parallel-size 99999999999999999999").starts_with("launch.sh:2: "));
  CHECK(refused("--context-parallel-size").starts_with("launch.sh:2: "));
  CHECK(refused("--context-parallel-size 1 2").starts_with("launch.sh:2: "));
  // Large, and no overflow.
  CHECK(
      refused("--context-parallel-size 1000000000 --expert-model-parallel-size 999999999").empty());
}

}  // namespace
}  // namespace penstock
