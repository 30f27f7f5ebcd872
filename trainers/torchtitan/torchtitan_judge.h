// The rules for configurations of torchtitan: what one says (torchtitan_sizes.cc), and what is
// wrong with it, a file per subject. Private to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/judge.h"
#include "trainers/torchtitan/torchtitan_settings.h"
#include "trainers/torchtitan/torchtitan_version.h"
#include "trainers/trainer_table.h"

namespace penstock {

// PyTorch's schedules, by name; what decides how many stages a rank has.
struct TorchSchedule {
  std::string_view name, ours;
  bool many;     // stages per rank
  bool two;      // exactly two, in a V
  bool divides;  // the backward, into I and W
  bool by_name;  // its lists are the schedule's own, not of a CSV
};
inline constexpr std::array kTorchSchedules{
    TorchSchedule{"1F1B", "1f1b", false, false, false, true},
    TorchSchedule{"GPipe", "gpipe", false, false, false, true},
    TorchSchedule{"PipelineScheduleSingle", "", false, false, false, false},
    TorchSchedule{"Interleaved1F1B", "interleaved", true, false, false, true},
    TorchSchedule{"LoopedBFS", "looped-bfs", true, false, false, true},
    TorchSchedule{"InterleavedZeroBubble", "", true, false, true, true},
    TorchSchedule{"ZBVZeroBubble", "zb-v", true, true, true, true},
    TorchSchedule{"DualPipeV", "dualpipe-v", true, true, true, true},
    TorchSchedule{"PipelineScheduleMulti", "", true, false, false, false},
};

// Any case; null for what PyTorch does not find.
const TorchSchedule* find_torch_schedule(const std::string& name);

// "layers.12" -> 12
std::optional<int> torchtitan_layer(std::string_view name);

class TorchtitanJudge : public Judge {
 public:
  TorchtitanJudge(const TorchtitanFile& file, const LintRequest& request, LintReport& report)
      : Judge(file.settings, request, report),
        file_(file),
        version_(torchtitan_version(facts_of("torchtitan", request.version))) {}

  void judge();

 private:
  // Names, as the trainer has them.
  static constexpr const char* kDegree = "parallelism.pipeline_parallel_degree";
  static constexpr const char* kSchedule = "parallelism.pipeline_parallel_schedule";
  static constexpr const char* kCsv = "parallelism.pipeline_parallel_schedule_csv";
  static constexpr const char* kMicroBatch = "parallelism.pipeline_parallel_microbatch_size";
  static constexpr const char* kLayersPerStage = "parallelism.pipeline_parallel_layers_per_stage";
  static constexpr const char* kSplitPoints = "parallelism.pipeline_parallel_split_points";
  static constexpr const char* kModules = "parallelism.module_fqns_per_model_part";
  static constexpr const char* kMicroBatches = "parallelism.num_pp_microbatches";
  static constexpr const char* kFirstLess = "parallelism.pipeline_parallel_first_stage_less_layers";
  static constexpr const char* kLastLess = "parallelism.pipeline_parallel_last_stage_less_layers";
  static constexpr const char* kReplicas = "parallelism.data_parallel_replicate_degree";
  static constexpr const char* kShards = "parallelism.data_parallel_shard_degree";
  static constexpr const char* kRecompute = "activation_checkpoint.mode";
  static constexpr const char* kTokens = "training.num_tokens_per_microbatch_per_dp_rank";
  static constexpr const char* kStops = "torchtitan stops here after the GPUs are allocated.";
  [[nodiscard]] bool is_head() const { return version_.is_python; }
  [[nodiscard]] std::string written(std::string_view key, const std::string& value) const;

  // --- what the file says
  void read_sizes();
  [[nodiscard]] std::int64_t other_ranks() const;
  void read_replicas();
  void read_micro_batches();
  void read_accumulation();
  static std::vector<std::string> names_in(const Json& value);
  void read_parts();
  // S by the lists; nothing without any.
  [[nodiscard]] std::optional<std::int64_t> listed_stages() const;
  [[nodiscard]] const LaunchSetting* list_setting() const;

  // --- E001
  void judge_products();
  void judge_gpus();
  void judge_local_batch();

  // --- E011: stages
  void judge_schedule_name();
  // Of the schedules that only say how many stages a rank has.
  [[nodiscard]] std::string plain_name() const;
  void judge_stages();
  void wrong_stages(std::string message);
  // The lists, or split points, with so many layers on every stage.
  [[nodiscard]] std::string lists_of(const std::vector<int>& counts) const;
  [[nodiscard]] std::string_view head() const { return version_.head_module; }

  [[nodiscard]] int highest_layer() const;
  void set_stages();

  // --- E013
  void judge_modules();
  void wrong_modules(const LaunchSetting& setting, std::string message, const std::string& why);
  void judge_split_points(const LaunchSetting& setting);
  void judge_lists(const LaunchSetting& setting);
  [[nodiscard]] std::string wrong_head(const std::map<std::string, int>& times) const;
  [[nodiscard]] std::string missing_module(const std::map<std::string, int>& times) const;
  void judge_ends(const LaunchSetting& setting);

  // --- E010: the split that torchtitan makes itself
  void judge_automatic_split();
  void uneven(std::string message, const LaunchSetting* place, std::int64_t stages);

  // --- E020, E021
  void judge_micro_batches();
  LintFinding& few_micro_batches(std::string message, std::string why, std::int64_t least);
  // PyTorch's rounds: M % max(1, M / P) = 0.
  void judge_groups();

  // --- the schedule's file
  void judge_csv();

  // --- E040, W050, W051, W060
  void judge_tokens();
  void judge_cuda_graphs();
  void judge_resume();
  void judge_recompute();
  void judge_sends();
  void judge_names();
  void judge_name(const LaunchSetting& setting);
  void describe();
  [[nodiscard]] std::optional<int> tokens_as_samples(const LaunchJob& job) const;

  const TorchtitanFile& file_;
  TorchtitanVersion version_;
  Known tensor_, pipeline_, context_, replicas_, shards_, local_, global_, micro_batch_,
      micro_batches_, data_;
  std::optional<int> layers_, gpus_;
  const TorchSchedule* schedule_ = nullptr;
  bool has_csv_ = false;
  std::optional<bool> csv_divides_;  // nothing: not read
  std::vector<std::vector<std::string>> parts_;
  std::vector<std::string> split_points_;
};

}  // namespace penstock
