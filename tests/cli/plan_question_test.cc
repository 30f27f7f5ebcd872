#include "cli/io/plan_question.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/io/files.h"
#include "cli/options/question.h"
#include "cli/verbs/verbs.h"
#include "core/values/json_reader.h"
#include "costmodel/price_stages.h"
#include "tests/core/temporary_folder.h"
#include "tests/watched.h"

using namespace penstock;
using penstock::tests::TemporaryFolder;

namespace {

Loaded<PlanFile> plan_in(const TemporaryFolder& folder, Arguments arguments) {
  arguments.insert(arguments.end(), {"-o", folder / "plan.json"});
  REQUIRE(run_penstock(arguments).exit == 0);
  return load_plan(folder / "plan.json");
}

Loaded<PlanFile> measured_plan(const TemporaryFolder& folder) {
  write_file(folder / "p.json", read_file("data/profiles/gpt-6.7b.a100-40gb.json"));
  write_file(folder / "c.json", read_file("data/clusters/a100-40gb-p4d-8x8.json"));
  return plan_in(folder, {"plan", folder / "p.json", "--cluster", folder / "c.json", "--gpus", "8",
                          "--global-batch", "16", "--reserve-gib", "1.5", "--schedule", "1f1b",
                          "--pin", "PP=4,TP=1,mbs=1"});
}

}  // namespace

TEST_CASE("the files that a plan names make its question again, also beside the plan") {
  const TemporaryFolder folder;
  Loaded<PlanFile> plan = measured_plan(folder);
  const PlanQuestion again = question_of(plan.value, plan.file.path);
  REQUIRE(again.why_not.empty());
  CHECK(again.question.request.gpus == plan.value.plan.devices());
  CHECK(again.question.request.global_batch == 16);
  CHECK(again.question.reserve == Bytes{1610612736});
  CHECK(again.question.cluster.value == load_cluster(folder / "c.json").value);

  plan.value.profile.path = "elsewhere/p.json";
  plan.value.cluster_file.path = "c.json";
  CHECK(question_of(plan.value, plan.file.path).why_not.empty());
}

TEST_CASE("what a trainer's steps were measured to cost counts in plans for it alone") {
  const TemporaryFolder folder;
  write_file(folder / "p.json", read_file("data/profiles/opt-350m.json"));
  std::string cluster = read_file("data/clusters/gh200-96gb-16x4.json");
  cluster.insert(cluster.find("\"levels\""),
                 R"("measured_executor": {"version": 1, "trainer": "penstock", "per_action_us": 3,
      "per_step_us": 50, "messages": [{"bytes": 1024, "send_us": 40, "receive_us": 60}]}, )");
  write_file(folder / "c.json", cluster);
  const auto planned = [&](std::vector<std::string> more) {
    Arguments arguments{"predict",         folder / "p.json", "--cluster",
                        folder / "c.json", "--layout",        "PP=4 mbs=1 gb=16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return plan_in(folder, arguments);
  };
  const Loaded<PlanFile> others = planned({}), ours = planned({"--for", "penstock"});
  CHECK(others.value.executor == ExecutorModel());
  CHECK(ours.value.executor.name == "penstock");
  CHECK(ours.value.executor.per_action == Duration{3'000});
  CHECK(ours.value.executor.per_step == Duration{50'000});
  const auto forward = [](const Loaded<PlanFile>& plan, int stage) {
    return plan.value.prices.compute_of(stage, 0).forward.duration;
  };
  CHECK(forward(ours, 0) == forward(others, 0) + Duration{40'000});
  CHECK(forward(ours, 1) == forward(others, 1) + Duration{100'000});
  CHECK(question_of(ours.value, ours.file.path).why_not == "");
  const Loaded<PlanFile> ideal = planned({"--for", "penstock", "--executor", "ideal"});
  CHECK(ideal.value.prices == others.value.prices);
  CHECK(planned({"--for", "megatron"}).value.executor.name == "sender-blocks (as megatron)");
}

TEST_CASE("a plan that was asked for with measured runs makes its question again") {
  const TemporaryFolder folder;
  write_file(folder / "config.json", read_file("data/models/llama-2-7b.json"));
  const Loaded<PlanFile> plan = plan_in(
      folder, {"predict", folder / "config.json", "--device", "h100-sxm", "--layout",
               "TP=2 PP=4 mbs=1 gb=32", "--measured", "TP=2 PP=4 mbs=1 gb=64: 3.3s, 40GiB"});
  REQUIRE(plan.value.calibration);
  CHECK(plan.value.calibration->factors.compute != 1.0);
  const PlanQuestion again = question_of(plan.value, plan.file.path);
  CHECK(again.why_not == "");
  CHECK(again.question.cluster.value.calibration == plan.value.calibration);
}

TEST_CASE("options of an estimate are found again, several of them too") {
  const TemporaryFolder folder;
  const auto again = [&](const std::string& model, const std::string& layout,
                         const Arguments& options) {
    write_file(folder / "config.json", read_file("data/models/" + model + ".json"));
    Arguments arguments{"predict", folder / "config.json", "--device", "h100-sxm", "--layout",
                        layout};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Loaded<PlanFile> plan = plan_in(folder, arguments);
    const PlanQuestion noted = question_of(plan.value, plan.file.path);
    plan.value.estimate_options.clear();  // as older programs wrote it
    CHECK(question_of(plan.value, plan.file.path).why_not == noted.why_not);
    return noted;
  };
  const std::string sharded = "DP=8 sharding=fsdp mbs=1 gb=8", divided = "TP=2 PP=2 mbs=1 gb=16";
  const PlanQuestion found =
      again("gpt2", divided, {"--optimizer-bytes", "16", "--loss", "in-place"});
  CHECK(found.why_not == "");
  REQUIRE(found.question.estimated);
  CHECK(found.question.estimated->request.optimizer_bytes == 16);
  CHECK(found.question.estimated->request.loss == LossKind::kInPlace);
  CHECK(again("gpt2", sharded,
              {"--fsdp-prefetch", "backward-post", "--optimizer-bytes", "2", "--loss", "eager"})
            .why_not == "");
  if (testing::kWatched) return;
  for (const Arguments& options : {Arguments{"--optimizer-bytes", "10", "--loss", "in-place"},
                                   Arguments{"--kernels", "eager", "--attention", "flash2"},
                                   Arguments{"--precision", "float32", "--optimizer-bytes", "0"},
                                   Arguments{"--gradients", "bfloat16", "--optimizer-bytes", "3",
                                             "--kernels", "eager", "--loss", "apart"}}) {
    CAPTURE(options.back());
    CHECK(again("gpt2", divided, options).why_not == "");
  }
  // PyTorch's context parallelism has prices of its own, also without tensor parallelism.
  CHECK(
      again("llama-3-8b", "CP=2 DP=4 sharding=fsdp mbs=1 gb=8", {"--for", "torchtitan"}).why_not ==
      "");
}

// Residuals and norms of a layer are whole on every rank then, which no price alone would tell.
TEST_CASE("a plan without sequence parallelism says so, and is read again as it was") {
  const TemporaryFolder folder;
  const Loaded<PlanFile> plan = plan_in(
      folder, {"predict", "data/models/llama-2-7b.json", "--device", "a100-80gb", "--layout",
               "TP=8 DP=2 mbs=1 gb=8 seq=4096 zero1=on", "--sequence-parallelism", "off"});
  const std::vector<EstimateOption> asked{{"sequence-parallelism", "off"}};
  CHECK(plan.value.estimate_options == asked);
  const PlanQuestion again = question_of(plan.value, plan.file.path);
  CHECK(again.why_not == "");
  REQUIRE(again.question.estimated);
  CHECK_FALSE(again.question.estimated->request.sequence_parallel);
}

// No trying finds that tokens were 1.37 times as many on one rank.
TEST_CASE("how experts' tokens were asked for stands in the plan") {
  const TemporaryFolder folder;
  Loaded<PlanFile> plan =
      plan_in(folder, {"predict", "data/models/deepseek-v2-lite.json", "--device", "h200-sxm",
                       "--layout", "DP=4 EP=4 mbs=1 gb=8 zero1=on", "--expert-imbalance", "1.37",
                       "--expert-dispatch", "copies", "--gradients", "bfloat16"});
  const std::vector<EstimateOption> asked{
      {"gradients", "bfloat16"}, {"expert-imbalance", "1.37"}, {"expert-dispatch", "copies"}};
  CHECK(plan.value.estimate_options == asked);
  const PlanQuestion again = question_of(plan.value, plan.file.path);
  CHECK(again.why_not == "");
  REQUIRE(again.question.estimated);
  CHECK(again.question.estimated->request.expert_imbalance == 1.37);
  CHECK_FALSE(again.question.estimated->request.dispatches_once);
  plan.value.estimate_options = {{"of-another-version", "1"}};
  CHECK(question_of(plan.value, plan.file.path).why_not.find("other options") != std::string::npos);
}

// Of a plan with C = EP = 1, plans with others may be asked about: `explain --why-not` found none.
TEST_CASE("a plan's question is asked again with all degrees that are searched") {
  const TemporaryFolder folder;
  const Loaded<PlanFile> plan =
      plan_in(folder, {"predict", "data/models/deepseek-v2-lite.json", "--device", "h200-sxm",
                       "--layout", "TP=2 DP=4 mbs=1 gb=8 zero1=on"});
  constexpr bool kAllDegrees = true;
  const PlanQuestion again = question_of(plan.value, plan.file.path, kAllDegrees);
  REQUIRE(again.why_not == "");
  const ModelProfile& profile = again.question.profile.value;
  const std::vector<int> contexts = measured_context_degrees(profile, plan.value.plan.device);
  CHECK(contexts == searched_contexts());
  std::set<int> experts;
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& row : type.measurements) experts.insert(row.expert_degree);
  }
  CHECK(experts.contains(64));  // its 64 experts, one on each
}

// At 0.88 s by the estimate. A run that took five times as long is hardly believed, and says
// little.
TEST_CASE("an interval as wide as the step does not begin at nothing") {
  const std::string layout = "TP=2 PP=2 DP=2 mbs=1 gbs=32 seq=2048";
  const Answer answer =
      run_penstock({"predict", "data/models/llama-3-8b.json", "--device", "h100-sxm", "--layout",
                    layout, "--measured", layout + ": 4.41s", "--json"});
  REQUIRE(answer.exit == 0);
  const Json json = parse_json(answer.text, "answer");
  JsonReader prediction(*json.find("prediction"), "answer");
  CHECK(prediction.at("step_time_low_ns").integer(0, 1'000'000'000'000) > 100'000'000);
}

TEST_CASE("runs of other degrees than the layout's can be fitted to") {
  const TemporaryFolder folder;
  const Loaded<PlanFile> plan =
      plan_in(folder, {"predict", "data/models/deepseek-v2-lite.json", "--device", "h200-sxm",
                       "--layout", "DP=4 EP=2 CP=2 mbs=1 gb=8 zero1=on", "--measured",
                       "DP=8 EP=4 CP=1 mbs=1 gb=8 zero1=on: 0.6s"});
  REQUIRE(plan.value.calibration);
  const PlanQuestion again = question_of(plan.value, plan.file.path);
  CHECK(again.why_not == "");
}

TEST_CASE("files that are gone or have changed make no question, nor does another's plan") {
  const TemporaryFolder folder;
  const Loaded<PlanFile> plan = measured_plan(folder);
  Loaded<PlanFile> other = plan;
  other.value.prices.compute.front().forward.duration += Duration{1};
  CHECK(
      question_of(other.value, other.file.path).why_not.starts_with((folder / "p.json") + " and "));
  other = plan;
  other.value.section_names.back() = "tail";
  CHECK_FALSE(question_of(other.value, other.file.path).why_not.empty());

  write_file(folder / "c.json", read_file(folder / "c.json") + "\n");
  CHECK(question_of(plan.value, plan.file.path).why_not ==
        (folder / "c.json") + " has changed since the plan was made");
  std::filesystem::remove(folder / "p.json");
  CHECK(question_of(plan.value, plan.file.path).why_not == (folder / "p.json") + " is not here");
}

TEST_CASE("an estimate is made again: the device, the precision and the size that was assumed") {
  const TemporaryFolder folder;
  for (const char* gpus : {"3", "8", "20"}) {
    for (const char* precision : {"bfloat16", "float32"}) {
      const Loaded<PlanFile> plan =
          plan_in(folder, {"plan", "data/models/gpt2.json", "--device", "h100-sxm", "--gpus", gpus,
                           "--global-batch", "32", "--precision", precision, "--schedule", "1f1b",
                           "--pin", "TP=1,mbs=1"});
      const PlanQuestion again = question_of(plan.value, plan.file.path);
      REQUIRE_MESSAGE(again.why_not.empty(), again.why_not);
      CHECK(name_of(again.question.estimated->request.arithmetic) == precision);
      CHECK(again.question.cluster.value.name == plan.value.cluster.name);
    }
  }
}

TEST_CASE("an estimate for two device types is made again, each in its own precision") {
  const TemporaryFolder folder;
  write_file(folder / "c.json", read_file("data/clusters/a100-40gb-2x4-v100-16gb-4x4.json"));
  const Loaded<PlanFile> plan =
      plan_in(folder, {"predict", "data/models/gpt2.json", "--cluster", folder / "c.json",
                       "--layout", "PP=2 mbs=2 seq=1024 replicas=a100-40gb:8/v100-16gb:4"});
  CHECK(plan.value.plan.kinds() == 2);
  const PlanQuestion again = question_of(plan.value, plan.file.path);
  CHECK(again.why_not == "");
  REQUIRE(again.question.estimated);
  CHECK(again.question.estimated->also_for == std::vector<std::string>{"v100-sxm-16gb in float16"});
  CHECK(run_penstock({"check", folder / "plan.json"}).exit == 0);
  CHECK(run_penstock({"explain", folder / "plan.json"}).exit == 0);
}
