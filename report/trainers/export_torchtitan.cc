#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/recompute_sections.h"
#include "report/measures.h"
#include "report/trainers/export_parts.h"

namespace penstock {
namespace {

constexpr const char* kCsv = "schedule.csv";

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

std::string why_not(const Plan& plan, const ModelLayers& model, Era era) {
  const StageLayers first = layers_of_stage(model, plan, 0);
  if (first.front < model.front) {
    return "stage 0 holds only a part of what comes before the layers, and torchtitan has one "
           "module "
           "for all of it";
  }
  if (model.back > 2) {
    return fmt::format(
        "torchtitan's models end in a norm and a head; this one has {} sections "
        "behind its layers",
        model.back);
  }
  if (era == Era::kSplitPoints) {
    for (int s = 1; s < plan.stages(); ++s) {
      if (layers_of_stage(model, plan, s).count > 0) continue;
      return fmt::format(
          "stage {} has no layer, and torchtitan 0.1 splits in front of layers only; "
          "0.2 takes any list of modules",
          s);
    }
  }
  if (plan.recompute != "none" && plan.recompute != "full" && plan.recompute != "selective") {
    return fmt::format("torchtitan has no recompute mode '{}'", plan.recompute);
  }
  return "";
}

// The cuts that 0.1 can take: the last stage gets a layer from the one before.
std::optional<Plan> nearest_of(const PlanFile& file, const ModelLayers& model) {
  Plan plan = file.plan;
  if (model.layers < plan.stages()) return {};
  const int end = model.front + model.layers;
  for (int s = plan.stages() - 1; s > 0; --s) {
    int& cut = plan.cuts[static_cast<std::size_t>(s)];
    cut = std::min(cut, end - (plan.stages() - s));
  }
  int before = 0;
  for (int s = 1; s < plan.stages(); ++s) {
    int& cut = plan.cuts[static_cast<std::size_t>(s)];
    before = cut = std::max(cut, s == 1 ? std::max(model.front, 1) : before + 1);
  }
  return plan;
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
// scattered, parameters gathered once per step.
std::pair<int, int> replicas_and_shards(const Plan& plan) {
  return plan.zero1 ? std::pair{1, plan.data} : std::pair{plan.data, 1};
}

std::string toml_of(const PlanFile& file, const ExportRequest& request, const ModelLayers& model) {
  const Plan& plan = file.plan;
  const Era era = era_of(request.version);
  const auto [replicas, shards] = replicas_and_shards(plan);
  std::string text = header_of(file, request, "torchtitan", "# ");
  text += "# Put these tables in place of those of your job's TOML.\n\n[training]\n";
  text += fmt::format("local_batch_size = {}\nglobal_batch_size = {}\n",
                      plan.micro_batch_size * micro_batches_of(plan), plan.global_batch);
  if (plan.sequence_length > 0) text += fmt::format("seq_len = {}\n", plan.sequence_length);
  text += fmt::format(
      "\n[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n",
      replicas, shards);
  if (shards > 1) text += "fsdp_reshard_after_forward = \"never\"\n";
  text += fmt::format("tensor_parallel_degree = {}\npipeline_parallel_degree = {}\n", plan.tensor,
                      plan.pipeline);
  if (plan.pipeline > 1) {
    text += fmt::format(
        "pipeline_parallel_schedule = \"{}\"\npipeline_parallel_schedule_csv = \"{}\"\n"
        "pipeline_parallel_microbatch_size = {}\n",
        schedule_name(plan), kCsv, plan.micro_batch_size);
    text += era == Era::kSplitPoints
                ? "pipeline_parallel_split_points = " + split_points(plan, model) + '\n'
                : "module_fqns_per_model_part = " + stages_text(plan, model, era) + '\n';
  }
  return text + fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", plan.recompute);
}

std::string python_of(const PlanFile& file, const ExportRequest& request,
                      const ModelLayers& model) {
  const Plan& plan = file.plan;
  const auto [replicas, shards] = replicas_and_shards(plan);
  std::string text = header_of(file, request, "torchtitan", "# ");
  text += fmt::format(
      "# Wrap the configuration of your model in a module of your own, and run that:\n"
      "#   from penstock_plan import planned\n"
      "#   def job() -> Trainer.Config: return planned(llama3_8b())\n"
      "#   MODULE=my_jobs CONFIG=job NGPU={} ./run_train.sh\n"
      "import os\n\nfrom torchtitan.trainer import Trainer\n\n\n"
      "def planned(config: Trainer.Config) -> Trainer.Config:\n",
      plan.devices());
  const auto set = [&text](std::string_view field, const std::string& value) {
    text += fmt::format("    config.{} = {}\n", field, value);
  };
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  if (plan.sequence_length > 0) {
    const std::int64_t tokens = std::int64_t{plan.micro_batch_size} * plan.sequence_length;
    set("training.seq_len", number(plan.sequence_length));
    set("training.num_tokens_per_microbatch_per_dp_rank", number(tokens));
    set("training.num_tokens_per_train_step",
        number(std::int64_t{plan.global_batch} * plan.sequence_length));
  }
  set("parallelism.data_parallel_replicate_degree", number(replicas));
  set("parallelism.data_parallel_shard_degree", number(shards));
  if (shards > 1) set("parallelism.fsdp_reshard_after_forward", "\"never\"");
  set("parallelism.tensor_parallel_degree", number(plan.tensor));
  set("parallelism.pipeline_parallel_degree", number(plan.pipeline));
  if (plan.pipeline > 1) {
    set("parallelism.pipeline_parallel_schedule", fmt::format("\"{}\"", schedule_name(plan)));
    set("parallelism.pipeline_parallel_schedule_csv",
        fmt::format("os.path.join(os.path.dirname(__file__), \"{}\")", kCsv));
    set("parallelism.num_pp_microbatches", number(micro_batches_of(plan)));
    set("parallelism.module_fqns_per_model_part", stages_text(plan, model, Era::kPython));
  }
  set("activation_checkpoint.mode", fmt::format("\"{}\"", plan.recompute));
  return text + "    return config\n";
}

bool splits_backward(const Program& program) {
  for (const Action& action : program.actions) {
    if (action.kind == ActionKind::kWeightGradient) return true;
  }
  return false;
}

}  // namespace

Export export_torchtitan(const PlanFile& file, const ExportRequest& request) {
  const Plan& plan = file.plan;
  if (recompute_is_divided(plan)) return refused_divided_recompute("torchtitan", plan);
  const Era era = era_of(request.version);
  const auto model = model_layers(file.section_names);
  if (!model) return refused("torchtitan counts layers; " + std::string(kNoLayers));
  if (const std::string why = why_not(plan, *model, era); !why.empty()) {
    const bool is_cut = why.starts_with("stage");
    return refused(why, is_cut ? nearest_of(file, *model) : std::nullopt);
  }
  Export answer;
  if (era == Era::kPython) {
    answer.files.push_back({"penstock_plan.py", python_of(file, request, *model)});
  } else {
    answer.files.push_back({"torchtitan.toml", toml_of(file, request, *model)});
  }
  if (plan.pipeline > 1) answer.files.push_back({kCsv, plan_csv(file, false)});
  if (plan.zero1) {
    answer.notes.emplace_back(
        "ZeRO-1 is written as sharding over the replicas (FSDP): the same bytes move, and "
        "gradients "
        "are sharded as well, so that a rank needs less memory than predicted");
  }
  if (era == Era::kPython && splits_backward(file.program)) {
    answer.notes.emplace_back(
        "this plan divides the backward (I and W); torchtitan has switched its own tests of that "
        "off, and it fails with FlexAttention");
  }
  const bool pipeline_inner = plan.placement == Placement::kPipelineInner;
  if (pipeline_inner && plan.data > 1 && plan.pipeline > 1) {
    answer.notes.push_back(fmt::format(
        "torchtitan puts the replicas of a stage side by side: rank d P + p of the plan is its "
        "rank "
        "p D + d. Start its ranks on the hosts in that order, or the links are not those of the "
        "prediction"));
  }
  return answer;
}

}  // namespace penstock
