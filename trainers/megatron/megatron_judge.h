// The rules for launch scripts of Megatron-LM: what a script says (megatron_sizes.cc), and what is
// wrong with it, a file per subject. Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainers/lint/judge.h"
#include "trainers/lint/launch_script.h"
#include "trainers/megatron/megatron_flags.h"
#include "trainers/megatron/megatron_layout.h"

namespace penstock {

class MegatronJudge : public Judge {
 public:
  MegatronJudge(const LaunchScript& script, const LintRequest& request, LintReport& report)
      : Judge(script.flags, request, report),
        script_(script),
        flags_(megatron_flags(request.version)) {}

  void judge();

 private:
  // Names, as the trainer has them.
  static constexpr const char* kPipeline = "--pipeline-model-parallel-size";
  static constexpr const char* kTensor = "--tensor-model-parallel-size";
  static constexpr const char* kLayers = "--num-layers";
  static constexpr const char* kShardingStrategy = "--data-parallel-sharding-strategy";
  static constexpr const char* kLayout = "--pipeline-model-parallel-layout";
  static constexpr const char* kPerVirtualStage = "--num-layers-per-virtual-pipeline-stage";
  static constexpr const char* kVirtualStages = "--num-virtual-stages-per-pipeline-rank";
  static constexpr const char* kFirst = "--decoder-first-pipeline-num-layers";
  static constexpr const char* kLast = "--decoder-last-pipeline-num-layers";
  static constexpr const char* kGroup = "--microbatch-group-size-per-virtual-pipeline-stage";
  static constexpr const char* kGlobalBatch = "--global-batch-size";
  static constexpr const char* kMicroBatch = "--micro-batch-size";
  static constexpr const char* kNoOverlap = "--no-overlap-p2p-communication";
  static constexpr const char* kHybrid = "--hybrid-layer-pattern";
  static constexpr const char* kEmbedding = "--account-for-embedding-in-pipeline-split";
  static constexpr const char* kLoss = "--account-for-loss-in-pipeline-split";
  static constexpr const char* kStops = "Megatron-LM stops here after the GPUs are allocated.";
  // No model has more, so that a layout can be written out.
  static constexpr std::int64_t kMostLayers = 10'000;

  // --- what the script says
  void read_sizes();
  [[nodiscard]] std::int64_t model_ranks() const;
  void read_replicas();
  void read_micro_batches();
  // V, as far as the flags say it without the layers being right.
  void read_chunks();
  // Layers as the split counts them.
  [[nodiscard]] int accounted() const;
  [[nodiscard]] std::int64_t split_layers() const { return *layers_ + accounted(); }
  [[nodiscard]] bool has_hybrid_pipes() const;

  bool is_program_of_its_own();

  // --- E015; false where TP itself is wrong.
  bool judge_heads();
  [[nodiscard]] std::int64_t smaller_tensor(std::int64_t heads, std::int64_t groups) const;

  // --- E001
  void judge_products();
  [[nodiscard]] std::string smaller_pipeline() const;
  void judge_experts();
  void judge_batch();

  // --- E012
  void judge_first_and_last();

  // --- E010
  void judge_layers();
  void judge_hybrid();
  bool judge_exclusive();
  bool judge_accounted();
  void judge_even(std::int64_t each, std::int64_t virtual_stages);
  void judge_uneven(std::int64_t virtual_stages);
  // A layout for as many stages, or fewer stages where there are not enough layers.
  void uneven(std::string message, std::int64_t stages, const LaunchSetting* place);
  [[nodiscard]] std::string layout_flag(const std::vector<int>& counts) const;
  [[nodiscard]] int mtp() const;
  void set_stages(std::vector<int> counts) { report().job.layers_per_stage = std::move(counts); }

  // --- E011
  void judge_layout();
  void wrong_layout(std::string message, std::int64_t pieces);
  void judge_virtual_beside_layout(std::int64_t pieces);
  void judge_letters(const MegatronLayout& layout);
  void judge_mtp(const MegatronLayout& layout, const std::string& all, std::int64_t count);
  void judge_empty_pieces(const MegatronLayout& layout);

  // --- E020, E021
  void judge_micro_batches();
  void judge_groups();
  // The nearest size of a group that is allowed; M itself always is.
  [[nodiscard]] std::int64_t fitting_group(std::int64_t wanted) const;

  // --- E040, W050, W051, W060
  void judge_resume();
  [[nodiscard]] const LaunchSetting* recompute() const;
  void judge_recompute();
  void judge_overlap();
  void judge_names();
  [[nodiscard]] bool writes_underscores() const;
  // Whose script this is, by flags that only a fork has.
  void read_fork();
  bool judge_renamed(const LaunchSetting& setting);
  void misspelt_flag(const LaunchSetting& setting, const std::string& near);
  void tell_other_flags(const std::vector<std::string>& older,
                        const std::vector<std::string>& unknown);

  // --- what a prediction needs
  void describe();

  const LaunchScript& script_;
  MegatronFlags flags_;
  std::string fork_;           // empty: Megatron-LM itself
  bool is_deepspeed_ = false;  // DeepSpeed's engine cuts the model
  bool is_other_program_ = false;
  Known tensor_, pipeline_, context_, gpus_, data_, micro_batch_, global_batch_, micro_batches_,
      layers_, chunks_;
};

}  // namespace penstock
