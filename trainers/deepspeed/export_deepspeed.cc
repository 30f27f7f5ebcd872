// ds_config.json holds batch, precision and ZeRO; the cuts cannot stand there, so
// penstock_pipeline.py derives a PipelineModule that sets them, and checks the number of sections
// when the job starts. Where DeepSpeed sums gradients in 32 bits only with ZeRO-1, it is switched
// on and the note says so.
#include <fmt/format.h>

#include "report/measures.h"
#include "trainers/deepspeed/deepspeed.h"
#include "trainers/exports/export_parts.h"
#include "trainers/exports/job_files.h"

namespace penstock {
namespace {

// Products in 8 bits are of weights in 16.
bool holds_bfloat16(const ExportRequest& request) {
  return request.precision == "bfloat16" || request.precision == "float8";
}

// Beside bfloat16 it sums gradients up in 32 bits only where ZeRO-1 shards the optimizer
// (DeepSpeedEngine._do_optimizer_sanity_check); the same bytes move.
bool needs_zero1(const PlanFile& file, const ExportRequest& request) {
  return holds_bfloat16(request) && sums_gradients_in_32_bits(file);
}

int stage_of(const Plan& plan) {
  switch (plan.sharding) {
    case Sharding::kGradients:
      return 2;
    case Sharding::kParameters:
      return 3;
    default:
      return 1;
  }
}

// Its pipeline engine refuses ZeRO-2 and 3 even of one stage (runtime/pipe/engine.py): such a plan
// is a model of the user's own, without a PipelineModule.
bool has_no_pipeline(const Plan& plan) { return plan.zero1 && plan.sharding != Sharding::kState; }

// ZeRO-3 in groups of replicas is what it calls MiCS (runtime/zero/mics.py).
bool shards_in_groups(const Plan& plan) {
  return plan.zero1 && plan.shards() < plan.weight_copies();
}

std::string config_of(const PlanFile& file, const ExportRequest& request) {
  const Plan& plan = file.plan;
  const bool zero1 = plan.zero1 || plan.offload_optimizer || needs_zero1(file, request);
  Json json = Json::object();
  json.set("train_batch_size", plan.global_batch)
      .set("train_micro_batch_size_per_gpu", plan.micro_batch_size)
      .set("gradient_accumulation_steps", micro_batches_of(plan));
  if (holds_bfloat16(request)) json.set("bf16", Json::object().set("enabled", true));
  if (request.precision == "float16") json.set("fp16", Json::object().set("enabled", true));
  if (needs_zero1(file, request)) {
    json.set("data_types", Json::object().set("grad_accum_dtype", "fp32"));
  }
  Json zero = Json::object();
  zero.set("stage", zero1 ? stage_of(plan) : 0);
  if (plan.offload_optimizer) {
    zero.set("offload_optimizer", Json::object().set("device", "cpu").set("pin_memory", true));
  }
  if (shards_in_groups(plan)) zero.set("mics_shard_size", plan.shard_group);
  json.set("zero_optimization", zero);
  if (!has_no_pipeline(plan)) {
    json.set("pipeline", Json::object().set("activation_checkpoint_interval",
                                            plan.recompute == "full" ? 1 : 0));
  }
  // A trial; deepspeed.initialize() also takes an optimizer of your own.
  json.set("optimizer",
           Json::object().set("type", "AdamW").set("params", Json::object().set("lr", 1e-4)));
  json.set("gradient_clipping", 1.0).set("steps_per_print", 1);
  return to_text(json) + '\n';
}

// Ranks in the order of the plan's placement.
std::string topology_of(const Plan& plan) {
  std::string axes = R"("pipe", "data")";
  std::string sizes = fmt::format("{}, {}", plan.pipeline, plan.data);
  if (plan.placement == Placement::kPipelineInner) {
    axes = R"("data", "pipe")";
    sizes = fmt::format("{}, {}", plan.data, plan.pipeline);
  }
  if (plan.tensor > 1) {
    axes += R"(, "model")";
    sizes += fmt::format(", {}", plan.tensor);
  }
  return fmt::format("ProcessTopology(axes=[{}], dims=[{}])", axes, sizes);
}

std::string module_of(const PlanFile& file, const ExportRequest& request) {
  const Plan& plan = file.plan;
  std::string text = header_of(file, request, "DeepSpeed", "# ");
  text += R"(#
# DeepSpeed takes no list of cuts, so that this class sets them. Use it in place of PipelineModule:
#   model = PenstockPipelineModule(layers=layers, loss_fn=loss_fn)
#   engine, *_ = deepspeed.initialize(model=model, config="ds_config.json", ...)
# `layers` has an entry per section of the plan:
)";
  for (std::size_t i = 0; i < file.section_names.size(); ++i) {
    text += fmt::format("#   {:>3} {}\n", i, file.section_names[i]);
  }
  text += R"(from deepspeed.pipe import PipelineModule
from deepspeed.runtime.pipe.topology import ProcessTopology

)";
  text += fmt::format("PARTS = [{}]  # stage i builds layers PARTS[i] to PARTS[i + 1] - 1\n",
                      fmt::join(plan.cuts, ", "));
  text += fmt::format("SECTIONS = {}\n", file.section_names.size());
  text += fmt::format("STAGES = {}\n\n\n", plan.pipeline);
  text += fmt::format(R"(def topology():
    return {}


class PenstockPipelineModule(PipelineModule):
    def __init__(self, layers, **options):
        if len(layers) != SECTIONS:
            raise ValueError(f"the plan has {{SECTIONS}} sections, the model {{len(layers)}} layers")
        options.setdefault("topology", topology())
        super().__init__(layers=layers, **options)

    def _partition_layers(self, method="uniform"):
        stages = self._topo.get_dim("pipe")
        stage = self._topo.get_coord(self.global_rank).pipe
        assert len(PARTS) == stages + 1 == STAGES + 1, f"the plan has {{STAGES}} stages, not {{stages}}"
        assert PARTS[-1] == len(self._layer_specs), "the plan's sections are not the model's layers"
        self.parts = list(PARTS)
        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])
)",
                      topology_of(plan));
  return text;
}

}  // namespace

Export export_deepspeed(const PlanFile& file, const ExportRequest& request, const Json& /*facts*/) {
  const Plan& plan = file.plan;
  Export answer;
  answer.files.push_back({"ds_config.json", config_of(file, request)});
  const bool plain = has_no_pipeline(plan);
  if (!plain) answer.files.push_back({"penstock_pipeline.py", module_of(file, request)});
  JobWords words;
  words.trainer = "DeepSpeed";
  words.prepare =
      ": \"${TRAIN:?set it to your training script, which takes --deepspeed_config FILE}\"\n";
  if (!plain) {
    words.prepare +=
        "export PYTHONPATH=\"$here${PYTHONPATH:+:$PYTHONPATH}\"  # for penstock_pipeline\n";
  }
  words.launch = R"("$TRAIN" --deepspeed_config "$here/ds_config.json")";
  words.setup = "pip install deepspeed\n";
  add_job_files(answer, file, request, words);
  answer.notes.emplace_back(
      plain
          ? "run.sh starts your own script ($TRAIN): DeepSpeed has no models; its pipeline engine "
            "refuses this stage of ZeRO, so hand deepspeed.initialize() the model itself"
          : "run.sh starts your own script ($TRAIN): DeepSpeed has no models; it builds them from "
            "penstock_pipeline.py's PenstockPipelineModule");
  if (request.precision == "float8") {
    answer.notes.emplace_back(
        "the plan multiplies 8 bits: DeepSpeed has no setting for it, so the layers must do so "
        "themselves (Transformer Engine's, under fp8_autocast)");
  }
  if (plain && plan.recompute == "full") {
    answer.notes.emplace_back(
        "the plan recomputes whole layers: the model must checkpoint them itself "
        "(torch.utils.checkpoint, or gradient_checkpointing_enable() of Hugging Face's models)");
  }
  if (shards_in_groups(plan)) {
    answer.notes.emplace_back(
        "groups of shards are DeepSpeed's MiCS: the model must be made under "
        "deepspeed.zero.MiCS_Init; gradients are summed over the groups once per step, so that a "
        "step takes no longer than predicted");
  }
  if (!plan.zero1 && plan.data > 1 && needs_zero1(file, request)) {
    answer.notes.emplace_back(
        "ZeRO-1 is switched on: beside bfloat16, DeepSpeed sums gradients up in 32 bits only with "
        "it; a rank needs less memory than predicted");
  }
  if (plan.tensor > 1) {
    answer.notes.push_back(fmt::format(
        "the layers must be tensor-parallel themselves (TP = {}); DeepSpeed only numbers the ranks",
        plan.tensor));
  }
  return answer;
}

}  // namespace penstock
