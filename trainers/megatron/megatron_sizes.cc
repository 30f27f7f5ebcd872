// What a launch script of Megatron-LM says.
#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "trainers/megatron/megatron_judge.h"

namespace penstock {

void MegatronJudge::read_sizes() {
  tensor_ = known("--tensor-model-parallel-size", 1);
  pipeline_ = known(kPipeline, 1);
  context_ = known("--context-parallel-size", 1);
  micro_batch_ = known(kMicroBatch, std::nullopt);
  layers_ = known(settings().has(kLayers) ? kLayers : "--decoder-num-layers", std::nullopt);
  if (!settings().has(kLayers) && !settings().has("--decoder-num-layers")) {
    layers_.why_not = "--num-layers is not set; name the model with --config";
    if (request().layers) layers_.value = std::min<std::int64_t>(*request().layers, kMostLayers);
  }
  if (layers_.from != nullptr && layers_.is_known() && *layers_ > kMostLayers) {
    settings().refuse(*layers_.from, fmt::format("{} layers do not make a model", *layers_),
                      fmt::format("at most {}", kMostLayers));
  }
  if (request().gpus) {
    gpus_.value = *request().gpus;
  } else if (script_.gpus) {
    gpus_.value = *script_.gpus;
  } else {
    gpus_.why_not =
        script_.why_no_gpus.empty() ? "the script does not say how many GPUs" : script_.why_no_gpus;
    gpus_.why_not += "; say it with --gpus";
  }
  read_replicas();
  read_micro_batches();
  read_chunks();
}

std::int64_t MegatronJudge::model_ranks() const {
  return product_of({*tensor_, *pipeline_, *context_});
}

void MegatronJudge::read_replicas() {
  for (const Known* part : {&tensor_, &pipeline_, &context_, &gpus_}) {
    if (!part->is_known()) {
      data_.why_not = part->why_not;
      return;
    }
  }
  if (*gpus_ % model_ranks() != 0) {
    data_.why_not = "the GPUs are not a multiple of TP x PP x CP (E001)";
  } else {
    data_.value = *gpus_ / model_ranks();
  }
}

void MegatronJudge::read_micro_batches() {
  const LaunchSetting* global = settings().find(kGlobalBatch);
  global_batch_ = known(kGlobalBatch, std::nullopt);
  for (const Known* part : {&data_, &micro_batch_}) {
    if (!part->is_known()) micro_batches_.why_not = part->why_not;
  }
  if (global == nullptr && is_deepspeed_) {
    global_batch_.why_not = "--global-batch-size is not set; DeepSpeed's own file may say it";
  } else if (global == nullptr && settings().doubt_of(kGlobalBatch).empty() &&
             micro_batches_.why_not.empty()) {
    // Megatron-LM takes b x D, one micro-batch.
    global_batch_.value = product_of({*micro_batch_, *data_});
    global_batch_.why_not.clear();
  }
  if (!global_batch_.is_known()) micro_batches_.why_not = global_batch_.why_not;
  if (!micro_batches_.why_not.empty()) return;
  const std::int64_t share = product_of({*micro_batch_, *data_});
  if (*global_batch_ % share != 0) {
    micro_batches_.why_not = "mbs x DP does not divide the global batch (E001)";
  } else {
    micro_batches_.value = *global_batch_ / share;
  }
}

void MegatronJudge::read_chunks() {
  for (const char* flag : {kLayout, kVirtualStages, kPerVirtualStage}) {
    chunks_.why_not = settings().doubt_of(flag);
    if (!chunks_.why_not.empty()) return;
  }
  chunks_ = known(kVirtualStages, 1);
  if (settings().has(kPerVirtualStage)) {
    const Known each = known(kPerVirtualStage, std::nullopt);
    chunks_ = {};
    for (const Known* part : std::initializer_list<const Known*>{&each, &layers_, &pipeline_}) {
      if (!part->is_known()) chunks_.why_not = part->why_not;
    }
    if (!chunks_.why_not.empty()) return;
    const std::int64_t all = product_of({*each, *pipeline_});
    if (split_layers() % all == 0) {
      chunks_.value = split_layers() / all;
    } else {
      chunks_.why_not = "VP does not follow from the layers (E010)";
    }
  }
  if (const auto text = settings().text(kLayout)) {
    const MegatronLayout layout = read_megatron_layout(*text);
    chunks_ = {};
    const auto pieces = std::ssize(layout.stages);
    if (!pipeline_.is_known()) {
      chunks_.why_not = pipeline_.why_not;
    } else if (!layout.why_not.empty() || pieces % *pipeline_ != 0) {
      chunks_.why_not = "VP does not follow from the layout (E011)";
    } else {
      chunks_.value = pieces / *pipeline_;
    }
  }
}

void MegatronJudge::describe() {
  LaunchJob& job = report().job;
  job.gpus = as_int(gpus_.value);
  job.tensor = as_int(tensor_.value);
  job.pipeline = as_int(pipeline_.value);
  job.context = as_int(context_.value);
  job.expert = as_int(known("--expert-model-parallel-size", 1).value);
  job.expert_tensor = as_int(known("--expert-tensor-parallel-size", std::nullopt).value);
  job.data = as_int(data_.value);
  job.chunks = as_int(chunks_.value).value_or(1);
  job.micro_batch_size = as_int(micro_batch_.value);
  job.global_batch = as_int(global_batch_.value);
  job.micro_batches = as_int(micro_batches_.value);
  job.sequence_length = as_int(known("--seq-length", std::nullopt).value);
  job.layers = as_int(layers_.value);
  job.zero1 = settings().on("--use-distributed-optimizer");
  if (settings().on("--use-megatron-fsdp")) {
    const std::string strategy = settings().text(kShardingStrategy).value_or("no_shard");
    job.zero1 = strategy != "no_shard";
    if (strategy == "optim_grads") job.sharding = Sharding::kGradients;
    if (strategy == "optim_grads_params") job.sharding = Sharding::kParameters;
  }
  job.schedule = job.chunks > 1 ? "interleaved" : "1f1b";
  const auto granularity = settings().text("--recompute-granularity");
  if (granularity) job.recompute = *granularity;
  if (!granularity && recompute() != nullptr) {
    job.recompute = settings().on("--recompute-activations") ? "selective" : "full";
  }
  const LaunchSetting* place = pipeline_.from != nullptr ? pipeline_.from : layers_.from;
  if (place == nullptr) return;
  job.file = settings().lines().file_of(place->line);
  job.line = settings().lines().line_in_file(place->line);
  job.setting = place->text;
}

}  // namespace penstock
