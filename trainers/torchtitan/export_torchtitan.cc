// A plan as torchtitan reads it: a TOML up to 0.2, Python for head, and in both the CSV of the
// Program, so that its runtime executes the very lists that were simulated. Modules per stage are
// named by torchtitan's own names; what it has no switch for (ZeRO-1, 16 bits with one replica) is
// written as the nearest it has, with a note.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "report/measures.h"
#include "trainers/exports/export_parts.h"
#include "trainers/exports/job_files.h"
#include "trainers/torchtitan/torchtitan.h"
#include "trainers/torchtitan/torchtitan_model.h"

namespace penstock {
namespace {

constexpr const char* kCsv = "schedule.csv";
// The runtime is that of the CSV; the name decides how many stages a rank has and which. A rank
// alone has no pipeline.
const char* schedule_name(const Plan& plan) {
  if (plan.stage_map == StageMap::kV) return "ZBVZeroBubble";
  return plan.chunks > 1 ? "PipelineScheduleMulti" : "1F1B";
}

// One entry per stage. torchtitan's names: tok_embeddings, layers.<i>, norm, and output, since
// April 2026 lm_head.
std::vector<std::vector<std::string>> modules_of(const Plan& plan, const ModelLayers& model,
                                                 const std::string& head) {
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

std::string stages_text(const Plan& plan, const ModelLayers& model,
                        const TorchtitanVersion& version) {
  const std::string indent = version.is_python ? "    " : "";
  std::string text;
  for (const auto& names : modules_of(plan, model, version.head_module)) {
    text += indent + "    " + quoted_list(names) + ",\n";
  }
  return "[\n" + text + indent + "]";
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
bool shards(const Plan& plan, const TorchtitanVersion& version) {
  return plan.data > 1 && (plan.zero1 || version.mixed_precision != MixedPrecision::kAlways);
}

struct DataDegrees {
  int replicate = 1, shard = 1;
};
DataDegrees data_degrees(const Plan& plan, const TorchtitanVersion& version) {
  if (!shards(plan, version)) return {plan.data, 1};
  // It shards over the ranks of context parallelism as well.
  const int shard = plan.shard_group > 0 ? std::max(1, plan.shard_group / plan.context) : plan.data;
  return {plan.data / shard, shard};
}

// FSDP without a pipeline gathers weights again in the backward; in a pipeline once per step. What
// stands for ZeRO-1 gathers them once.
const char* reshard_policy(const Plan& plan) {
  return plan.gathers_by_section() ? "always" : "never";
}

// Outside of sharding 0.2 can hold everything in 16 bits; alone on a device it casts by itself.
bool holds_all_in_16_bits(const Plan& plan, const TorchtitanVersion& version,
                          const ExportRequest& request) {
  const bool divided = plan.pipeline > 1 || plan.tensor > 1;
  return version.mixed_precision == MixedPrecision::kWithShardingOrAll16Bits &&
         has_16_bits(request) && plan.data == 1 && divided;
}

const char* numbers(const ExportRequest& request) {
  return has_16_bits(request) ? "bfloat16" : "float32";
}

std::optional<TorchtitanModel> known_model(const ExportRequest& request,
                                           const TorchtitanVersion& version) {
  if (!request.model) return {};
  return torchtitan_model(version, request.model->architecture);
}

// With pipeline stages a "local batch" is that of a step, divided into micro-batches. Alone it is
// one forward, and the accumulation follows from the global batch.
int local_batch(const Plan& plan) {
  return plan.micro_batch_size * (plan.pipeline > 1 ? micro_batches_of(plan) : 1);
}

std::string model_table(const ExportRequest& request, const TorchtitanVersion& version) {
  if (const auto model = known_model(request, version)) {
    return fmt::format(
        "\n[model]\nname = \"{}\"\nflavor = \"{}\"\n# {} = \"...\"  # your tokenizer\n",
        model->name, model->flavor, version.assets_key);
  }
  return fmt::format(
      "\n[model]\n# Name your model: which one torchtitan is to build, the plan does not say.\n"
      "# name = \"llama3\"\n# flavor = \"8B\"\n# {} = \"...\"\n",
      version.assets_key);
}

std::string pipeline_lines(const PlanFile& file, const ModelLayers& model,
                           const TorchtitanVersion& version) {
  const Plan& plan = file.plan;
  if (plan.pipeline == 1) return "";
  const std::string split =
      version.splits_by_points
          ? "pipeline_parallel_split_points = " + split_points(plan, model)
          : "module_fqns_per_model_part = " + stages_text(plan, model, version);
  return fmt::format(
      "pipeline_parallel_schedule = \"{}\"\n# run.sh passes the path of this file:\n"
      "pipeline_parallel_schedule_csv = \"{}\"\npipeline_parallel_microbatch_size = {}\n{}\n",
      schedule_name(plan), kCsv, plan.micro_batch_size, split);
}

std::string toml_of(const PlanFile& file, const ExportRequest& request, const ModelLayers& model,
                    const TorchtitanVersion& version) {
  const Plan& plan = file.plan;
  std::string text = header_of(file, request, "torchtitan", "# ");
  text += "# run.sh starts it. Or put these tables in place of those of your job's TOML.\n";
  text += model_table(request, version);
  text += fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\n",
                      local_batch(plan), plan.global_batch);
  if (plan.sequence_length > 0) text += fmt::format("seq_len = {}\n", plan.sequence_length);
  if (holds_all_in_16_bits(plan, version, request)) text += "dtype = \"bfloat16\"\n";
  text += fmt::format(
      "mixed_precision_param = \"{}\"\nmixed_precision_reduce = \"float32\"\n"
      "steps = 50  # a trial\n",
      numbers(request));
  const DataDegrees degrees = data_degrees(plan, version);
  text += fmt::format(
      "\n[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n",
      degrees.replicate, degrees.shard);
  if (degrees.shard > 1) {
    text += fmt::format("fsdp_reshard_after_forward = \"{}\"\n", reshard_policy(plan));
  }
  if (plan.context > 1) {
    // Its all-to-all passes keys and values round, as a ring does.
    text += fmt::format("context_parallel_degree = {}\ncontext_parallel_rotate_method = \"{}\"\n",
                        plan.context,
                        plan.context_kind == ContextKind::kRing ? "alltoall" : "allgather");
  }
  text += fmt::format("tensor_parallel_degree = {}\npipeline_parallel_degree = {}\n", plan.tensor,
                      plan.pipeline);
  text += pipeline_lines(file, model, version);
  return text + fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", plan.recompute);
}

std::string_view policy_of(const Plan& plan) {
  if (plan.recompute == "none") return "";
  return plan.recompute == "full" ? "FullAC" : "SelectiveAC";
}

std::string base_configuration(const ExportRequest& request, const TorchtitanVersion& version) {
  const auto model = known_model(request, version);
  if (model && !model->configuration.empty()) {
    return fmt::format("from torchtitan.models.{}.config_registry import {} as base\n", model->name,
                       model->configuration);
  }
  return "\n# Name the configuration of your model, for example:\n"
         "#   from torchtitan.models.llama3.config_registry import llama3_8b as base\n"
         "base = None\n";
}

// The statements of planned(), one field each.
std::string python_fields(const PlanFile& file, const ExportRequest& request,
                          const ModelLayers& model, const TorchtitanVersion& version) {
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
  const DataDegrees degrees = data_degrees(plan, version);
  set("parallelism.data_parallel_replicate_degree", number(degrees.replicate));
  set("parallelism.data_parallel_shard_degree", number(degrees.shard));
  if (degrees.shard > 1) {
    set("parallelism.fsdp_reshard_after_forward", fmt::format("\"{}\"", reshard_policy(plan)));
  }
  if (plan.context > 1) set("parallelism.context_parallel_degree", number(plan.context));
  set("parallelism.tensor_parallel_degree", number(plan.tensor));
  if (is_without_sequence_parallelism(file)) {
    set("parallelism.enable_sequence_parallel", "False");
  }
  set("parallelism.pipeline_parallel_degree", number(plan.pipeline));
  if (plan.pipeline > 1) {
    set("training.disable_cuda_graphs", "True");  // else it refuses pipelines
    set("parallelism.pipeline_parallel_schedule", fmt::format("\"{}\"", schedule_name(plan)));
    set("parallelism.pipeline_parallel_schedule_csv",
        fmt::format("os.path.join(os.path.dirname(os.path.abspath(__file__)), \"{}\")", kCsv));
    set("parallelism.num_pp_microbatches", number(micro_batches_of(plan)));
    set("parallelism.module_fqns_per_model_part", stages_text(plan, model, version));
  }
  const std::string policy(policy_of(plan));
  text += "    recompute = " + (policy.empty() ? "None" : policy + ".Config()") + '\n';
  set("activation_checkpoint", "recompute");
  return text;
}

std::string python_of(const PlanFile& file, const ExportRequest& request, const ModelLayers& model,
                      const TorchtitanVersion& version) {
  const std::string policy(policy_of(file.plan));
  std::string text = header_of(file, request, "torchtitan", "# ");
  text += fmt::format(
      "# For its main branch; the commit that was read is\n# {}.\n"
      "# run.sh starts job() below. With a configuration of your own: "
      "planned(my_configuration()).\n"
      "import os\n\n",
      version.checkout);
  if (!policy.empty()) {
    text += "from torchtitan.distributed.activation_checkpoint import " + policy + '\n';
  }
  text += "from torchtitan.trainer import Trainer\n" + base_configuration(request, version);
  text += "\n\ndef planned(config: Trainer.Config) -> Trainer.Config:\n";
  text += python_fields(file, request, model, version);
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

JobWords job_words(const Plan& plan, const TorchtitanVersion& version) {
  JobWords words;
  words.trainer = "torchtitan";
  words.prepare =
      ": \"${TORCHTITAN:?set it to the folder of your clone of torchtitan}\"\n"
      "cd -- \"$TORCHTITAN\"  # its configurations name tokenizers and data from there\n"
      "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
  if (version.is_python) {
    words.prepare += "export PYTHONPATH=\"$here${PYTHONPATH:+:$PYTHONPATH}\"  # penstock_plan\n";
    words.launch = "-m torchtitan.train --module penstock_plan --config job";
  } else {
    words.launch = "-m torchtitan.train --job.config_file \"$here/torchtitan.toml\"";
    if (plan.pipeline > 1) {
      words.launch +=
          fmt::format(" \\\n  --parallelism.pipeline_parallel_schedule_csv \"$here/{}\"", kCsv);
    }
  }
  words.setup = fmt::format(
      "# torchtitan and a PyTorch that it runs on.\n"
      "git clone https://github.com/pytorch/torchtitan ~/torchtitan || true\n"
      "git -C ~/torchtitan checkout {}\npip install -e ~/torchtitan\n",
      version.checkout);
  words.clone = "export TORCHTITAN=$HOME/torchtitan";
  return words;
}

void add_notes(Export& answer, const PlanFile& file, const ExportRequest& request,
               const TorchtitanVersion& version) {
  const Plan& plan = file.plan;
  if (shards(plan, version) && plan.sharding == Sharding::kState) {
    answer.notes.push_back(fmt::format(
        "{} written as sharding over the replicas (FSDP): the same bytes move, and {} sharded as "
        "well, so that a rank needs less memory than predicted",
        plan.zero1 ? "ZeRO-1 is" : "the replicas are",
        plan.zero1 ? "gradients are" : "gradients and optimizer state are"));
  }
  if (holds_all_in_16_bits(plan, version, request)) {
    answer.notes.emplace_back(
        "with DP = 1 torchtitan 0.2 has no mixed precision: dtype = \"bfloat16\" holds parameters, "
        "gradients and optimizer state in 16 bits, which changes the arithmetic and takes less "
        "memory than predicted; head keeps 32 bits");
  }
  if (is_without_sequence_parallelism(file) && !version.is_python) {
    answer.notes.push_back(fmt::format(
        "the plan was made without sequence parallelism, which torchtitan {} always has where TP > "
        "1: time and memory differ from what was predicted (head can do without)",
        request.version));
  }
  if (request.precision == "float16") {
    answer.notes.emplace_back(
        "the plan was made for float16, which torchtitan does not have: it is "
        "written as bfloat16");
  }
  if (request.precision == "float8") {
    answer.notes.emplace_back(
        "the plan multiplies 8 bits: add the converter of your version to model.converters "
        "(float8; in 0.2 quantize.linear.float8), which is not written here");
  }
  if (!known_model(request, version)) {
    answer.notes.push_back(fmt::format(
        "name the model that torchtitan is to build, in {}: it has none of these sizes, or the "
        "plan's profile does not hold them (add --model config.json)",
        version.is_python ? "penstock_plan.py" : "torchtitan.toml"));
  }
  if (version.is_python && splits_backward(file.program)) {
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

Export export_torchtitan(const PlanFile& file, const ExportRequest& request, const Json& facts) {
  const TorchtitanVersion version = torchtitan_version(facts);
  const ModelLayers model = model_layers(file.section_names).value_or(ModelLayers{});
  Export answer;
  if (version.is_python) {
    answer.files.push_back({"penstock_plan.py", python_of(file, request, model, version)});
  } else {
    answer.files.push_back({"torchtitan.toml", toml_of(file, request, model, version)});
  }
  if (file.plan.pipeline > 1) answer.files.push_back({kCsv, plan_csv(file, false)});
  add_job_files(answer, file, request, job_words(file.plan, version));
  add_notes(answer, file, request, version);
  return answer;
}

}  // namespace penstock
