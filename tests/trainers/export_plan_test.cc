// Every file is read back by a reader of the target's own rules, written here, and must say what
// the plan says.
#include "trainers/exports/export_plan.h"

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/architecture.h"
#include "core/values/json.h"
#include "tests/trainers/plan_of_layers.h"
#include "trainers/exports/export_parts.h"
#include "trainers/pytorch/pipeline_csv.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

PlanFile plan_with(int pipeline, int chunks, int layers, std::vector<int> cuts) {
  PlanFile file = plan_of_layers(pipeline, chunks, layers, std::move(cuts));
  file.plan.placement = Placement::kDataInner;
  return file;
}

Export exported(const PlanFile& plan, const char* target, const char* version,
                ExportRequest request = {}) {
  request.version = version;
  request.plan_path = "plan.json";
  request.plan_hash = "fnv1a64:1";
  request.tool_version = "0.1.0";
  request.command = "penstock export plan.json";
  return export_plan(*find_trainer_row(target), plan, request);
}

const std::string& text_of(const Export& answer, const std::string& name) {
  for (const NamedText& file : answer.files) {
    if (file.name == name) return file.text;
  }
  FAIL("no file " << name);
  return answer.files.front().text;
}

// Megatron-LM's way with a layout: commas go, (X)*n once, c*n, then one piece per stage.
std::vector<std::string> parse_layout(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  const std::regex group(R"(\(([^()]+)\)\*(\d+))");
  std::smatch match;
  while (std::regex_search(text, match, group)) {
    std::string repeated;
    for (int i = 0; i < std::stoi(match[2]); ++i) repeated += match[1];
    text = match.prefix().str() + repeated + match.suffix().str();
  }
  const std::regex letter(R"((.)\*(\d+))");
  while (std::regex_search(text, match, letter)) {
    text = match.prefix().str() + std::string(std::stoul(match[2]), match[1].str()[0]) +
           match.suffix().str();
  }
  std::vector<std::string> pieces{""};
  for (const char c : text) {
    if (c == '|') {
      pieces.emplace_back();
    } else {
      REQUIRE(std::string("EtmL").find(c) != std::string::npos);
      pieces.back() += c;
    }
  }
  return pieces;
}

std::map<std::string, std::string> flags_of(const std::string& script) {
  std::map<std::string, std::string> flags;
  const std::regex line(R"re(\n  (--[a-z0-9-]+)(?: "?([^"\n]*)"?)?(?=\n))re");
  for (std::sregex_iterator at(script.begin(), script.end(), line), end; at != end; ++at) {
    REQUIRE(flags.emplace((*at)[1], (*at)[2]).second);
  }
  return flags;
}

// The layout of a plan, judged by Megatron-LM's rules; its decoder layers per stage.
std::vector<long> layers_in_layout(const PlanFile& file, int layers) {
  const Export answer = exported(file, "megatron", "0.20");
  REQUIRE(answer.why_not == "");
  auto flags = flags_of(text_of(answer, "megatron_args.sh"));
  CHECK(std::stoi(flags["--global-batch-size"]) == 32);
  CHECK(std::stoi(flags["--num-layers"]) == layers);
  CHECK(flags.count("--num-virtual-stages-per-pipeline-rank") == 0);
  CHECK(flags.count("--num-layers-per-virtual-pipeline-stage") == 0);
  const auto pieces = parse_layout(flags["--pipeline-model-parallel-layout"]);
  CHECK(static_cast<int>(pieces.size()) == file.plan.stages());
  std::string all;
  std::vector<long> counts;
  for (const std::string& piece : pieces) {
    CHECK_FALSE(piece.empty());
    all += piece;
    counts.push_back(std::count(piece.begin(), piece.end(), 't'));
  }
  CHECK(all == 'E' + std::string(static_cast<std::size_t>(layers), 't') + 'L');
  return counts;
}

TEST_CASE("the parser of layouts reads the published ones") {
  CHECK(parse_layout("Et*3|(tt|)*29,m|L").size() == 32);
  CHECK(parse_layout("Et*2|(t*2|)*34,t*3|(t*2|)*3,tL").size() == 40);
}

TEST_CASE("Megatron-LM's layout has the plan's layers on every stage") {
  CHECK(layers_in_layout(plan_with(4, 1, 10, {0, 3, 6, 9, 12}), 10) ==
        std::vector<long>{2, 3, 3, 2});
  // Equal stages in a row are rolled up.
  const PlanFile many = plan_with(4, 2, 16, {0, 3, 5, 7, 9, 11, 13, 15, 18});
  CHECK(layers_in_layout(many, 16) == std::vector<long>{2, 2, 2, 2, 2, 2, 2, 2});
  const std::string script = text_of(exported(many, "megatron", "0.20"), "megatron_args.sh");
  CHECK(script.find("\"Et*2|(t*2|)*6t*2L\"") != std::string::npos);
  // M = 8 and P = 4: PyTorch's groups have 4.
  CHECK(script.find("--microbatch-group-size-per-virtual-pipeline-stage 4\n") != std::string::npos);
  // An embedding or a head alone on a stage.
  CHECK(layers_in_layout(plan_with(3, 1, 4, {0, 1, 5, 6}), 4) == std::vector<long>{0, 4, 0});
}

TEST_CASE("Megatron-LM's flags follow placement, sharding and recompute") {
  PlanFile file = plan_with(4, 1, 10, {0, 3, 6, 9, 12});
  file.plan.zero1 = true;
  file.plan.recompute = "full";
  file.plan.placement = Placement::kPipelineInner;
  const auto flags = flags_of(text_of(exported(file, "megatron", "0.20"), "megatron_args.sh"));
  CHECK(flags.count("--use-distributed-optimizer") == 1);
  CHECK(flags.count("--use-tp-pp-dp-mapping") == 1);
  CHECK(flags.at("--recompute-granularity") == "full");
  file.plan.recompute = "offload";
  CHECK(exported(file, "megatron", "0.20").why_not ==
        "Megatron-LM has no recompute mode 'offload'");
}

TEST_CASE("without sequence parallelism where the trainer can, and said where it cannot") {
  PlanFile file = plan_with(2, 1, 4, {0, 3, 6});
  file.plan.tensor = 2;
  const auto megatron = [&](const ExportRequest& request) {
    return exported(file, "megatron", "0.20", request);
  };
  const auto has_flag = [](const Export& answer) {
    return flags_of(text_of(answer, "megatron_args.sh")).count("--sequence-parallel") == 1;
  };
  CHECK(has_flag(megatron({})));
  file.estimate_options = {{"sequence-parallelism", "off"}};
  CHECK_FALSE(has_flag(megatron({})));
  ExportRequest experts;
  experts.model.emplace();
  experts.model->json = Json::object();
  experts.model->architecture.experts.emplace();
  CHECK(is_sequence_parallel(file, experts));  // Megatron-LM refuses experts without it
  CHECK(text_of(exported(file, "torchtitan", "head"), "penstock_plan.py")
            .find("config.parallelism.enable_sequence_parallel = False\n") != std::string::npos);
  const Export release = exported(file, "torchtitan", "0.2");
  REQUIRE_FALSE(release.notes.empty());
  CHECK(std::any_of(release.notes.begin(), release.notes.end(), [](const std::string& note) {
    return note.find("which torchtitan 0.2 always has where TP > 1") != std::string::npos;
  }));
}

TEST_CASE("recompute in some layers of each stage is Megatron-LM's block where it is one number") {
  PlanFile file = plan_with(4, 1, 10, {0, 3, 6, 9, 12});
  file.plan.recompute = "full";
  file.plan.recompute_sections = {3, 2, 2, 2};  // the embedding counts, and makes no difference
  const auto flags = flags_of(text_of(exported(file, "megatron", "0.20"), "megatron_args.sh"));
  CHECK(flags.at("--recompute-method") == "block");
  CHECK(flags.at("--recompute-num-layers") == "2");
  file.plan.recompute_sections = {3, 2, 1, 0};
  const Export refused = exported(file, "megatron", "0.20");
  CHECK(refused.why_not.find("the same number of layers on every stage") != std::string::npos);
  REQUIRE(refused.nearest);
  CHECK(refused.nearest->recompute_sections == std::vector<int>{3, 2, 2, 2});
  const std::vector<std::pair<const char*, const char*>> others{{"deepspeed", "0.19"},
                                                                {"torchtitan", "0.2"}};
  for (const auto& [target, version] : others) {
    const Export other = exported(file, target, version);
    CHECK(other.why_not.find("--recompute full") != std::string::npos);
    REQUIRE(other.nearest);
    CHECK(other.nearest->recompute_sections.empty());
  }
}

TEST_CASE("what Megatron-LM's layout cannot say is refused, with cuts that it can") {
  // The norm alone on stage 1 would be an empty piece.
  PlanFile file = plan_with(3, 1, 4, {0, 5, 6, 7});
  file.section_names.insert(file.section_names.end() - 1, "norm");
  const Export refusal = exported(file, "megatron", "0.20");
  CHECK(refusal.files.empty());
  CHECK(refusal.why_not.starts_with("stage 1 has no layer"));
  REQUIRE(refusal.nearest.has_value());
  file.plan = *refusal.nearest;
  CHECK(file.plan.cuts == std::vector<int>{0, 4, 5, 7});
  CHECK(exported(file, "megatron", "0.20").why_not == "");
  CHECK(exported(tiny_plan(), "megatron", "0.20").why_not.starts_with("Megatron-LM counts layers"));
}

TEST_CASE("interleaved groups are those of Megatron-LM, or refused") {
  PlanFile file = plan_with(4, 2, 16, {0, 3, 5, 7, 9, 11, 13, 15, 18});
  file.plan.global_batch = 12;  // M = 3 < P
  CHECK(exported(file, "megatron", "0.20")
            .why_not.find("PP = 4, and groups of 3 divide 3 micro-batches") != std::string::npos);
  file.plan.global_batch = 44;  // M = 11, groups of 4 and a rest of 3 < P
  file.plan.group = 4;
  CHECK(exported(file, "megatron", "0.20").why_not.find("groups of 4 divide") != std::string::npos);
}

// Of TOML and of Python alike: the strings between the list's brackets, by inner list.
std::vector<std::vector<std::string>> modules_in(const std::string& text) {
  const std::size_t at = text.find("module_fqns_per_model_part = [");
  REQUIRE(at != std::string::npos);
  std::vector<std::vector<std::string>> parts;
  const std::string list = text.substr(at, text.find("\n]", at) - at);
  const std::regex inner(R"(\n +\[([^\]]*)\])"), name("\"([^\"]*)\"");
  for (std::sregex_iterator part(list.begin(), list.end(), inner), end; part != end; ++part) {
    const std::string names = (*part)[1];
    std::vector<std::string>& modules = parts.emplace_back();
    for (std::sregex_iterator one(names.begin(), names.end(), name); one != end; ++one) {
      modules.push_back((*one)[1]);
    }
  }
  return parts;
}

TEST_CASE("torchtitan's module lists cover the model exactly once") {
  const PlanFile file = plan_with(2, 2, 4, {0, 2, 3, 5, 6});
  const Export answer = exported(file, "torchtitan", "0.2");
  const std::string& toml = text_of(answer, "torchtitan.toml");
  const auto parts = modules_in(toml);
  CHECK(parts == std::vector<std::vector<std::string>>{{"tok_embeddings", "layers.0"},
                                                       {"layers.1"},
                                                       {"layers.2", "layers.3"},
                                                       {"norm", "output"}});
  CHECK(toml.find("pipeline_parallel_schedule = \"PipelineScheduleMulti\"\n") != std::string::npos);
  CHECK(toml.find("local_batch_size = 16\nglobal_batch_size = 32\n") != std::string::npos);
  CHECK(toml.find("pipeline_parallel_microbatch_size = 2\n") != std::string::npos);

  const std::string python = text_of(exported(file, "torchtitan", "head"), "penstock_plan.py");
  CHECK(python.find("[\"norm\", \"lm_head\"]") != std::string::npos);
  CHECK(python.find("num_pp_microbatches = 8\n") != std::string::npos);
  CHECK(python.find("num_tokens_per_microbatch_per_dp_rank = 256\n") != std::string::npos);
  CHECK(python.find("num_tokens_per_train_step = 4096\n") != std::string::npos);
}

TEST_CASE("without a pipeline torchtitan's local batch is one forward") {
  PlanFile file = plan_with(1, 1, 4, {0, 6});  // b = 2, M = 8, D = 2
  const std::string toml = text_of(exported(file, "torchtitan", "0.2"), "torchtitan.toml");
  CHECK(toml.find("local_batch_size = 2\nglobal_batch_size = 32\n") != std::string::npos);
  CHECK(toml.find("pipeline_parallel_schedule") == std::string::npos);
}

TEST_CASE("torchtitan trains in 16 bits, however its version has them") {
  PlanFile file = plan_with(2, 1, 4, {0, 3, 6});
  std::string toml = text_of(exported(file, "torchtitan", "0.2"), "torchtitan.toml");
  CHECK(toml.find("mixed_precision_param = \"bfloat16\"\n") != std::string::npos);
  // 0.x has no replicas of divided models: they are sharded.
  CHECK(toml.find("data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 2\n") !=
        std::string::npos);
  CHECK(toml.find("\ndtype") == std::string::npos);
  const std::string python = text_of(exported(file, "torchtitan", "head"), "penstock_plan.py");
  CHECK(python.find("data_parallel_replicate_degree = 2\n") != std::string::npos);
  CHECK(python.find("config.training.mixed_precision_param = \"bfloat16\"\n") != std::string::npos);
  CHECK(python.find("config.training.disable_cuda_graphs = True\n") != std::string::npos);
  CHECK(python.find("seq_len") == std::string::npos);

  file.plan.data = 1;
  file.plan.global_batch = 16;
  toml = text_of(exported(file, "torchtitan", "0.2"), "torchtitan.toml");
  CHECK(toml.find("\ndtype = \"bfloat16\"\n") != std::string::npos);
  CHECK(exported(file, "torchtitan", "0.1").why_not.find("in float32") != std::string::npos);
  ExportRequest whole;
  whole.precision = "float32";
  toml = text_of(exported(file, "torchtitan", "0.2", whole), "torchtitan.toml");
  CHECK(toml.find("mixed_precision_param = \"float32\"\n") != std::string::npos);
  CHECK(toml.find("\ndtype") == std::string::npos);
}

TEST_CASE("torchtitan 0.1 splits in front of layers, and is told so otherwise") {
  const Export answer = exported(plan_with(2, 2, 6, {0, 2, 4, 6, 8}), "torchtitan", "0.1");
  CHECK(
      text_of(answer, "torchtitan.toml")
          .find("pipeline_parallel_split_points = [\"layers.1\", \"layers.3\", \"layers.5\"]\n") !=
      std::string::npos);
  PlanFile file = plan_with(2, 2, 4, {0, 2, 3, 5, 6});
  const Export refusal = exported(file, "torchtitan", "0.1");
  CHECK(refusal.why_not.starts_with("stage 3 has no layer"));
  REQUIRE(refusal.nearest.has_value());
  CHECK(refusal.nearest->cuts == std::vector<int>{0, 2, 3, 4, 6});
  file.plan = *refusal.nearest;
  CHECK(exported(file, "torchtitan", "0.1").why_not == "");

  const Export bare = exported(plan_with(2, 1, 4, {0, 1, 6}), "torchtitan", "0.1");
  CHECK(bare.why_not.starts_with("stage 0 has no layer"));
  REQUIRE(bare.nearest.has_value());
  CHECK(bare.nearest->cuts == std::vector<int>{0, 2, 6});
}

TEST_CASE("a V is written under the only name that makes torchtitan place it so") {
  PlanFile file = plan_with(2, 2, 6, {0, 2, 4, 6, 8});
  file.plan.stage_map = StageMap::kV;
  CHECK(text_of(exported(file, "torchtitan", "0.2"), "torchtitan.toml").find("\"ZBVZeroBubble\"") !=
        std::string::npos);
}

TEST_CASE("PyTorch's CSV says the plan's lists, in the names of its version") {
  const PlanFile file = tiny_plan();
  const std::string csv = text_of(exported(file, "pytorch", "2.6"), "schedule.csv");
  CHECK(csv == "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  const PipelineCsv back = read_pipeline_csv(csv, "schedule.csv");
  CHECK(back.ranks() == 2);
  CHECK(back.micro_batches == 2);
  const std::string old = text_of(exported(file, "pytorch", "2.5"), "schedule.csv");
  CHECK(old == "0F0,0F1,0BW0,0BW1\n1F0,1BW0,1F1,1BW1\n");
  CHECK(read_pipeline_csv(old, "schedule.csv", LegacyCsv::kTranslate) == back);
}

TEST_CASE("DeepSpeed's product holds, and its module cuts as the plan does") {
  PlanFile file = plan_with(4, 1, 10, {0, 3, 6, 9, 12});
  file.plan.zero1 = true;
  const Export answer = exported(file, "deepspeed", "0.19");
  const Json config = parse_json(text_of(answer, "ds_config.json"), "ds_config.json");
  const auto number = [&config](const char* key) { return std::stoi(config.find(key)->text()); };
  CHECK(number("train_batch_size") == number("train_micro_batch_size_per_gpu") *
                                          number("gradient_accumulation_steps") * file.plan.data);
  CHECK(config.find("zero_optimization")->find("stage")->text() == "1");
  const std::string& module = text_of(answer, "penstock_pipeline.py");
  CHECK(module.find("PARTS = [0, 3, 6, 9, 12]") != std::string::npos);
  CHECK(module.find("self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])") !=
        std::string::npos);
  CHECK(module.find("ProcessTopology(axes=[\"pipe\", \"data\"], dims=[4, 2])") !=
        std::string::npos);
  file.plan.recompute = "selective";
  CHECK(exported(file, "deepspeed", "0.19").why_not.starts_with("DeepSpeed's pipeline recomputes"));
}

TEST_CASE("Varuna's map names every rank once, replicas of a stage together") {
  PlanFile file = plan_with(2, 1, 4, {0, 3, 6});
  file.plan.placement = Placement::kPipelineInner;
  const std::string script = text_of(exported(file, "varuna", "1.0"), "varuna_args.sh");
  // Rank r is stage r mod P, as Varuna's own "clustered" map.
  CHECK(script.find("--stage_to_rank_map=0,2;1,3;\"") != std::string::npos);
  CHECK(script.find("--chunk_size=2\n") != std::string::npos);
  CHECK(script.find("--batch-size=16\n") != std::string::npos);
  file.plan.placement = Placement::kDataInner;
  CHECK(text_of(exported(file, "varuna", "1.0"), "varuna_args.sh")
            .find("--stage_to_rank_map=0,1;2,3;\"") != std::string::npos);

  file.plan.cuts = {0, 2, 6};
  const Export refusal = exported(file, "varuna", "1.0");
  CHECK(refusal.why_not.starts_with("Varuna gives every stage the same number of sections"));
  CHECK(refusal.nearest->cuts == std::vector<int>{0, 3, 6});
}

// megatron/training/arguments.py and Megatron-Bridge's training/config.py assert it.
TEST_CASE("Megatron-FSDP starts without CUDA_DEVICE_MAX_CONNECTIONS=1, with one replica, too") {
  PlanFile file = plan_with(1, 1, 10, {0, 12});
  for (const auto& [target, version] :
       {std::pair{"megatron", "0.20"}, {"megatron-bridge", "0.6"}}) {
    const std::string trainer = target;
    CAPTURE(trainer);
    for (const int data : {1, 4}) {
      file.plan.data = data;
      file.plan.global_batch = 4 * file.plan.micro_batch_size;
      file.plan.zero1 = true;
      file.plan.sharding = Sharding::kParameters;
      const Export sharded = exported(file, target, version);
      const std::string& run = text_of(sharded, "run.sh");
      CHECK(run.find("unset CUDA_DEVICE_MAX_CONNECTIONS") != std::string::npos);
      file.plan.sharding = Sharding::kState;
      const Export plain = exported(file, target, version);
      CHECK(text_of(plain, "run.sh").find("CUDA_DEVICE_MAX_CONNECTIONS:-1") != std::string::npos);
    }
  }
}

TEST_CASE("precision is each trainer's own word for it, and gradients are the plan's") {
  PlanFile file = plan_with(4, 1, 10, {0, 3, 6, 9, 12});
  for (StepPrice& stage : file.prices.step) {
    stage.parameters = Bytes{20};
    stage.gradients = Bytes{40};
  }
  ExportRequest half;
  half.precision = "float16";
  auto flags = flags_of(text_of(exported(file, "megatron", "0.20"), "megatron_args.sh"));
  CHECK(flags.count("--bf16") == 1);
  CHECK(flags.count("--grad-reduce-in-bf16") == 0);
  flags = flags_of(text_of(exported(file, "megatron", "0.20", half), "megatron_args.sh"));
  CHECK(flags.count("--fp16") == 1);
  const Export deepspeed = exported(file, "deepspeed", "0.19");
  const std::string& config = text_of(deepspeed, "ds_config.json");
  CHECK(config.find(R"("bf16": {"enabled": true})") != std::string::npos);
  CHECK(config.find(R"("grad_accum_dtype": "fp32")") != std::string::npos);
  CHECK(config.find(R"("stage": 1)") != std::string::npos);
  CHECK(deepspeed.notes.size() == 2);  // one says that ZeRO-1 came with it
  // Layers that multiply 8 bits hold weights in 16: without bf16 the job would train in 32.
  ExportRequest eight;
  eight.precision = "float8";
  const Export deepspeed8 = exported(file, "deepspeed", "0.19", eight);
  CHECK(text_of(deepspeed8, "ds_config.json") == config);
  CHECK(deepspeed8.notes.size() == 3);  // one says that the layers must do so themselves
  const std::string recipe =
      text_of(exported(file, "megatron-bridge", "0.6"), "penstock_recipe.py");
  CHECK(recipe.find("get_mixed_precision_config(\"bf16_mixed\")") != std::string::npos);
  CHECK(recipe.find("grad_reduce_in_fp32 = True\n") != std::string::npos);
  CHECK(recipe.find("pipeline_model_parallel_layout = \"Et*2|t*3|t*3|t*2L\"\n") !=
        std::string::npos);

  for (StepPrice& stage : file.prices.step) stage.gradients = Bytes{20};
  flags = flags_of(text_of(exported(file, "megatron", "0.20"), "megatron_args.sh"));
  CHECK(flags.count("--grad-reduce-in-bf16") == 1);
  CHECK(text_of(exported(file, "deepspeed", "0.19"), "ds_config.json").find("data_types") ==
        std::string::npos);
}

// 10 parameters in 16 bits are 20 bytes. ZeRO-2 over 4 replicas keeps a quarter of 40 bytes of
// gradients in 32 bits, or of 20 in 16; ZeRO-3 divides the weights as well.
TEST_CASE("gradients that are divided have the type of the whole ones") {
  PlanFile file = plan_with(1, 1, 4, {0, 12});
  file.plan.data = 4;
  file.plan.zero1 = true;
  file.plan.sharding = Sharding::kGradients;
  const auto reduces_in_16_bits = [&file](int parameters, int gradients) {
    for (StepPrice& stage : file.prices.step) {
      stage.parameters = Bytes{parameters};
      stage.gradients = Bytes{gradients};
    }
    const auto flags = flags_of(text_of(exported(file, "megatron", "0.20"), "megatron_args.sh"));
    return flags.count("--grad-reduce-in-bf16") == 1;
  };
  CHECK(!reduces_in_16_bits(20, 10));
  CHECK(reduces_in_16_bits(20, 5));
  file.plan.sharding = Sharding::kParameters;
  CHECK(!reduces_in_16_bits(5, 10));
  CHECK(reduces_in_16_bits(5, 5));
}

ExportRequest with_model(const char* config) {
  const Json json = parse_json(config, "config.json");
  ExportRequest request;
  request.model = ModelConfig{"config.json", json, read_architecture(json, "config.json")};
  return request;
}

TEST_CASE("Megatron-LM is told the model's sizes from its config.json") {
  const PlanFile file = plan_with(4, 1, 10, {0, 3, 6, 9, 12});
  const Export llama = exported(file, "megatron", "0.20", with_model(R"({
    "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 10, "hidden_size": 64,
    "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 160,
    "max_position_embeddings": 256, "vocab_size": 1000, "rope_theta": 500000.0,
    "rms_norm_eps": 1e-05, "tie_word_embeddings": false})"));
  auto flags = flags_of(text_of(llama, "megatron_args.sh"));
  const std::vector<std::pair<const char*, const char*>> expected{
      {"--hidden-size", "64"},
      {"--ffn-hidden-size", "160"},
      {"--num-query-groups", "2"},
      {"--kv-channels", "8"},
      {"--rotary-base", "500000"},
      {"--normalization", "RMSNorm"},
      {"--norm-epsilon", "1e-05"},
      {"--max-position-embeddings", "256"},
      {"--num-attention-heads", "8"},
      {"--vocab-size", "1000"},
      {"--swiglu", ""},
      {"--untie-embeddings-and-output-weights", ""},
      {"--disable-bias-linear", ""},
      {"--position-embedding-type", "rope"}};
  for (const auto& pair : expected) CHECK_MESSAGE(flags.at(pair.first) == pair.second, pair.first);
  CHECK(llama.notes.empty());

  const Export gpt = exported(file, "megatron", "0.20", with_model(R"({
    "architectures": ["GPT2LMHeadModel"], "n_layer": 10, "n_embd": 64, "n_head": 8,
    "n_positions": 256, "vocab_size": 1000})"));
  flags = flags_of(text_of(gpt, "megatron_args.sh"));
  CHECK(flags.at("--position-embedding-type") == "learned_absolute");
  CHECK(flags.at("--normalization") == "LayerNorm");
  for (const char* absent : {"--swiglu", "--disable-bias-linear", "--rotary-base",
                             "--untie-embeddings-and-output-weights"}) {
    CHECK_MESSAGE(flags.count(absent) == 0, absent);
  }

  // Without the file the arrays are empty, and run.sh says so.
  const Export bare = exported(file, "megatron", "0.20");
  CHECK(text_of(bare, "megatron_args.sh").find("MODEL_ARGS=()\n") != std::string::npos);
  CHECK(bare.notes.size() == 1);
}

TEST_CASE("a job is started on as many nodes as the plan's devices take") {
  PlanFile file = plan_with(4, 1, 10, {0, 3, 6, 9, 12});  // 8 devices, two of a node
  const Export answer = exported(file, "megatron", "0.20");
  const std::string& run = text_of(answer, "run.sh");
  CHECK(run.find("GPUS=2\n") != std::string::npos);
  CHECK(run.find("torchrun --nnodes=4 ") != std::string::npos);
  CHECK(text_of(answer, "job.sbatch").find("#SBATCH --nodes=4\n") != std::string::npos);
  CHECK(text_of(answer, "sky.yaml").find("num_nodes: 4\n") != std::string::npos);
  CHECK(text_of(answer, "sky.yaml").find("accelerators: TOY:2\n") != std::string::npos);
  file.cluster.devices_per_node = 3;  // 3 + 3 + 2
  const std::string uneven = text_of(exported(file, "megatron", "0.20"), "run.sh");
  CHECK(uneven.find("GPUS=3\nLEFT=$((8 - NODE_RANK * 3))") != std::string::npos);
  CHECK(uneven.find("--nnodes=3 ") != std::string::npos);
  file.cluster.devices_per_node = 16;
  const std::string one = text_of(exported(file, "megatron", "0.20"), "run.sh");
  CHECK(one.find("NODE_RANK=0\n") != std::string::npos);
  CHECK(one.find("GPUS=8\n") != std::string::npos);
}

TEST_CASE("names from other people's files are no commands in what is exported") {
  PlanFile plan = plan_with(2, 1, 8, {0, 5, 10});
  plan.model = "model\nrm -rf x #\r\xc2\x85rm\xe2\x80\xa8rm";
  plan.plan.device = "gpu\nrm: x";
  const std::vector<std::pair<const char*, const char*>> targets{{"megatron", "0.20"},
                                                                 {"megatron-bridge", "0.6"},
                                                                 {"torchtitan", "0.2"},
                                                                 {"deepspeed", "0.19"}};
  for (const auto& [target, version] : targets) {
    const Export answer = exported(plan, target, version);
    REQUIRE(answer.why_not.empty());
    for (const NamedText& file : answer.files) {
      CAPTURE(file.name);
      CHECK(file.text.find("\nrm") == std::string::npos);
      CHECK(file.text.find('\r') == std::string::npos);
      CHECK(file.text.find("\xc2\x85") == std::string::npos);
      CHECK(file.text.find("\xe2\x80\xa8") == std::string::npos);
    }
  }
}

TEST_CASE("headers say which plan, which command and what is predicted") {
  const std::string script = text_of(
      exported(plan_with(4, 1, 10, {0, 3, 6, 9, 12}), "megatron", "0.20"), "megatron_args.sh");
  CHECK(
      script.starts_with("# tiny for Megatron-LM core 0.20, written by penstock 0.1.0:\n"
                         "#   penstock export plan.json\n"
                         "# Plan plan.json, fnv1a64:1.\n"
                         "# TP 1 x PP 4 x DP 2, VP 1, mbs 2, 8 micro-batches, gbs 32, 1f1b,\n"
                         "# recompute none, bfloat16, on 8 GPUs (toy).\n"
                         "# Predicted: a step takes 10.11 us (10 us to 11 us); the fullest rank "
                         "needs 0.0 GiB.\n"));
}

}  // namespace
}  // namespace penstock
