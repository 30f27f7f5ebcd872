// Plans for the tiny models, and their training by all ranks of a plan, each a thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/plan_file.h"
#include "core/values/profile.h"
#include "tests/training/torch/tiny_models.h"

namespace penstock::testing {

// Made-up times and sizes, in proportion to samples times tokens, and a node of so many devices.
ModelProfile tiny_profile(const ModelDescription& model, const std::vector<int>& lengths,
                          const std::vector<int>& sizes);
ClusterSpec tiny_cluster(int devices);

// How a tiny model is laid out; cuts are as even as sections allow.
struct TinyLayout {
  std::string schedule = "1f1b";
  int pipeline = 2;
  int chunks = 1;  // only where the schedule leaves it open
  int data = 1;
  int micro_batch_size = 1, global_batch = 8;
  bool recompute = false, zero1 = false;
  std::vector<int> cuts{};  // where they are not even
  Sharding sharding = Sharding::kState;
  int shard_group = 0;
};

Plan tiny_layout(const ModelDescription& model, const TinyLayout& layout);

// Of made-up times and sizes. The reason, where the schedule does not allow the layout.
struct TinyPlan {
  PlanFile file;
  std::string why_not;
};
TinyPlan tiny_plan(const ModelDescription& model, const TinyLayout& layout);

struct TrainedPlan {
  std::vector<double> losses, gradient_norms;  // by step
  double weights = 0.0;                        // WeightComparison::worst()
  std::size_t peak = 0;                        // TorchState::peak_bytes(), of the fullest rank
  std::vector<std::string> not_split;          // of all ranks
};
// Compares the weights with `expected` where it has any.
TrainedPlan train(const PlanFile& file, const TrainingOptions& options, int steps,
                  const ReferenceRun& expected);

// Step t under plan t % plans.size(), each time handed over anew, by ranks that keep their state:
// the plans are for as many ranks.
TrainedPlan train_by_turns(const std::vector<PlanFile>& plans, const TrainingOptions& options,
                           int steps, const ReferenceRun& expected);

// Of the whole job, for reference_training().
RankSetup whole_job(const PlanFile& file, const TrainingOptions& options);

}  // namespace penstock::testing
