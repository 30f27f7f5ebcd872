// Samples of sections -> the ModelProfile that plans are made from. Times are stored as they were
// measured; what looks odd about them is said, and cleaned only where prices are made
// (docs/cost_model.md, "Cleaning").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/profile.h"
#include "profiler/section_samples.h"
#include "training/model_outline.h"

namespace penstock {

struct MeasuredModel {
  std::string name;
  ModelDescription description;
  ModelOutline outline;              // of the whole model
  std::string device;                // device type, as in cluster files
  std::string provenance;            // who measured, where, when: the text of the source
  std::vector<ChainSamples> chains;  // one per size and recompute mode
  // Of the sections that were run: those that the norm and the optimizer took their time for.
  std::int64_t chain_parameters = 0;
};

ModelProfile build_profile(const MeasuredModel& model);

// Bytes that training keeps per parameter. In half precision gradients, moments and a copy of the
// parameters for the optimizer are in single precision. SGD is without momentum.
TrainingState training_state_of(Precision precision, OptimizerKind optimizer);

// Sentences: more samples that take less time, and sizes with a median that is known less well than
// `error`.
std::vector<std::string> odd_times(const std::vector<ChainSamples>& chains, double error);

}  // namespace penstock
