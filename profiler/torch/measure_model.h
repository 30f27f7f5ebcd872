// The sections of a model, measured at all sizes that are asked for, as TorchWork runs them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model_description.h"
#include "profiler/measure_beside.h"
#include "profiler/progress.h"
#include "profiler/samples.h"
#include "profiler/section_samples.h"
#include "training/device.h"
#include "training/model_outline.h"

namespace penstock {

struct ModelToMeasure {
  ModelDescription model;
  std::vector<int> micro_batch_sizes = {1};
  int sequence_length = 1;
  std::vector<bool> recompute = {false};  // without, with
  bool every_section = false;             // else the first four of each type
  bool splits = true;                     // I and W, too
  SamplingRule rule;
  Duration budget = std::chrono::seconds(60);  // for all sizes together; each gets its part
};

struct ModelSamples {
  ModelOutline outline;              // of the whole model
  std::vector<ChainSamples> chains;  // one per size and mode
  std::int64_t chain_parameters = 0;
  double state_bytes_per_parameter = 0.0;  // held before the first step, counted
  std::vector<std::string> not_split;      // sections whose I does the work of W too
  std::vector<std::string> not_measured;   // "b = 4, recompute full"
};

// Each of the ranks calls it with the same question; rank 0 has the answer. Error{kBadInput} when
// the model cannot be run.
ModelSamples measure_model(const ModelToMeasure& question, Device& device,
                           ProfilingProgress& progress, const RanksBeside& beside);

}  // namespace penstock
