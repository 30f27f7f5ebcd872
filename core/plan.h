// A Plan: every decision about how a model is laid out on devices for one training step.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"

namespace penstock {

// Which ranks are neighbours. The ranks of one tensor-parallel group always are.
enum class Placement {
  kPipelineInner,  // device = (d * P + p) * T + t: the stages of one replica side by side
  kDataInner,      // device = (p * D + d) * T + t: the replicas of one stage side by side
};

struct Plan {
  std::string schedule = "1f1b";
  int group = 0;             // interleaving group; 0: the schedule's own default
  int pipeline = 1;          // P, ranks
  int chunks = 1;            // V, virtual stages per rank; S = P * V
  int data = 1;              // D, replicas
  int tensor = 1;            // T
  int micro_batch_size = 1;  // b, samples
  int global_batch = 1;      // samples per step
  int sequence_length = 0;   // tokens per sample; 0 when the model has no such dimension
  std::string recompute = "none";
  bool zero1 = false;  // optimizer state sharded over the replicas
  Placement placement = Placement::kPipelineInner;
  std::string device;  // device type
  // Stage s holds sections cuts[s] .. cuts[s + 1] - 1; S + 1 ascending entries from 0 to the number
  // of sections. Stage s lives on rank s mod P.
  std::vector<int> cuts;

  [[nodiscard]] int stages() const { return pipeline * chunks; }
  [[nodiscard]] int devices() const { return pipeline * data * tensor; }
  bool operator==(const Plan&) const = default;
};

// The samples that replica `index` of `plan` takes in a step: the batch divided evenly, the first
// (global_batch mod D) replicas take one more.
int samples_of_replica(const Plan& plan, int index);

// The distinct micro-batch sizes of a step, the full size first, then the short ones, descending.
// Shape i of StagePrices and of the Program's micro-batch table is entry i.
std::vector<int> micro_batch_shapes(const Plan& plan);

}  // namespace penstock
