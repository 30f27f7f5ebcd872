// W060: keys that torchtitan does not have.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/trainers/lint/megatron_layout.h"
#include "report/trainers/lint/torchtitan_judge.h"
#include "report/trainers/pipeline_csv.h"

namespace penstock {
namespace {

// What versions call the same thing.
struct Renamed {
  std::string_view name;
  std::array<std::string_view, 3> now;  // in 0.1, 0.2 and head; empty: known there
};

// Of [parallelism], all versions together.
constexpr std::array<std::string_view, 27> kParallelism{"enable_fsdp_symm_mem",
                                                        "spmd_backend",
                                                        "context_parallel_ptrr_mask_key",
                                                        "data_parallel_replicate_degree",
                                                        "enable_compiled_autograd",
                                                        "data_parallel_shard_degree",
                                                        "fsdp_reshard_after_forward",
                                                        "tensor_parallel_degree",
                                                        "disable_loss_parallel",
                                                        "enable_async_tensor_parallel",
                                                        "pipeline_parallel_degree",
                                                        "pipeline_parallel_split_points",
                                                        "pipeline_parallel_layers_per_stage",
                                                        "pipeline_parallel_schedule",
                                                        "pipeline_parallel_schedule_csv",
                                                        "pipeline_parallel_microbatch_size",
                                                        "context_parallel_degree",
                                                        "context_parallel_rotate_method",
                                                        "expert_parallel_degree",
                                                        "expert_tensor_parallel_degree",
                                                        "module_fqns_per_model_part",
                                                        "pipeline_parallel_first_stage_less_layers",
                                                        "pipeline_parallel_last_stage_less_layers",
                                                        "pipeline_parallel_expert_parallel_overlap",
                                                        "num_pp_microbatches",
                                                        "context_parallel_load_balancer",
                                                        "enable_sequence_parallel"};

}  // namespace

void TorchtitanJudge::judge_names() {
  judged("W060");
  if (is_head() && file_.carrier == TorchtitanCarrier::kToml && !settings().all().empty()) {
    broken("W060", {&settings().all().front()},
           "head takes its configuration from a Python function",
           "torchtitan reads no TOML since 2026-02-23.",
           "--target-version 0.2 for this file, or penstock export --to torchtitan "
           "--target-version head");
  }
  for (const LaunchSetting& setting : settings().all()) judge_name(setting);
}

void TorchtitanJudge::judge_name(const LaunchSetting& setting) {
  static constexpr std::array kRenamed{
      Renamed{kSplitPoints, {"", kModules, kModules}},
      Renamed{kModules, {kSplitPoints, "", ""}},
      Renamed{kMicroBatches, {kMicroBatch, kMicroBatch, ""}},
      Renamed{kMicroBatch, {"", "", kMicroBatches}},
      Renamed{kFirstLess, {kSplitPoints, "", ""}},
      Renamed{kLastLess, {kSplitPoints, "", ""}},
      Renamed{"training.local_batch_size",
              {"", "", "training.num_tokens_per_microbatch_per_dp_rank"}},
      Renamed{"training.global_batch_size", {"", "", "training.num_tokens_per_train_step"}},
      Renamed{"training.batch_size",
              {"training.local_batch_size", "training.local_batch_size",
               "training.num_tokens_per_microbatch_per_dp_rank"}},
      Renamed{"experimental.pipeline_parallel_degree", {kDegree, kDegree, kDegree}},
      Renamed{"experimental.pipeline_parallel_schedule", {kSchedule, kSchedule, kSchedule}},
      Renamed{"experimental.pipeline_parallel_microbatches",
              {kMicroBatch, kMicroBatch, kMicroBatches}},
      Renamed{"training.tensor_parallel_degree",
              {"parallelism.tensor_parallel_degree", "parallelism.tensor_parallel_degree",
               "parallelism.tensor_parallel_degree"}},
      Renamed{"training.data_parallel_shard_degree", {kShards, kShards, kShards}},
      Renamed{"training.data_parallel_replicate_degree", {kReplicas, kReplicas, kReplicas}},
  };
  for (const Renamed& renamed : kRenamed) {
    const std::string_view now = renamed.now[static_cast<std::size_t>(version_)];
    if (renamed.name != setting.name || now.empty()) continue;
    broken("W060", {&setting},
           fmt::format("torchtitan {} has no {}", request().version, setting.name),
           "Other versions have it; this one stops at the key, or passes over it.",
           fmt::format("{} in its place", now));
    return;
  }
  constexpr std::string_view kTable = "parallelism.";
  if (!setting.name.starts_with(kTable)) return;
  const std::string key = setting.name.substr(kTable.size());
  if (std::find(kParallelism.begin(), kParallelism.end(), key) != kParallelism.end()) return;
  if (!tell_unknown_name()) return;
  const auto nearest = nearest_name(key, {kParallelism.begin(), kParallelism.end()});
  broken("W060", {&setting},
         fmt::format("{} is no key of torchtitan that is known here", setting.name),
         "torchtitan stops at a key that it does not know.",
         nearest ? fmt::format("{}{}", kTable, *nearest) : "take it out, or --ignore W060");
}

}  // namespace penstock
