// One case per rule: a file with the mistake, and its repaired twin. The rules are torchtitan's and
// PyTorch's own.
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/trainers/lint_reports.h"
#include "trainers/lint/lint.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

using Codes = std::vector<std::string>;

LintReport judged(const std::string& toml, LintRequest request = {}) {
  if (!request.gpus) request.gpus = 8;
  return lint(toml, "job.toml", *find_trainer_row("torchtitan"), request);
}

// P = 4 on 8 GPUs, so that D = 2; M = 8 / 1.
std::string job(const std::string& parallelism, const std::string& training = "") {
  return "[training]\n" + (training.empty() ? "local_batch_size = 8" : training) +
         "\n[activation_checkpoint]\nmode = \"none\"\n[parallelism]\n"
         "pipeline_parallel_degree = 4\n" +
         parallelism;
}

const std::string kFourLists =
    "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], "
    "[\"layers.2\"], [\"layers.3\", \"norm\", \"output\"]]\n";

LintRequest version(const char* version, int layers = 0) {
  LintRequest request;
  request.version = version;
  if (layers > 0) request.layers = layers;
  return request;
}

TEST_CASE("a sound file has no findings") {
  const LintReport report = judged(job(kFourLists));
  CHECK(found(report) == Codes{});
  CHECK(report.version == "0.2");
  CHECK(report.job.data == 2);
  CHECK(report.job.layers_per_stage == std::vector<int>{1, 1, 1, 1});
}

TEST_CASE("E001: degrees make the GPUs, and batches divide") {
  LintRequest ten;
  ten.gpus = 10;
  CHECK(found(judged(job(kFourLists), ten)) == Codes{"E001:6"});
  CHECK(found(judged(job("data_parallel_shard_degree = 4\n" + kFourLists))) == Codes{"E001:7"});
  CHECK(only(judged(job("data_parallel_shard_degree = 4\n" + kFourLists))).fix ==
        "data_parallel_shard_degree = 2");
  CHECK(found(judged(job("data_parallel_shard_degree = 2\n" + kFourLists))) == Codes{});
  CHECK(found(judged(job("pipeline_parallel_microbatch_size = 3\n" + kFourLists))) ==
        Codes{"E001:2"});
  // 8 x D = 16.
  CHECK(found(judged(job(kFourLists, "local_batch_size = 8\nglobal_batch_size = 24"))) ==
        Codes{"E001:3"});
  CHECK(found(judged(job(kFourLists, "local_batch_size = 8\nglobal_batch_size = 32"))) == Codes{});
}

TEST_CASE("E010: the automatic split has a multiple of P stages and enough layers") {
  const auto codes = [](const std::string& text, int layers) {
    return found(judged(job(text), version("0.2", layers)));
  };
  // 30 + 1 + 1 = 32 effective layers in four stages; the ends have one less.
  CHECK(codes("", 30) == Codes{});
  CHECK(judged(job(""), version("0.2", 30)).job.layers_per_stage == std::vector<int>{7, 8, 8, 7});
  CHECK(codes("pipeline_parallel_layers_per_stage = 8\n", 30) == Codes{});
  CHECK(codes("pipeline_parallel_layers_per_stage = 7\n", 30) == Codes{"E010:7"});
  // 4 / 4 = 1 layer a stage, and the ends shall hold 2 less.
  CHECK(codes("pipeline_parallel_first_stage_less_layers = 2\n", 1) == Codes{"E010:6"});
  CHECK(gap(judged(job("")), "E010").find("--config") != std::string::npos);
}

TEST_CASE("E011: lists make a multiple of P stages, and as many a rank as the schedule has") {
  const std::string three =
      "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], "
      "[\"layers.2\", \"norm\", \"output\"]]\n";
  CHECK(found(judged(job(three))) == Codes{"E011:7"});
  CHECK(found(judged(job(kFourLists + "pipeline_parallel_schedule = \"ZBVZeroBubble\"\n"))) ==
        Codes{"E011:7"});
  const LintReport report = judged(job(three), version("0.2", 6));
  CHECK(report.findings[0].code == "E011");
  CHECK(found(judged(job(report.findings[0].fix + '\n'), version("0.2", 6))) == Codes{});
}

TEST_CASE("E011: split points of 0.1 make one stage more") {
  const auto codes = [](const std::string& points) {
    return found(
        judged(job("pipeline_parallel_split_points = " + points + '\n'), version("0.1", 8)));
  };
  CHECK(codes("[\"layers.2\", \"layers.4\", \"layers.6\"]") == Codes{});
  CHECK(codes("[\"layers.2\", \"layers.4\"]") == Codes{"E011:7"});
  CHECK(codes("[\"layers.2\", \"layers.2\", \"layers.6\"]") == Codes{"E013:7"});
  CHECK(codes("[\"layers.2\", \"layers.4\", \"layers.8\"]") == Codes{"E013:7"});
  CHECK(codes("[\"layers.2\", \"layers.4\", \"norm\"]") == Codes{"E013:7"});
}

TEST_CASE("E013: every module is in one list, in order, and the head has its version's name") {
  const auto message = [](const std::string& lists, const char* name = "0.2") {
    return only(judged(job("module_fqns_per_model_part = " + lists + '\n'), version(name, 4)))
        .message;
  };
  CHECK(
      message("[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], [\"layers.1\", \"layers.2\"], "
              "[\"layers.3\", \"norm\", \"output\"]]") == "layers.1 is in 2 lists");
  CHECK(message("[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], [\"layers.3\"], "
                "[\"norm\", \"output\"]]") == "layers.2 is in no list");
  CHECK(message("[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], [\"layers.2\"], "
                "[\"layers.3\", \"output\"]]") == "norm is in no list");
  CHECK(message("[[\"tok_embeddings\", \"layers.1\"], [\"layers.0\"], [\"layers.2\"], "
                "[\"layers.3\", \"norm\", \"output\"]]") == "layers.0 comes behind layers.1");
  CHECK(message("[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], [\"layers.2\"], "
                "[\"layers.3\", \"norm\", \"lm_head\"]]") ==
        "torchtitan 0.2 calls the head output, and the lists have lm_head");
  CHECK(message("[[\"layers.0\"], [\"tok_embeddings\", \"layers.1\"], [\"layers.2\"], "
                "[\"layers.3\", \"norm\", \"output\"]]")
            .starts_with("the first list must hold tok_embeddings"));
  CHECK(message("[[\"tok_embeddings\", \"layers.0\"], [\"layers.1\"], [\"layers.2\"], "
                "[\"layers.3\", \"layers.4\", \"norm\", \"output\"]]")
            .find("the lists have layers.4") != std::string::npos);
  // Without the model's layers 0 to 3 could be all.
  CHECK(gap(judged(job(kFourLists)), "E013").find("--config") != std::string::npos);
}

TEST_CASE("E020: at least P micro-batches; fewer than stages only warns") {
  const auto report = [](int local, const std::string& schedule) {
    return judged(job("pipeline_parallel_schedule = \"" + schedule + "\"\n",
                      "local_batch_size = " + std::to_string(local)),
                  version("0.2", 30));
  };
  CHECK(found(report(3, "1F1B")) == Codes{"E020:2"});
  CHECK(only(report(3, "1F1B")).fix == "local_batch_size = 4");
  CHECK(found(report(4, "1F1B")) == Codes{});
  // Two stages a rank: eight of them.
  const LintReport looped = report(4, "LoopedBFS");
  REQUIRE(found(looped) == Codes{"E020:2", "W051:7"});
  CHECK(looped.findings[0].severity == LintSeverity::kWarning);
  CHECK(report(4, "DualPipeV").findings[0].severity == LintSeverity::kError);
}

TEST_CASE("E021: PyTorch's rounds of micro-batches") {
  const auto codes = [](int local) {
    return found(judged(job("pipeline_parallel_schedule = \"Interleaved1F1B\"\n",
                            "local_batch_size = " + std::to_string(local)),
                        version("0.2", 30)));
  };
  // 9 / 4 = 2 rounds, and 9 is odd; 10 = 2 x 5.
  CHECK(codes(9) == Codes{"E021:2", "W051:7"});
  CHECK(codes(10) == Codes{"W051:7"});
}

TEST_CASE("E040: the data loader's place is of one number of replicas") {
  LintRequest request;
  request.checkpoint_data_parallel = 4;
  CHECK(found(judged(job(kFourLists), request)) == Codes{"E040:0"});
  CHECK(found(judged(job(kFourLists + "[checkpoint]\nexclude_from_loading = [\"dataloader\"]\n"),
                     request)) == Codes{});
  request.checkpoint_data_parallel = 2;
  CHECK(found(judged(job(kFourLists), request)) == Codes{});
}

TEST_CASE("W050: a divided backward recomputes twice, by torchtitan's default, too") {
  const std::string schedule = "pipeline_parallel_schedule = \"ZBVZeroBubble\"\n";
  CHECK(found(judged(job(schedule), version("0.2", 30))) == Codes{});
  std::string recomputes = job(schedule);
  recomputes.replace(recomputes.find("none"), 4, "full");
  CHECK(found(judged(recomputes, version("0.2", 30))) == Codes{"W050:4"});
  std::string silent = job(schedule);
  silent.erase(silent.find("[activation"),
               silent.find("[parallelism]") - silent.find("[activation"));
  CHECK(found(judged(silent, version("0.2", 30))) == Codes{"W050:5"});
}

TEST_CASE("W050, E011: the schedule's CSV is read where it can be") {
  const auto report = [](const std::string& csv) {
    LintRequest request = version("0.2", 2);
    request.gpus = 4;
    request.beside = [csv](const std::string& path) {
      CHECK(path == "s.csv");
      return std::optional<std::string>(csv);
    };
    return judged(
        "[training]\nlocal_batch_size = 2\n[activation_checkpoint]\nmode = \"full\"\n"
        "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"1F1B\"\n"
        "pipeline_parallel_schedule_csv = \"s.csv\"\n"
        "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"], "
        "[\"layers.1\", \"norm\", \"output\"]]\n",
        request);
  };
  CHECK(found(report("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")) == Codes{});
  CHECK(found(report("0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1B1\n")) == Codes{"W050:4"});
  CHECK(found(report("0F0,0B0\n1F0,1B0\n")) == Codes{"E011:8"});
  CHECK(found(report("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1\n")) ==
        Codes{"E011:8", "E011:8"});
}

TEST_CASE("W051: looped schedules of PyTorch receive in the way of their sends") {
  const auto codes = [](const std::string& schedule) {
    return found(
        judged(job("pipeline_parallel_schedule = \"" + schedule + "\"\n"), version("0.2", 30)));
  };
  CHECK(codes("interleaved1f1b") == Codes{"W051:7"});
  CHECK(codes("1F1B") == Codes{});
}

TEST_CASE("W060: names of other versions, mistyped keys, schedules that are not found by name") {
  const auto fix = [](const std::string& parallelism, const char* name) {
    return only(judged(job(parallelism), version(name))).fix;
  };
  CHECK(fix("pipeline_parallel_split_points = [\"layers.1\"]\n", "0.2") ==
        "parallelism.module_fqns_per_model_part in its place");
  CHECK(fix(kFourLists, "0.1") == "parallelism.pipeline_parallel_split_points in its place");
  CHECK(fix("num_pp_microbatches = 8\n", "0.2") ==
        "parallelism.pipeline_parallel_microbatch_size in its place");
  CHECK(fix("pipeline_paralel_schedule = \"1F1B\"\n", "0.2") ==
        "parallelism.pipeline_parallel_schedule");
  CHECK(fix("pipeline_parallel_schedule = \"1F1D\"\n", "0.2") ==
        "pipeline_parallel_schedule = \"1F1B\"");
  CHECK(fix("pipeline_parallel_schedule = \"_PipelineScheduleRuntime\"\n", "0.2").find("1F1B") !=
        std::string::npos);
}

TEST_CASE("a script that starts no rank is refused where it says so") {
  const auto refusal_of_line = [](const std::string& line) {
    return refusal(
        [&] { lint("#!/bin/bash\n" + line, "run.sh", *find_trainer_row("torchtitan"), {}); });
  };
  CHECK(refusal_of_line("NGPU=0 ./run_train.sh --parallelism.pipeline_parallel_degree=4\n") ==
        "run.sh:2: NGPU: '0' starts no rank\nhelp: write NGPU=1 or more");
  CHECK(refusal_of_line(
            "torchrun --nproc-per-node 0 train.py --parallelism.pipeline_parallel_degree=4\n") ==
        "run.sh:2: --nproc-per-node: '0' starts no rank\nhelp: write --nproc-per-node 1 or more");
  CHECK(refusal_of_line("SLURM_NNODES=0\nSLURM_GPUS_PER_NODE=8\nsrun train.py "
                        "--parallelism.pipeline_parallel_degree=4\n") ==
        "run.sh:2: SLURM_NNODES: '0' starts no rank\nhelp: ask for one or more, as in #SBATCH "
        "--nodes=2 "
        "--gpus-per-node=8");
}

TEST_CASE("flags of a script override, and NGPU says how many") {
  const auto judge_script = [](const std::string& script) {
    return lint(script, "run.sh", *find_trainer_row("torchtitan"), {});
  };
  const LintReport report = judge_script(
      "NGPU=8 ./run_train.sh --parallelism.pipeline_parallel_degree=4 \\\n"
      "  --training.local-batch-size 3 --parallelism.pipeline_parallel_degree 2\n");
  CHECK(found(report) == Codes{});
  CHECK(report.job.pipeline == 2);
  CHECK(report.job.data == 4);
  CHECK(found(judge_script("NGPU=8 ./run_train.sh --parallelism.pipeline_parallel_degree=4 \\\n"
                           "  --training.local_batch_size=3\n")) == Codes{"E020:2"});
}

TEST_CASE("head's recipe is read where it assigns") {
  const std::string recipe =
      "from torchtitan.trainer import Trainer\n\ndef planned(config):\n"
      "    config.parallelism.pipeline_parallel_degree = 4\n"
      "    config.parallelism.num_pp_microbatches = 2\n"
      "    config.training.disable_cuda_graphs = True\n"
      "    config.parallelism.pipeline_parallel_schedule_csv = os.path.join(x, \"s.csv\")\n"
      "    return config\n";
  const LintReport report =
      lint(recipe, "plan.py", *find_trainer_row("torchtitan"), version("head"));
  CHECK(found(report) == Codes{"E020:5"});
  CHECK(only(report).fix == "config.parallelism.num_pp_microbatches = 4");
}

// The only style of head's own files; paper: 8 x 2048 tokens, D = 16 / 4 = 4, 2 micro-batches.
TEST_CASE("head's recipes are read by the keywords of their constructors") {
  const std::string recipe = R"py(from torchtitan.config import ParallelismConfig, TrainingConfig
SEQ = 2048

def base() -> Trainer.Config:
    """Not ParallelismConfig(pipeline_parallel_degree=3)."""
    return Trainer.Config(
        model_spec=model_registry("8B", x=[1, (2)]),
        training=TrainingConfig(
            num_tokens_per_microbatch_per_dp_rank=8 * SEQ,  # eight sequences
            max_context_length=SEQ,
            num_tokens_per_train_step=100_000, disable_cuda_graphs=True,
        ),
        parallelism=ParallelismConfig(
            pipeline_parallel_degree=4,
            num_pp_microbatches=2,
        ),
        activation_checkpoint=FullAC.Config(),
    )

def smaller() -> Trainer.Config:
    config = base()
    config.parallelism = ParallelismConfig(data_parallel_shard_degree=-1)
    config.training.num_tokens_per_train_step = -1
    return config
)py";
  LintRequest request = version("head");
  request.gpus = 16;
  const LintReport report =
      lint(recipe, "config_registry.py", *find_trainer_row("torchtitan"), request);
  CHECK(found(report) == Codes{"E001:11", "E020:15"});
  CHECK(report.findings[0].message ==
        "100000 tokens a step are not a multiple of tokens x micro-batches x DP = 16384 x 2 x 4 = "
        "131072");
  CHECK(report.job.pipeline == 4);
  CHECK(report.job.data == 4);
  CHECK(report.job.sequence_length == 2048);
  CHECK(report.job.micro_batch_size == 8);
  CHECK(report.job.recompute == "full");
  CHECK(report.notes.back() == "2 recipes were judged, each by itself");
}

const char* const kPlanned =
    "from torchtitan.trainer import Trainer\n\ndef planned(config):\n"
    "    config.parallelism.pipeline_parallel_degree = 4\n"
    "    config.parallelism.num_pp_microbatches = 2\n"
    "    config.training.disable_cuda_graphs = True\n"
    "    return config\n\ndef job():\n    return planned(base())\n";

// 6 GPUs are not a multiple of PP = 4, and 2 micro-batches are fewer.
TEST_CASE("a script that starts a recipe of head is judged by it, on the script's GPUs") {
  const std::string script =
      "exec torchrun --nproc_per_node=6 \\\n"
      "  -m torchtitan.train --module plan --config job \"$@\"\n";
  const LintReport report =
      lint(script, "run.sh", *find_trainer_row("torchtitan"), with_files({{"plan.py", kPlanned}}));
  CHECK(report.version == "head");
  CHECK(found(report) == Codes{"E001:4", "E020:5"});
  CHECK(report.findings[0].file == "plan.py");
  CHECK(report.notes.back() == "plan.py was read as well (line 2)");
  // The script's own flags win.
  const std::string more =
      script.substr(0, script.size() - 6) +
      " --parallelism.num_pp_microbatches 4 --parallelism.pipeline_parallel_degree 3\n";
  CHECK(found(lint(more, "run.sh", *find_trainer_row("torchtitan"),
                   with_files({{"plan.py", kPlanned}}))) == Codes{});
  // A module of torchtitan's own, from the root of its repository.
  CHECK(found(lint(script, "run.sh", *find_trainer_row("torchtitan"),
                   with_files({{"torchtitan/models/plan/config_registry.py", kPlanned}})))
            .size() == 2);
}

TEST_CASE("a script whose recipe is not there is told so, and gets no all-clear") {
  const std::string script = "torchrun -m torchtitan.train --module llama3 --config llama3_8b";
  const LintReport report = lint(script, "run.sh", *find_trainer_row("torchtitan"), {});
  CHECK(report.findings.empty());
  CHECK(report.judged.empty());
  CHECK(gap(report, "E001").find("torchtitan/models/llama3/config_registry.py") !=
        std::string::npos);
  // What a flag sets is known, and what it leaves open is not the trainer's default.
  const LintReport some = lint(script + " --parallelism.pipeline_parallel_degree 4", "run.sh",
                               *find_trainer_row("torchtitan"), {});
  CHECK(some.job.pipeline == 4);
  CHECK(gap(some, "E001").find("the configuration that --config names may set") == 0);
}

TEST_CASE("a recipe's CSV beside it is read") {
  const std::string recipe =
      "from torchtitan.trainer import Trainer\n\ndef planned(config):\n"
      "    config.parallelism.pipeline_parallel_degree = 3\n"
      "    config.parallelism.num_pp_microbatches = 3\n"
      "    config.training.disable_cuda_graphs = True\n"
      "    config.parallelism.pipeline_parallel_schedule = \"PipelineScheduleSingle\"\n"
      "    config.parallelism.pipeline_parallel_schedule_csv = "
      "os.path.join(os.path.dirname(os.path.abspath(__file__)), \"s.csv\")\n"
      "    return config\n";
  LintRequest request = with_files({{"s.csv", "0F0,0B0\n1F0,1B0\n"}});
  const LintReport report = lint(recipe, "plan.py", *find_trainer_row("torchtitan"), request);
  CHECK(found(report) == Codes{"E011:8", "E011:8"});
  CHECK(report.findings[0].message == "s.csv has 2 ranks, and the job 3");
}

// 2^30 settings, if each were copied as often as Python would call the functions.
TEST_CASE("recipes that begin with each other end with a message") {
  std::string recipe = "import torchtitan\ndef f0():\n    config.training.local_batch_size = 1\n";
  for (int i = 1; i <= 30; ++i) {
    const std::string call = "    config = f" + std::to_string(i - 1) + "()\n";
    recipe += "def f" + std::to_string(i) + "():\n" + call + call;
  }
  CHECK(refusal([&] {
          lint(recipe, "a.py", *find_trainer_row("torchtitan"), version("head"));
        }).find("together they set more than 100000 values") != std::string::npos);
}

TEST_CASE("a Python file that sets nothing is refused, not cleared") {
  CHECK_THROWS_AS(lint("import x\n\ndef f():\n    return ParallelismConfig()\n", "a.py",
                       *find_trainer_row("torchtitan"), {}),
                  Error);
  CHECK_THROWS_AS(lint("def f():\n    return ParallelismConfig(a=\n", "a.py",
                       *find_trainer_row("torchtitan"), {}),
                  Error);
}

TEST_CASE("without a pipeline the local batch is one forward") {
  LintRequest request;
  request.gpus = 4;
  const LintReport report =
      judged("[training]\nlocal_batch_size = 8\nglobal_batch_size = 64\n", request);
  CHECK(report.job.micro_batch_size == 8);
  CHECK(report.job.micro_batches == 2);
}

TEST_CASE("E014: head has no CUDA graphs with a pipeline") {
  const auto recipe = [](const std::string& degree, const std::string& more) {
    return lint(
        "def f(config):\n    config.parallelism.num_pp_microbatches = 4\n"
        "    config.parallelism.pipeline_parallel_degree = " +
            degree + '\n' + more + "    return config\n",
        "plan.py", *find_trainer_row("torchtitan"), {});
  };
  const std::string off = "    config.training.disable_cuda_graphs = True\n";
  CHECK(found(recipe("4", "")) == Codes{"E014:3"});
  CHECK(only(recipe("4", "")).fix == "config.training.disable_cuda_graphs = True");
  CHECK(found(recipe("4", off)) == Codes{});
  CHECK(found(recipe("1", "")) == Codes{});
}

TEST_CASE("head reads no TOML") {
  const Codes toml = found(judged("[training]\nseq_len = 128\n", version("head")));
  CHECK(toml == Codes{"W060:2"});
}

}  // namespace
}  // namespace penstock
