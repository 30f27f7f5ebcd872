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

LintReport judged(const std::string& json, const LintRequest& request = {}) {
  return lint(json, "ds_config.json", *find_trainer_row("deepspeed"), request);
}

LintRequest on(int gpus, int stages) {
  LintRequest request;
  request.gpus = gpus;
  request.stages = stages;
  return request;
}

std::string config(const std::string& batch, const std::string& more = "") {
  return "{\n\"train_batch_size\": " + batch +
         ",\n\"train_micro_batch_size_per_gpu\": 2,\n\"gradient_accumulation_steps\": 8" + more +
         "\n}";
}

// 16 GPUs in 4 stages: D = 4, and b x M x D = 2 x 8 x 4 = 64.
TEST_CASE("E001: the batch is b x M x D") {
  CHECK(found(judged(config("64"), on(16, 4))) == Codes{});
  const LintReport report = judged(config("128"), on(16, 4));
  CHECK(found(report) == Codes{"E001:2"});
  CHECK(only(report).fix ==
        "leave \"gradient_accumulation_steps\" out, which DeepSpeed then derives; or "
        "\"train_batch_size\": 64");
  // Of no D at all is 24 = 16 D.
  CHECK(found(judged(config("24"))) == Codes{"E001:2"});
  CHECK(found(judged(config("64"), on(18, 4))) == Codes{"E001:0"});
}

TEST_CASE("E001: ZeRO 2 and 3 do not go with a pipeline") {
  const std::string zero = ",\n\"zero_optimization\": {\"stage\": 2}";
  CHECK(found(judged(config("64", zero), on(16, 4))) == Codes{"E001:5"});
  LintRequest plain;
  plain.gpus = 4;
  CHECK(found(judged(config("64", zero), plain)) == Codes{});
  CHECK(found(judged(config("64", ",\n\"zero_optimization\": {\"stage\": 1}"), on(16, 4))) ==
        Codes{});
}

TEST_CASE("E020: at least as many accumulation steps as stages") {
  // 128 GPUs in 16 stages: D = 8, 2 x 8 x 8 = 128.
  const LintReport report = judged(config("128"), on(128, 16));
  CHECK(found(report) == Codes{"E020:4"});
  CHECK(only(report).fix.starts_with("\"gradient_accumulation_steps\": 16"));
  CHECK(found(judged(config("128"), on(64, 8))) == Codes{});
  CHECK(gap(judged(config("64", ",\n\"pipeline\": {}")), "E020").find("--stages") !=
        std::string::npos);
}

TEST_CASE("E040: ZeRO's checkpoint is of one number of replicas, unless it is universal") {
  LintRequest request = on(16, 4);
  request.checkpoint_data_parallel = 8;
  const std::string zero = ",\n\"zero_optimization\": {\"stage\": 1}";
  CHECK(found(judged(config("64", zero), request)) == Codes{"E040:5"});
  CHECK(found(judged(config("64", zero + ",\n\"checkpoint\": {\"load_universal\": true}"),
                     request)) == Codes{});
  request.checkpoint_data_parallel = 4;
  CHECK(found(judged(config("64", zero), request)) == Codes{});
}

TEST_CASE("W060: keys that nobody reads, and mistyped ones") {
  const LintReport report =
      judged(config("64", ",\n\"pipeline\": {\"stages\": 4,\n\"partition\": \"best\"}"));
  CHECK(found(report) == Codes{"W060:5", "W060:6"});
  CHECK(report.findings[0].fix == "PipelineModule(layers=..., num_stages=4)");
  CHECK(only(judged(config("64", ",\n\"gradient_cliping\": 1.0"))).fix == "\"gradient_clipping\"");
  CHECK(only(judged(config("64", ",\n\"pipeline\": {\"use_reentrnt\": true}"))).fix ==
        "\"use_reentrant\"");
}

// "pipe" and "data" are four letters apart; GPT-NeoX has its settings beside DeepSpeed's keys.
TEST_CASE("W060: names of another program are no misspelt ones") {
  CHECK(found(judged(config("64", ",\n\"pipe-parallel-size\": 1"))) == Codes{});
}

TEST_CASE("a list of values that an autotuner tries is not judged") {
  const LintReport report =
      judged(config("64", ",\n\"zero_optimization\": {\"stage\": [0, 1, 2, 3]}"), on(16, 4));
  CHECK(found(report) == Codes{});
}

TEST_CASE("what Hugging Face fills in is not judged") {
  const LintReport report = judged(config("\"auto\""), on(16, 4));
  CHECK(found(report) == Codes{});
  CHECK(gap(report, "E001") == "auto is not set in this file (line 2)");
  CHECK(refusal([] { (void)judged(config("\"64\""), on(16, 4)); }).empty());
  CHECK(refusal([] {
          (void)judged(config("6.4"), on(16, 4));
        }).starts_with("ds_config.json:2: train_batch_size: expected a whole number"));
  CHECK(refusal([] { (void)judged("[]"); }).starts_with("ds_config.json: expected an object"));
}

TEST_CASE("E001: a batch alone has a sample for every GPU") {
  LintRequest request;
  request.gpus = 32;
  const LintReport small = judged(R"({"train_batch_size": 16})", request);
  CHECK(found(small) == std::vector<std::string>{"E001:1"});
  CHECK(only(small).message ==
        "a batch of 16 has less than a sample for each of micro-batches x DP = 1 x 32");
  CHECK(only(small).fix == "\"train_batch_size\": 32");
  CHECK(found(judged(R"({"train_batch_size": 64})", request)).empty());
  // 64 of 32 GPUs in 4 steps leave half a sample.
  CHECK(found(judged(R"({"train_batch_size": 64, "gradient_accumulation_steps": 4})", request)) ==
        std::vector<std::string>{"E001:1"});
}

// 2 nodes of 8 GPUs without a pipeline: b x M x D = 2 x 8 x 16 = 256.
TEST_CASE("a script is judged by the configuration that it hands to its program") {
  const std::string script =
      "here=$(dirname \"$0\")\nGPUS=8\nexec torchrun --nnodes=2 --nproc_per_node=\"$GPUS\" \\\n"
      "  \"$TRAIN\" --deepspeed_config \"$here/ds.json\" \"$@\"\n";
  LintRequest request;
  request.beside = [](const std::string& path) -> std::optional<std::string> {
    if (path != "ds.json") return {};
    return config("128");
  };
  CHECK(launch_trainer_of(script, "run.sh") == find_trainer_row("deepspeed"));
  const LintReport report = lint(script, "job/run.sh", *find_trainer_row("deepspeed"), request);
  CHECK(found(report) == Codes{"E001:2"});
  CHECK(only(report).file == "job/ds.json");
  CHECK(only(report).message ==
        "a batch of 128 is not mbs x micro-batches x DP = 2 x 8 x 16 = 256");
  CHECK(report.notes.back() == "ds.json was read as well (line 4)");
}

TEST_CASE("a script whose configuration is not there is told so, and gets no all-clear") {
  const LintReport report = lint("deepspeed --num_gpus 8 train.py --deepspeed zero3.json\n",
                                 "run.sh", *find_trainer_row("deepspeed"), {});
  CHECK(report.findings.empty());
  CHECK(gap(report, "E001") ==
        "zero3.json (line 1) was not found beside the script; check that file itself");
  CHECK(
      gap(lint("deepspeed train.py --lr 1\n", "run.sh", *find_trainer_row("deepspeed"), {}), "E001")
          .starts_with("the script names no configuration"));
}

}  // namespace
}  // namespace penstock
