#include "trainers/lint/lint.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/trainers/lint_reports.h"
#include "tests/trainers/plan_of_layers.h"
#include "trainers/exports/export_plan.h"
#include "trainers/lint/layer_cuts.h"
#include "trainers/lint/lint_text.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

LintReport lint_of_export(const PlanFile& plan, const char* target, const char* version,
                          int layers) {
  ExportRequest request;
  request.version = version;
  request.plan_path = "plan.json";
  request.tool_version = "0.1.0";
  request.command = "penstock export plan.json";
  const Export files = export_plan(*find_trainer_row(target), plan, request);
  REQUIRE_FALSE(files.files.empty());
  LintRequest asked;
  asked.version = version;
  asked.gpus = plan.plan.devices();
  asked.stages = plan.plan.pipeline;
  asked.layers = layers;
  asked.checkpoint_data_parallel = plan.plan.data;
  const NamedText& first = files.files.front();
  return lint(first.text, first.name, *find_trainer_row(target), asked);
}

TEST_CASE("what we export has no findings") {
  const PlanFile one = plan_of_layers(4, 1, 10, {0, 3, 6, 9, 12});
  const PlanFile two = plan_of_layers(4, 2, 16, {0, 3, 5, 7, 9, 11, 13, 15, 18});
  PlanFile sharded = one;
  sharded.plan.zero1 = true;
  sharded.plan.recompute = "full";
  for (const PlanFile& plan : {one, two, sharded}) {
    const int layers = static_cast<int>(plan.section_names.size()) - 2;
    for (const auto& named :
         std::vector<std::pair<const char*, const char*>>{{"megatron", "0.20"},
                                                          {"torchtitan", "0.1"},
                                                          {"torchtitan", "0.2"},
                                                          {"torchtitan", "head"},
                                                          {"deepspeed", "0.19"}}) {
      const char* const target = named.first;  // clang captures no structured binding
      const char* const version = named.second;
      if (plan.plan.chunks > 1 && std::string(target) == "deepspeed") continue;  // 1F1B only
      const LintReport report = lint_of_export(plan, target, version, layers);
      CAPTURE(target);
      CAPTURE(version);
      CHECK(found(report) == std::vector<std::string>{});
      if (std::string(target) != "deepspeed") {
        CHECK(cuts_of_layers(plan.section_names, report.job.layers_per_stage) == plan.plan.cuts);
        CHECK(report.job.data == 2);
      }
      CHECK(report.job.micro_batches == 8);
    }
  }
}

TEST_CASE("a launch file is told by its content, and other files are none") {
  CHECK(launch_trainer_of("torchrun x.py --num-layers 3 --seq-length 8", "a.sh") ==
        find_trainer_row("megatron"));
  // One flag is any program's.
  CHECK(launch_trainer_of("torchrun x.py --num-layers 3", "a.sh") == nullptr);
  CHECK(launch_trainer_of("import torchtitan\nParallelismConfig(", "a.py") ==
        find_trainer_row("torchtitan"));
  CHECK(launch_trainer_of("import nemo\nParallelismConfig(", "a.py") == nullptr);
  CHECK(launch_trainer_of("--tensor-model-parallel-size 2", "flags.txt") ==
        find_trainer_row("megatron"));
  CHECK(launch_trainer_of("[parallelism]\n", "job") == find_trainer_row("torchtitan"));
  CHECK(launch_trainer_of("NGPU=8 ./run_train.sh", "a.sh") == find_trainer_row("torchtitan"));
  CHECK(launch_trainer_of(R"({"train_batch_size": 8})", "a.json") == find_trainer_row("deepspeed"));
  CHECK(launch_trainer_of(R"({"format": "penstock.plan/1"})", "a.json") == nullptr);
  CHECK(launch_trainer_of("# Title\n--num-layers", "README.md") == nullptr);
  CHECK(launch_trainer_of("", "a") == nullptr);
}

TEST_CASE("cuts have what stands before and behind the layers at the ends") {
  CHECK(cuts_of_layers({"embedding", "layer.0", "layer.1", "layer.2", "norm", "head"}, {1, 2}) ==
        std::vector<int>{0, 2, 6});
  CHECK(cuts_of_layers({"embedding", "layer.0", "head"}, {1, 1}).empty());
  CHECK(cuts_of_layers({"a", "b"}, {1}).empty());
}

TEST_CASE("findings are words, annotations and JSON") {
  const LintReport report = lint("x.py --num-layers 30 \\\n --pipeline-model-parallel-size 4\n",
                                 "a,b.sh", *find_trainer_row("megatron"), {});
  const std::string text = lint_text(report, "a,b.sh", Screen{});
  CHECK(text.starts_with(
      "error: 30 layers cannot be split evenly over 4 stages                  [E010]\n"
      "  --> a,b.sh:2  --pipeline-model-parallel-size 4\n"));
  CHECK(text.find("\nhelp: --pipeline-model-parallel-layout \"Et*8|t*8|t*7|t*7L\"\n") !=
        std::string::npos);
  CHECK(lint_annotations(report, "a,b.sh")
            .starts_with("::error file=a%2Cb.sh,line=2,title=E010::30 layers cannot"));
  const Json json = to_json(report, "a,b.sh");
  const Json& finding = json.find("findings")->elements().at(0);
  CHECK(finding.find("code")->text() == "E010");
  CHECK(finding.find("severity")->text() == "error");
  CHECK(finding.find("file")->text() == "a,b.sh");
  CHECK(finding.find("line")->text() == "2");
  CHECK(finding.find("seen_in")->text() == "Megatron-LM #1304");
}

}  // namespace
}  // namespace penstock
