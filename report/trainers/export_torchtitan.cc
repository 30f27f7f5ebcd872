#include <optional>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/trainers/export_parts.h"
#include "report/trainers/job_files.h"
#include "report/trainers/torchtitan_model.h"

namespace penstock {
namespace {

constexpr const char* kCsv = "schedule.csv";
// The commit of its main branch whose configuration classes were read and run
// (tools/try_exports.py).
constexpr const char* kHeadRead = "b5bcd76c66d0acb1a08b176d9639425bc55e0b2a";

enum class Era { kSplitPoints, kModuleNames, kPython };

Era era_of(const std::string& version) {
  if (version == "0.1") return Era::kSplitPoints;
  return version == "0.2" ? Era::kModuleNames : Era::kPython;
}

// The runtime is that of the CSV; the name decides how many stages a rank has and which. A rank
// alone has no pipeline.
const char* schedule_name(const Plan& plan) {
  if (plan.stage_map == StageMap::kV) return "ZBVZeroBubble";
  return plan.chunks > 1 ? "PipelineScheduleMulti" : "1F1B";
}

// One entry per stage. torchtitan's names: tok_embeddings, layers.<i>, norm, and output, since
// April 2026 lm_head.
std::vector<std::vector<std::string>> modules_of(const Plan& plan, const ModelLayers& model,
                                                 Era era) {
  const char* head = era == Era::kPython ? "lm_head" : "output";
  std::vector<std::vector<std::string>> modules;
  int back = 0;
  for (int s = 0; s < plan.stages(); ++s) {
    const StageLayers held = layers_of_stage(model, plan, s);
    std::vector<std::string>& names = modules.emplace_back();
    if (s == 0) names.emplace_back("tok_embeddings");
    for (int i = 0; i < held.count; ++i) names.push_back(fmt::format("layers.{}", held.first + i));
    back += held.back;
    const bool last = s + 1 == plan.stages();
    // Of two sections behind the layers the first is the norm; one alone is both.
    const bool has_norm = model.back < 2 ? last : held.back > 0 && back - held.back == 0;
    if (has_norm) names.emplace_back("norm");
    if (last) names.emplace_back(head);
  }
  return modules;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "\"" : ", \"") + name + '"';
  return '[' + text + ']';
}

std::string stages_text(const Plan& plan, const ModelLayers& model, Era era) {
  std::string text;
  for (const auto& names : modules_of(plan, model, era)) {
    text += "    " + std::string(era == Era::kPython ? "    " : "") + quoted_list(names) + ",\n";
  }
  return "[\n" + text + (era == Era::kPython ? "    ]" : "]");
}

std::string split_points(const Plan& plan, const ModelLayers& model) {
  std::vector<std::string> points;
  for (int s = 1; s < plan.stages(); ++s) {
    points.push_back(fmt::format("layers.{}", layers_of_stage(model, plan, s).first));
  }
  return quoted_list(points);
}

// ZeRO-1 has no switch of its own. Sharding over the replicas moves the same bytes: gradients are
// scattered, parameters gathered once per step. Without it 0.x has replicas only where nothing else
// is divided ("DDP has not supported > 1D parallelism"), and mixed precision with sharding only.
bool shards(const Plan& plan, Era era) {
  return plan.data > 1 && (plan.zero1 || era != Era::kPython);
}

// Outside of sharding 0.2 can hold everything in 16 bits; alone on a device it casts by itself.
bool holds_all_in_16_bits(const Plan& plan, Era era, const ExportRequest& request) {
  const bool divided = plan.pipeline > 1 || plan.tensor > 1;
  return era == Era::kModuleNames && has_16_bits(request) && plan.data == 1 && divided;
}

const char* numbers(const ExportRequest& request) {
  return has_16_bits(request) ? "bfloat16" : "float32";
}

const TorchtitanModel* known_model(const ExportRequest& request, Era era) {
  if (!request.model) return nullptr;
  const TorchtitanModel* model = torchtitan_model(request.model->architecture);
  return model != nullptr && model->since_0_2 && era == Era::kSplitPoints ? nullptr : model;
}

// With pipeline stages a "local batch" is that of a step, divided into micro-batches. Alone it is
// one forward, and the accumulation follows from the global batch.
int local_batch(const Plan& plan) {
  return plan.micro_batch_size * (plan.pipeline > 1 ? micro_batches_of(plan) : 1);
}

std::string model_table(const ExportRequest& request, Era era) {
  const char* assets = era == Era::kSplitPoints ? "tokenizer_path" : "hf_assets_path";
  if (const TorchtitanModel* model = known_model(request, era)) {
    return fmt::format(
        "\n[model]\nname = \"{}\"\nflavor = \"{}\"\n# {} = \"...\"  # your tokenizer\n",
        model->name, model->flavor, assets);
  }
  return fmt::format(
      "\n[model]\n# Name your model: which one torchtitan is to build, the plan does not say.\n"
      "# name = \"llama3\"\n# flavor = \"8B\"\n# {} = \"...\"\n",
      assets);
}

std::string pipeline_lines(const PlanFile& file, const ModelLayers& model, Era era) {
  const Plan& plan = file.plan;
  if (plan.pipeline == 1) return "";
  const std::string split = era == Era::kSplitPoints
                                ? "pipeline_parallel_split_points = " + split_points(plan, model)
                                : "module_fqns_per_model_part = " + stages_text(plan, model, era);
  return fmt::format(
      "pipeline_parallel_schedule = \"{}\"\n# run.sh passes the path of this file:\n"
      "pipeline_parallel_schedule_csv = \"{}\"\npipeline_parallel_microbatch_size = {}\n{}\n",
      schedule_name(plan), kCsv, plan.micro_batch_size, split);
}

std::string toml_of(const PlanFile& file, const ExportRequest& request, const ModelLayers& model) {
  const Plan& plan = file.plan;
  const Era era = era_of(request.version);
  std::string text = header_of(file, request, "torchtitan", "# ");
  text += "# run.sh starts it. Or put these tables in place of those of your job's TOML.\n";
  text += model_table(request, era);
  text += fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\n",
                      local_batch(plan), plan.global_batch);
  if (plan.sequence_length > 0) text += fmt::format("seq_len = {}\n", plan.sequence_length);
  if (holds_all_in_16_bits(plan, era, request)) text += "dtype = \"bfloat16\"\n";
  text += fmt::format(
      "mixed_precision_param = \"{}\"\nmixed_precision_reduce = \"float32\"\n"
      "steps = 50  # a trial\n",
      numbers(request));
  const bool sharded = shards(plan, era);
  text += fmt::format(
      "\n[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n",
      sharded ? 1 : plan.data, sharded ? plan.data : 1);
  if (sharded) text += "fsdp_reshard_after_forward = \"never\"\n";
  text += fmt::format("tensor_parallel_degree = {}\npipeline_parallel_degree = {}\n", plan.tensor,
                      plan.pipeline);
  text += pipeline_lines(file, model, era);
  return text + fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", plan.recompute);
}

std::string_view policy_of(const Plan& plan) {
  if (plan.recompute == "none") return "";
  return plan.recompute == "full" ? "FullAC" : "SelectiveAC";
}

std::string base_configuration(const ExportRequest& request) {
  const TorchtitanModel* model = known_model(request, Era::kPython);
  if (model != nullptr && !model->configuration.empty()) {
    return fmt::format("from torchtitan.models.{}.config_registry import {} as base\n", model->name,
                       model->configuration);
  }
  return "\n# Name the configuration of your model, for example:\n"
         "#   from torchtitan.models.llama3.config_registry import llama3_8b as base\n"
         "base = None\n";
}

// The statements of planned(), one field each.
std::string python_fields(const PlanFile& file, const ExportRequest& request,
                          const ModelLayers& model) {
  const Plan& plan = file.plan;
  std::string text;
  const auto set = [&text](std::string_view field, const std::string& value) {
    text += fmt::format("    config.{} = {}\n", field, value);
  };
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  if (plan.sequence_length > 0) {
    set("training.max_context_length", number(plan.sequence_length));
    set("training.num_tokens_per_microbatch_per_dp_rank",
        number(std::int64_t{plan.micro_batch_size} * plan.sequence_length));
    set("training.num_tokens_per_train_step",
        number(std::int64_t{plan.global_batch} * plan.sequence_length));
  }
  set("training.mixed_precision_param", fmt::format("\"{}\"", numbers(request)));
  set("training.steps", "50  # a trial");
  const bool sharded = shards(plan, Era::kPython);
  set("parallelism.data_parallel_replicate_degree", number(sharded ? 1 : plan.data));
  set("parallelism.data_parallel_shard_degree", number(sharded ? plan.data : 1));
  if (sharded) set("parallelism.fsdp_reshard_after_forward", "\"never\"");
  set("parallelism.tensor_parallel_degree", number(plan.tensor));
  set("parallelism.pipeline_parallel_degree", number(plan.pipeline));
  if (plan.pipeline > 1) {
    set("training.disable_cuda_graphs", "True");  // else it refuses pipelines
    set("parallelism.pipeline_parallel_schedule", fmt::format("\"{}\"", schedule_name(plan)));
    set("parallelism.pipeline_parallel_schedule_csv",
        fmt::format("os.path.join(os.path.dirname(os.path.abspath(__file__)), \"{}\")", kCsv));
    set("parallelism.num_pp_microbatches", number(micro_batches_of(plan)));
    set("parallelism.module_fqns_per_model_part", stages_text(plan, model, Era::kPython));
  }
  const std::string policy(policy_of(plan));
  text += "    recompute = " + (policy.empty() ? "None" : policy + ".Config()") + '\n';
  set("activation_checkpoint", "recompute");
  return text;
}

std::string python_of(const PlanFile& file, const ExportRequest& request,
                      const ModelLayers& model) {
  const std::string policy(policy_of(file.plan));
  std::string text = header_of(file, request, "torchtitan", "# ");
  text += fmt::format(
      "# For its main branch; the commit that was read is\n# {}.\n"
      "# run.sh starts job() below. With a configuration of your own: "
      "planned(my_configuration()).\n"
      "import os\n\n",
      kHeadRead);
  if (!policy.empty()) {
    text += "from torchtitan.distributed.activation_checkpoint import " + policy + '\n';
  }
  text += "from torchtitan.trainer import Trainer\n" + base_configuration(request);
  text += "\n\ndef planned(config: Trainer.Config) -> Trainer.Config:\n";
  text += python_fields(file, request, model);
  text += "    config.__post_init__()  # its own checks, once more\n    return config\n\n\n";
  return text + R"(def job() -> Trainer.Config:
    if base is None:
        raise SystemExit("penstock_plan.py: name the configuration of your model as base")
    return planned(base())
)";
}

bool splits_backward(const Program& program) {
  for (const Action& action : program.actions) {
    if (action.kind == ActionKind::kWeightGradient) return true;
  }
  return false;
}

JobWords job_words(const Plan& plan, Era era) {
  JobWords words;
  words.trainer = "torchtitan";
  words.prepare =
      ": \"${TORCHTITAN:?set it to the folder of your clone of torchtitan}\"\n"
      "cd -- \"$TORCHTITAN\"  # its configurations name tokenizers and data from there\n"
      "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
  if (era == Era::kPython) {
    words.prepare += "export PYTHONPATH=\"$here${PYTHONPATH:+:$PYTHONPATH}\"  # penstock_plan\n";
    words.launch = "-m torchtitan.train --module penstock_plan --config job";
  } else {
    words.launch = "-m torchtitan.train --job.config_file \"$here/torchtitan.toml\"";
    if (plan.pipeline > 1) {
      words.launch +=
          fmt::format(" \\\n  --parallelism.pipeline_parallel_schedule_csv \"$here/{}\"", kCsv);
    }
  }
  const char* version = era == Era::kPython        ? kHeadRead
                        : era == Era::kModuleNames ? "v0.2.2"
                                                   : "v0.1.0";
  words.setup = fmt::format(
      "# torchtitan and a PyTorch that it runs on.\n"
      "git clone https://github.com/pytorch/torchtitan ~/torchtitan || true\n"
      "git -C ~/torchtitan checkout {}\npip install -e ~/torchtitan\n",
      version);
  words.clone = "export TORCHTITAN=$HOME/torchtitan";
  return words;
}

void add_notes(Export& answer, const PlanFile& file, const ExportRequest& request) {
  const Plan& plan = file.plan;
  const Era era = era_of(request.version);
  if (shards(plan, era)) {
    answer.notes.push_back(fmt::format(
        "{} written as sharding over the replicas (FSDP): the same bytes move, and {} sharded as "
        "well, so that a rank needs less memory than predicted",
        plan.zero1 ? "ZeRO-1 is" : "the replicas are",
        plan.zero1 ? "gradients are" : "gradients and optimizer state are"));
  }
  if (holds_all_in_16_bits(plan, era, request)) {
    answer.notes.emplace_back(
        "with DP = 1 torchtitan 0.2 has no mixed precision: dtype = \"bfloat16\" holds parameters, "
        "gradients and optimizer state in 16 bits, which changes the arithmetic and takes less "
        "memory than predicted; head keeps 32 bits");
  }
  if (request.precision == "float16") {
    answer.notes.emplace_back(
        "the plan was made for float16, which torchtitan does not have: it is "
        "written as bfloat16");
  }
  if (known_model(request, era) == nullptr) {
    answer.notes.push_back(fmt::format(
        "name the model that torchtitan is to build, in {}: it has none of these sizes, or the "
        "plan's profile does not hold them (add --model config.json)",
        era == Era::kPython ? "penstock_plan.py" : "torchtitan.toml"));
  }
  if (era == Era::kPython && splits_backward(file.program)) {
    answer.notes.emplace_back(
        "this plan divides the backward (I and W); torchtitan has switched its own tests of that "
        "off, and it fails with FlexAttention");
  }
  const bool pipeline_inner = plan.placement == Placement::kPipelineInner;
  if (pipeline_inner && plan.data > 1 && plan.pipeline > 1) {
    answer.notes.push_back(fmt::format(
        "torchtitan puts the replicas of a stage side by side: rank d PP + p of the plan is its "
        "rank p DP + d. Start its ranks on the hosts in that order, or the links are not those of "
        "the "
        "prediction"));
  }
}

}  // namespace

Export export_torchtitan(const PlanFile& file, const ExportRequest& request) {
  const Era era = era_of(request.version);
  const Trainer trainer = era == Era::kSplitPoints   ? Trainer::kTorchtitan01
                          : era == Era::kModuleNames ? Trainer::kTorchtitan
                                                     : Trainer::kTorchtitanHead;
  if (auto refusal = refused_by(trainer, file)) return *refusal;
  const ModelLayers model = model_layers(file.section_names).value_or(ModelLayers{});
  Export answer;
  if (era == Era::kPython) {
    answer.files.push_back({"penstock_plan.py", python_of(file, request, model)});
  } else {
    answer.files.push_back({"torchtitan.toml", toml_of(file, request, model)});
  }
  if (file.plan.pipeline > 1) answer.files.push_back({kCsv, plan_csv(file, false)});
  add_job_files(answer, file, request, job_words(file.plan, era));
  add_notes(answer, file, request);
  return answer;
}

}  // namespace penstock
