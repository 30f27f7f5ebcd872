// A Python recipe whose function planned(cfg) assigns every decision of the plan to a field of the
// ConfigContainer, so that it can be applied to a recipe of the user's own. The rest of the file is
// a trial of fifty steps on made-up data. Braces of Python are written out as text, never by fmt.
#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "trainers/exports/export_parts.h"
#include "trainers/exports/job_files.h"
#include "trainers/megatron/megatron.h"
#include "trainers/trainer_rows.h"

namespace penstock {
namespace {

// Its presets set the gradients' precision as well.
std::string precision_lines(const PlanFile& file, const ExportRequest& request) {
  if (!has_16_bits(request)) {
    return "    cfg.mixed_precision = None\n    cfg.model.bf16 = False\n    cfg.model.fp16 = "
           "False\n";
  }
  const char* preset = request.precision == "float8"     ? "bf16_with_fp8_delayed_scaling_mixed"
                       : request.precision == "bfloat16" ? "bf16_mixed"
                                                         : "fp16_mixed";
  return fmt::format(
      "    cfg.mixed_precision = get_mixed_precision_config(\"{}\")\n"
      "    cfg.mixed_precision.grad_reduce_in_fp32 = {}\n",
      preset, sums_gradients_in_32_bits(file) ? "True" : "False");
}

// The statements of planned(), one field of its ConfigContainer each.
std::string fields_of(const PlanFile& file, const ExportRequest& request) {
  const Plan& plan = file.plan;
  std::string text;
  const auto set = [&text](std::string_view field, const auto& value) {
    text += fmt::format("    cfg.{} = {}\n", field, value);
  };
  const auto boolean = [](bool value) { return value ? "True" : "False"; };
  set("model.tensor_model_parallel_size", plan.tensor);
  set("model.sequence_parallel", boolean(is_sequence_parallel(file, request)));
  set("model.pipeline_model_parallel_size", plan.pipeline);
  if (plan.pipeline > 1) {
    set("model.pipeline_model_parallel_layout", '"' + megatron_layout(file) + '"');
    set("model.virtual_pipeline_model_parallel_size",
        plan.chunks > 1 ? fmt::format("{}", plan.chunks) : "None");
  }
  if (plan.chunks > 1) {
    set("model.microbatch_group_size_per_vp_stage", interleaving_group(plan));
  }
  set("model.context_parallel_size", plan.context);
  if (plan.context > 1 && plan.context_kind != ContextKind::kRing) {
    set("model.cp_comm_type",
        plan.context_kind == ContextKind::kAllGather ? "\"all_gather\"" : "\"a2a\"");
  }
  if (plan.expert > 1 || plan.expert_tensor > 0) {
    set("model.expert_model_parallel_size", plan.expert);
    set("model.expert_tensor_parallel_size", plan.other_degrees().expert_tensor_of(plan.tensor));
  }
  set("train.micro_batch_size", plan.micro_batch_size);
  set("train.global_batch_size", plan.global_batch);
  if (plan.sequence_length > 0) {
    set("model.seq_length", plan.sequence_length);
    set("dataset.seq_length", plan.sequence_length);
  }
  const bool divided = recompute_is_divided(plan);
  const bool full = plan.recompute == "full";
  set("model.recompute_granularity",
      plan.recompute == "none" ? std::string("None") : '"' + plan.recompute + '"');
  set("model.recompute_method", !full ? "None" : divided ? "\"block\"" : "\"uniform\"");
  set("model.recompute_num_layers",
      !full ? std::string("None")
            : fmt::format("{}",
                          divided ? recomputed_layers_of_each_stage(plan, file.section_names) : 1));
  text += precision_lines(file, request);
  const bool is_distributed = plan.zero1 || plan.offload_optimizer;
  set("ddp.use_distributed_optimizer", boolean(is_distributed));
  set("optimizer.use_distributed_optimizer", boolean(is_distributed));
  if (plan.offload_optimizer) {
    set("optimizer.optimizer_cpu_offload", "True");
    set("optimizer.optimizer_offload_fraction", "1.0");
    set("optimizer.use_precision_aware_optimizer", "True");
  }
  if (!is_distributed) set("ddp.overlap_param_gather", "False");
  if (needs_megatron_fsdp(plan)) {
    set("ddp.use_megatron_fsdp", "True");
    set("ddp.data_parallel_sharding_strategy",
        plan.sharding == Sharding::kGradients ? "\"optim_grads\"" : "\"optim_grads_params\"");
    if (plan.shard_group > 0) {
      set("ddp.num_distributed_optimizer_instances", plan.weight_copies() / plan.shard_group);
    }
    set("model.gradient_accumulation_fusion", "False");
    set("checkpoint.ckpt_format", "\"fsdp_dtensor\"");
  }
  const bool pipeline_inner = plan.placement == Placement::kPipelineInner;
  set("dist.use_tp_pp_dp_mapping", boolean(pipeline_inner && plan.data > 1 && plan.pipeline > 1));
  return text;
}

std::string recipe_of(const PlanFile& file, const ExportRequest& request) {
  std::string text = header_of(file, request, "Megatron-Bridge", "# ");
  text +=
      "# run.sh starts it; HF_MODEL names a model on Hugging Face, or a folder with its "
      "config.json.\n"
      "# In a recipe of your own: cfg = planned(my_recipe()).\n"
      "import os\n\nfrom megatron.bridge.training.mixed_precision import "
      "get_mixed_precision_config\n\n\n"
      "def planned(cfg):\n" +
      fields_of(file, request) + "    return cfg\n\n\n";
  return text + R"(def recipe():
    """A trial: 50 steps on made-up data."""
    from megatron.bridge import AutoBridge
    from megatron.bridge.recipes.common import _pretrain_common

    cfg = _pretrain_common()
    bridge = AutoBridge.from_hf_pretrained(os.environ["HF_MODEL"])
    cfg.model = bridge.to_megatron_provider(load_weights=False)
    cfg.tokenizer.tokenizer_type = "NullTokenizer"
    cfg.tokenizer.tokenizer_model = None
    cfg.tokenizer.vocab_size = cfg.model.vocab_size
    cfg.train.train_iters = 50
    cfg.scheduler.lr_warmup_iters = 5
    cfg.validation.eval_iters = 0
    cfg.logger.log_interval = 1
    cfg.checkpoint.save = None
    cfg.checkpoint.load = None
    return planned(cfg)

if __name__ == "__main__":
    from megatron.bridge.training.gpt_step import forward_step
    from megatron.bridge.training.pretrain import pretrain

    pretrain(recipe(), forward_step)
)";
}

Export export_megatron_bridge(const PlanFile& file, const ExportRequest& request,
                              const Json& /*facts*/) {
  Export answer;
  answer.files.push_back({"penstock_recipe.py", recipe_of(file, request)});
  JobWords words;
  words.trainer = "Megatron-Bridge";
  words.prepare =
      ": \"${HF_MODEL:?set it to a model of Hugging Face, or to a folder with its config.json}\"\n"
      "export HF_MODEL\n";
  words.prepare += needs_megatron_fsdp(file.plan)
                       ? "unset CUDA_DEVICE_MAX_CONNECTIONS\n"
                       : "export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}\n";
  words.launch = "\"$here/penstock_recipe.py\"";
  words.setup =
      "# It needs PyTorch, Transformer Engine and Megatron-LM: NVIDIA's NeMo image holds them.\n"
      "pip install megatron-bridge\n";
  add_job_files(answer, file, request, words);
  answer.notes = megatron_notes(file, request);
  return answer;
}

}  // namespace

TrainerRow megatron_bridge_row() {
  return {
      .name = "megatron-bridge",
      .folder = "megatron_bridge",
      .title = "Megatron-Bridge",
      .exporter = Exporter{"a Python recipe for Megatron-Bridge (NeMo)", export_megatron_bridge}};
}

}  // namespace penstock
