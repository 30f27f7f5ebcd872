// Flags of one Megatron-LM version, by its facts: degrees, layout, batch, recompute, precision, and
// the model's own flags from its config.json (megatron_model.cc). Layers per stage are written as a
// layout, the only form that can express uneven cuts with VP.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "trainers/exports/export_parts.h"
#include "trainers/exports/job_files.h"
#include "trainers/megatron/megatron.h"
#include "trainers/megatron/megatron_model.h"

namespace penstock {
namespace {

std::string repeated(char letter, int count) {
  if (count == 0) return "";
  return count == 1 ? std::string(1, letter) : fmt::format("{}*{}", letter, count);
}

// Equal pieces in a row are written once, as "(t*2|)*34".
std::string joined_pieces(const std::vector<std::string>& pieces) {
  std::string text;
  for (std::size_t i = 0; i < pieces.size();) {
    std::size_t end = i;
    while (end < pieces.size() && pieces[end] == pieces[i]) ++end;
    // Every repetition ends in a bar, so the last piece of all stays outside.
    const std::size_t times = std::min(end, pieces.size() - 1) - i;
    if (times >= 3) {
      text += fmt::format("({}|)*{}", pieces[i], times);
      i += times;
    } else {
      text += pieces[i] + (i + 1 < pieces.size() ? "|" : "");
      ++i;
    }
  }
  return text;
}

// One piece per stage, of a plan that verdict_of() lets through.
std::string layout_of(const PlanFile& file, const ModelLayers& model) {
  const Plan& plan = file.plan;
  std::vector<std::string> pieces;
  for (int s = 0; s < plan.stages(); ++s) {
    const StageLayers held = layers_of_stage(model, plan, s);
    const bool last = s + 1 == plan.stages();
    pieces.push_back(std::string(s == 0 ? "E" : "") + repeated('t', held.count) +
                     (last ? "L" : ""));
  }
  return joined_pieces(pieces);
}

class Flags {
 public:
  void add(const std::string& name) { text_ += "  " + name + '\n'; }
  template <class Value>
  void add(const std::string& name, const Value& value) {
    text_ += fmt::format("  {} {}\n", name, value);
  }
  [[nodiscard]] std::string array(std::string_view name) const {
    return fmt::format("{}=(\n{})\n", name, text_);
  }

 private:
  std::string text_;
};

void add_precision(Flags& flags, const PlanFile& file, const ExportRequest& request) {
  if (request.precision == "bfloat16") {
    flags.add("--bf16");  // and gradients in 32 bits, unless it is told otherwise
    if (!sums_gradients_in_32_bits(file)) flags.add("--grad-reduce-in-bf16");
  } else if (request.precision == "float8") {
    flags.add("--bf16");
    flags.add("--fp8-format", "hybrid");
    flags.add("--fp8-param-gather");
    if (!sums_gradients_in_32_bits(file)) flags.add("--grad-reduce-in-bf16");
  } else if (request.precision == "float16") {
    flags.add("--fp16");
    if (sums_gradients_in_32_bits(file)) flags.add("--accumulate-allreduce-grads-in-fp32");
  }
}

void add_recompute(Flags& flags, const PlanFile& file) {
  const Plan& plan = file.plan;
  const bool divided = recompute_is_divided(plan);
  if (plan.recompute == "selective") flags.add("--recompute-granularity", "selective");
  if (plan.recompute != "full") return;
  flags.add("--recompute-granularity", "full");
  flags.add("--recompute-method", divided ? "block" : "uniform");
  flags.add("--recompute-num-layers",
            divided ? recomputed_layers_of_each_stage(plan, file.section_names) : 1);
}

// What Megatron-FSDP asks for (megatron/core/distributed/fsdp, its user guide); instances of the
// optimizer are groups of shards.
void add_sharding(Flags& flags, const Plan& plan) {
  if (!needs_megatron_fsdp(plan)) return;
  flags.add("--use-megatron-fsdp");
  flags.add("--data-parallel-sharding-strategy",
            plan.sharding == Sharding::kGradients ? "optim_grads" : "optim_grads_params");
  if (plan.shard_group > 0) {
    flags.add("--num-distributed-optimizer-instances", plan.weight_copies() / plan.shard_group);
  }
  flags.add("--no-gradient-accumulation-fusion");
  flags.add("--ckpt-format", "fsdp_dtensor");
}

std::string_view communication_of(ContextKind kind) {
  if (kind == ContextKind::kRing) return "p2p";
  return kind == ContextKind::kAllGather ? "all_gather" : "a2a";
}

std::string plan_args(const PlanFile& file, const ExportRequest& request,
                      const ModelLayers& model) {
  const Plan& plan = file.plan;
  Flags flags;
  flags.add("--tensor-model-parallel-size", plan.tensor);
  if (is_sequence_parallel(file, request)) flags.add("--sequence-parallel");
  if (plan.context > 1) {
    flags.add("--context-parallel-size", plan.context);
    flags.add("--cp-comm-type", communication_of(plan.context_kind));
  }
  if (plan.expert > 1 || plan.expert_tensor > 0) {
    flags.add("--expert-model-parallel-size", plan.expert);
    flags.add("--expert-tensor-parallel-size", plan.other_degrees().expert_tensor_of(plan.tensor));
  }
  flags.add("--pipeline-model-parallel-size", plan.pipeline);
  if (plan.pipeline > 1) {
    flags.add("--pipeline-model-parallel-layout", '"' + layout_of(file, model) + '"');
  }
  if (plan.chunks > 1) {
    flags.add("--microbatch-group-size-per-virtual-pipeline-stage", interleaving_group(plan));
  }
  flags.add("--num-layers", model.layers);
  flags.add("--micro-batch-size", plan.micro_batch_size);
  flags.add("--global-batch-size", plan.global_batch);
  if (plan.sequence_length > 0) flags.add("--seq-length", plan.sequence_length);
  add_precision(flags, file, request);
  if (plan.zero1 || plan.offload_optimizer) flags.add("--use-distributed-optimizer");
  // It steps on the host by the code of that other flag (megatron/training/arguments.py).
  if (plan.offload_optimizer) {
    flags.add("--optimizer-cpu-offload");
    flags.add("--use-precision-aware-optimizer");
  }
  add_sharding(flags, plan);
  add_recompute(flags, file);
  // By default the replicas of a stage are side by side.
  const bool pipeline_inner = plan.placement == Placement::kPipelineInner;
  if (pipeline_inner && plan.data > 1 && plan.pipeline > 1) flags.add("--use-tp-pp-dp-mapping");
  return flags.array("PENSTOCK_ARGS");
}

std::string model_args(const MegatronModel* model) {
  if (model == nullptr) {
    return "# The plan rests on a profile, which does not hold the model's sizes: export it with\n"
           "# --model config.json, or write them here.\nMODEL_ARGS=()\n";
  }
  Flags flags;
  for (const std::string& flag : model->flags) flags.add(flag);
  return flags.array("MODEL_ARGS");
}

// A trial: a few steps on made-up data, whose log `penstock validate` reads.
std::string trial_args(const ExportRequest& request) {
  Flags data, train;
  data.add("--mock-data");
  data.add("--tokenizer-type", "NullTokenizer");
  if (request.model) data.add("--vocab-size", request.model->architecture.vocabulary);
  for (const char* flag :
       {"--train-iters 50", "--lr 1e-4", "--min-lr 1e-5", "--lr-decay-style cosine",
        "--lr-warmup-iters 5", "--weight-decay 0.1", "--clip-grad 1.0", "--eval-iters 0",
        "--log-interval 1", "--log-throughput"}) {
    train.add(flag);
  }
  return "# A trial on made-up data: put your own data, tokenizer and learning rates here.\n" +
         data.array("DATA_ARGS") + train.array("TRAIN_ARGS");
}

JobWords job_words(const Plan& plan) {
  JobWords words;
  words.trainer = "Megatron-LM core";
  words.prepare = R"(: "${MEGATRON:?set it to the folder of your clone of Megatron-LM}"
source "$here/megatron_args.sh"
if ((${#MODEL_ARGS[@]} == 0)); then
  echo "megatron_args.sh: MODEL_ARGS is empty; export with --model config.json" >&2
  exit 2
fi
cd -- "$MEGATRON"
)";
  // Gathers and scatters of FSDP run beside compute on queues of their own; everything else wants
  // one queue, so that they are issued in order.
  words.prepare += needs_megatron_fsdp(plan)
                       ? "unset CUDA_DEVICE_MAX_CONNECTIONS\n"
                       : "export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}\n";
  words.launch =
      "pretrain_gpt.py \"${MODEL_ARGS[@]}\" \"${PENSTOCK_ARGS[@]}\" \\\n"
      "  \"${DATA_ARGS[@]}\" \"${TRAIN_ARGS[@]}\"";
  words.setup =
      "# Megatron-LM needs PyTorch, Transformer Engine and Apex: an image that holds them.\n"
      "git clone https://github.com/NVIDIA/Megatron-LM ~/Megatron-LM || true\n"
      "pip install -e ~/Megatron-LM\n";
  words.clone = "export MEGATRON=$HOME/Megatron-LM";
  return words;
}

}  // namespace

bool needs_megatron_fsdp(const Plan& plan) {
  return plan.zero1 && plan.sharding != Sharding::kState;
}

std::string megatron_layout(const PlanFile& file) {
  const auto model = model_layers(file.section_names);
  return model ? layout_of(file, *model) : "";
}

std::vector<std::string> megatron_notes(const PlanFile& file, const ExportRequest& request) {
  std::vector<std::string> notes;
  if (is_without_sequence_parallelism(file) && is_sequence_parallel(file, request)) {
    notes.emplace_back(
        "the plan was made without sequence parallelism, which Megatron-LM demands of models with "
        "experts where TP > 1: it is switched on here, and time and memory differ from what was "
        "predicted");
  }
  const auto model = model_layers(file.section_names);
  for (int s = 0; model && s + 1 < file.plan.stages(); ++s) {
    if (layers_of_stage(*model, file.plan, s).back == 0) continue;
    notes.push_back(fmt::format(
        "the plan has a section after the layers on stage {}; Megatron-LM places its final norm "
        "itself",
        s));
  }
  return notes;
}

Export export_megatron(const PlanFile& file, const ExportRequest& request, const Json& /*facts*/) {
  std::optional<MegatronModel> model;
  if (request.model) model = megatron_model(*request.model, file.plan.sequence_length);
  Export answer;
  answer.files.push_back(
      {"megatron_args.sh",
       header_of(file, request, "Megatron-LM core", "# ") +
           "# run.sh reads this. In a script of your own: source it, then\n"
           "#   torchrun ... pretrain_gpt.py \"${MODEL_ARGS[@]}\" \"${PENSTOCK_ARGS[@]}\" ...\n" +
           plan_args(file, request, *model_layers(file.section_names)) +
           model_args(model ? &*model : nullptr) + trial_args(request)});
  add_job_files(answer, file, request, job_words(file.plan));
  answer.notes = megatron_notes(file, request);
  if (!model) {
    answer.notes.emplace_back(
        "MODEL_ARGS is empty, since a profile does not hold the model's sizes: add --model "
        "config.json");
  }
  for (const std::string& what : model ? model->differs : std::vector<std::string>{}) {
    answer.notes.push_back("Megatron-LM has no flag for all of this model: " + what);
  }
  return answer;
}

}  // namespace penstock
