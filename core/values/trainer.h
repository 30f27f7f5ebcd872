// A version of a trainer that plans are made for: what it can run and how it overlaps transfers, as
// plain data. The rows and their facts are in trainers/; the search, the exports and their refusals
// go by these values alone and know no trainer by name (core/values/trainer_limits.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"

namespace penstock {

// Which schedules it can run.
enum class TrainerSchedules {
  kNamed,       // those of a list
  kStaticCsv,   // any static lists of F, B, I and W whose stages live on one rank (PyTorch's CSV)
  kOwnRuntime,  // ours: also several copies of the weights, and most rules that decide at run time
};

// Whether some sections may recompute while others keep their activations.
enum class DividedRecompute {
  kRefused,    // one mode for all layers
  kPerStage,   // as the plan says
  kOneNumber,  // in mode "full" the first so many layers of every stage, the same number for all
};

// Which stages must have a layer of the model, beside embedding or head.
enum class LayerOnStage { kNotNeeded, kInnerStages, kAllStages };

struct Trainer {
  std::string name;   // as it is typed: "megatron", "torchtitan@0.1"
  std::string title;  // as its authors write it: "Megatron-LM"
  ExecutorModel executor;

  TrainerSchedules schedules = TrainerSchedules::kNamed;
  std::vector<std::string> schedule_names;  // of kNamed
  std::string why_no_other_schedule;
  std::string why_no_divided_backward;  // beside recompute; empty: it takes both
  bool only_two_in_v = false;           // a V has two stages per rank
  bool has_megatron_groups = false;     // interleaves groups of at least PP, also the last

  bool equal_replicas = true;         // the same even share of the batch for all
  std::string why_no_tensor;          // empty: TP may be more than 1
  std::string why_no_single_replica;  // DP = 1 with TP or PP; empty: it can

  std::vector<Sharding> shardings;                             // beside ZeRO-1
  bool has_context = false;                                    // divides sequences: CP
  std::vector<ContextKind> context_kinds{ContextKind::kRing};  // in these ways
  bool has_experts = false;                                    // EP
  // Keeps the optimizer's state on the host, and updates there.
  bool offloads_optimizer = false;
  bool shards_state_alone = true;  // ZeRO-1: else what else it shards takes its place

  std::optional<std::vector<std::string>> recompute_modes;  // beside "none"; nothing: any
  std::string why_no_other_mode;                            // the plan's mode follows
  DividedRecompute divided_recompute = DividedRecompute::kRefused;

  bool counts_layers = false;      // what follows needs sections named as layers
  std::string why_whole_front;     // all of the embedding is on stage 0; empty: need not be
  std::optional<int> most_behind;  // sections behind the layers
  LayerOnStage layer_on = LayerOnStage::kNotNeeded;
  std::string why_a_layer;
};

}  // namespace penstock
