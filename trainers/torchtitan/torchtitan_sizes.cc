// What a configuration of torchtitan says.
#include <algorithm>
#include <utility>

#include "trainers/pytorch/pipeline_csv.h"
#include "trainers/torchtitan/torchtitan_judge.h"

namespace penstock {

void TorchtitanJudge::read_sizes() {
  tensor_ = known("parallelism.tensor_parallel_degree", 1);
  pipeline_ = known(kDegree, 1);
  context_ = known("parallelism.context_parallel_degree", 1);
  replicas_ = known(kReplicas, 1);
  shards_ = known(kShards, -1, -1);
  local_ = known("training.local_batch_size", 8);
  global_ = known("training.global_batch_size", -1, -1);
  if (request().layers) layers_ = *request().layers;
  if (request().gpus) gpus_ = *request().gpus;
  if (!request().gpus) gpus_ = file_.gpus;
  read_replicas();
  read_micro_batches();
  const auto name = settings().text(kSchedule);
  schedule_ = find_torch_schedule(settings().has(kSchedule) ? name.value_or("") : "1F1B");
  has_csv_ = settings().has(kCsv) && settings().text(kCsv).value_or("-") != "";
}

std::int64_t TorchtitanJudge::other_ranks() const {
  return product_of({*tensor_, *pipeline_, *context_, *replicas_});
}

void TorchtitanJudge::read_replicas() {
  for (const Known* part : {&tensor_, &pipeline_, &context_, &replicas_, &shards_}) {
    if (!part->is_known()) data_.why_not = part->why_not;
  }
  if (!data_.why_not.empty()) return;
  if (*shards_ >= 1) {
    data_.value = product_of({*replicas_, *shards_});
  } else if (!gpus_) {
    data_.why_not = "data_parallel_shard_degree is -1, all that is left; say the GPUs with --gpus";
  } else if (*gpus_ % other_ranks() == 0) {
    data_.value = product_of({*replicas_, *gpus_ / other_ranks()});
  } else {
    data_.why_not = "the GPUs are not a multiple of the other degrees (E001)";
  }
}

void TorchtitanJudge::read_micro_batches() {
  if (is_head()) {
    micro_batches_ = known(kMicroBatches, 1);
    return;
  }
  micro_batch_ = known(kMicroBatch, 1);
  for (const Known* part : {&local_, &micro_batch_}) {
    if (!part->is_known()) micro_batches_.why_not = part->why_not;
  }
  if (!micro_batches_.why_not.empty()) return;
  if (pipeline_.is_known() && *pipeline_ == 1) {
    read_accumulation();
    return;
  }
  if (*local_ % *micro_batch_ != 0) {
    micro_batches_.why_not = "the micro-batch does not divide the local batch (E001)";
  } else {
    micro_batches_.value = *local_ / *micro_batch_;
  }
}

// Without a pipeline the local batch is one forward; the global batch says how often.
void TorchtitanJudge::read_accumulation() {
  micro_batch_ = local_;
  micro_batches_ = {};
  if (!global_.is_known() || !data_.is_known()) {
    micro_batches_.why_not = global_.is_known() ? data_.why_not : global_.why_not;
  } else if (*global_ < 1) {
    micro_batches_.value = 1;
  } else if (const std::int64_t share = product_of({*local_, *data_}); *global_ % share == 0) {
    micro_batches_.value = *global_ / share;
  } else {
    micro_batches_.why_not = "local batch x DP does not divide the global batch (E001)";
  }
}

std::vector<std::string> TorchtitanJudge::names_in(const Json& value) {
  std::vector<std::string> names;
  if (value.kind() == Json::Kind::kString) {
    const std::string& text = value.text();
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      if (end > at) names.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  for (const Json& element : value.elements()) {
    for (std::string& name : names_in(element)) names.push_back(std::move(name));
  }
  return names;
}

void TorchtitanJudge::read_parts() {
  const LaunchSetting* modules = settings().find(kModules);
  if (modules != nullptr && modules->unresolved.empty() &&
      modules->value.kind() == Json::Kind::kArray) {
    for (const Json& part : modules->value.elements()) parts_.push_back(names_in(part));
  }
  const LaunchSetting* points = settings().find(kSplitPoints);
  if (points != nullptr && points->unresolved.empty()) split_points_ = names_in(points->value);
  if (!version_.splits_by_points) split_points_.clear();
  if (version_.splits_by_points) parts_.clear();
}

std::optional<std::int64_t> TorchtitanJudge::listed_stages() const {
  if (!parts_.empty()) return std::ssize(parts_);
  if (!split_points_.empty()) return std::ssize(split_points_) + 1;
  return {};
}

const LaunchSetting* TorchtitanJudge::list_setting() const {
  return settings().find(parts_.empty() ? kSplitPoints : kModules);
}

void TorchtitanJudge::describe() {
  LaunchJob& job = report().job;
  job.gpus = gpus_;
  job.tensor = as_int(tensor_.value);
  job.pipeline = as_int(pipeline_.value);
  job.context = as_int(context_.value);
  job.expert = as_int(known("parallelism.expert_parallel_degree", 1).value);
  job.data = as_int(data_.value);
  job.micro_batches = as_int(micro_batches_.value);
  job.layers = layers_;
  job.sequence_length = as_int(known(is_head() && settings().has("training.max_context_length")
                                         ? "training.max_context_length"
                                         : "training.seq_len",
                                     std::nullopt)
                                   .value);
  job.micro_batch_size = is_head() ? tokens_as_samples(job) : as_int(micro_batch_.value);
  if (job.micro_batch_size && job.micro_batches && job.data) {
    job.global_batch = as_int(product_of({*job.micro_batch_size, *job.micro_batches, *job.data}));
  }
  if (pipeline_.is_known() && !job.layers_per_stage.empty()) {
    job.chunks = static_cast<int>(std::ssize(job.layers_per_stage) / *pipeline_);
  }
  job.schedule = has_csv_ || schedule_ == nullptr ? "" : schedule_->ours;
  job.recompute = settings().text(kRecompute).value_or("selective");
  job.zero1 = shards_.is_known() && *shards_ != 1;
  if (job.zero1) job.sharding = Sharding::kFsdp;
  const bool in_groups = job.zero1 && data_.is_known() && *replicas_ > 1;
  if (in_groups) job.shard_group = as_int(product_of({*data_ / *replicas_, *context_})).value_or(0);
  const LaunchSetting* place = pipeline_.from != nullptr ? pipeline_.from : local_.from;
  if (place == nullptr) return;
  job.line = place->line;
  job.setting = place->text;
}

std::optional<int> TorchtitanJudge::tokens_as_samples(const LaunchJob& job) const {
  const Known tokens = known(kTokens, std::nullopt);
  if (!tokens.is_known() || !job.sequence_length) return {};
  if (*tokens % *job.sequence_length != 0) return {};
  return as_int(*tokens / *job.sequence_length);
}

}  // namespace penstock
