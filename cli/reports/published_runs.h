// Step times that others published, what an estimate predicts for them, and the shares of peak
// rates that they imply: the part of `penstock estimate --fit` that needs whole plans.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/estimate.h"
#include "core/values/json_reader.h"
#include "core/values/plan.h"
#include "core/values/units.h"
#include "estimator/attention_rate.h"
#include "estimator/efficiency.h"
#include "report/screen.h"

namespace penstock {

struct PublishedRun {
  std::string set;  // runs of one source and software
  std::string name;
  Architecture model;
  DeviceSheet device;
  int tensor = 1, pipeline = 1, context = 1, data = 1, chunks = 1;
  int micro_batch_size = 1, global_batch = 1, sequence_length = 1;
  std::string recompute = "none";
  std::optional<AttentionKernel> attention{};
  int gradient_bytes = 4;
  bool eager_kernels = false;
  std::optional<LossKind> loss{};
  bool sequence_parallel = true;
  bool sums_apart = false;  // of gradients over micro-batches: kernels of their own
  bool torch_collectives = false;
  bool of_other_trainer = false;  // than Megatron's or XLA's kind: in the interval of those
  double seconds = 0.0;           // of a step
  bool in_fit = true;
  bool in_interval = true;  // false: the card is not quite the datasheet's; in no fit either
  Sharding sharding = Sharding::kState;  // with several replicas; none otherwise
  int shard_group = 0;                   // 0: over all of them
};
std::vector<PublishedRun> read_published_runs(const JsonReader& list);

struct PredictedRun {
  double seconds = 0.0;
  Bytes peak, capacity;  // of the fullest rank
};
// As `penstock predict --layout` has it: as many layers on every stage.
PredictedRun predict_run(const PublishedRun& run, const Efficiency& efficiency);

// Replaces the curves of numbers of 16 bits: shares of the peak by generation, one share of the
// memory bandwidth, and how far left-out sets lay from a fit to the others. Adds them to left_out.
void fit_published_runs(const std::vector<PublishedRun>& runs, Efficiency& efficiency);

// Predicted against measured, one row per run.
std::string published_runs_table(const std::vector<PublishedRun>& runs,
                                 const Efficiency& efficiency, Screen screen);

}  // namespace penstock
