// The sections of a model, measured at all sizes that are asked for, as TorchWork runs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/model_description.h"
#include "profiler/activity_tracer.h"
#include "profiler/chain_to_measure.h"
#include "profiler/measure_beside.h"
#include "profiler/progress.h"
#include "profiler/samples.h"
#include "profiler/section_samples.h"
#include "profiler/trace_samples.h"
#include "training/device.h"
#include "training/model_outline.h"

namespace penstock {

struct ModelToMeasure {
  ModelDescription model;
  std::vector<int> micro_batch_sizes = {1};
  int sequence_length = 1;
  std::vector<int> sequence_lengths{};    // several: of each of them; of no archive
  std::vector<int> decoder_lengths{};     // of t5: each with each of those
  std::vector<bool> recompute = {false};  // without, with
  bool every_section = false;             // else the first four of each type
  bool splits = true;                     // I and W, too
  SamplingRule rule;
  Duration budget = std::chrono::seconds(60);  // for all sizes together; each gets its part
  bool keeps_recordings = false;               // of what a tracer saw
};

struct ModelSamples {
  ModelOutline outline;                     // of the whole model
  std::optional<ArchiveDivision> division;  // of an archive: checked before it was measured
  std::vector<ChainSamples> chains;         // one per size and mode
  std::int64_t chain_parameters = 0;
  double state_bytes_per_parameter = 0.0;  // held before the first step, counted
  std::vector<std::string> remarks;        // of the archive, for people
  std::vector<std::string> not_split;      // sections whose I does the work of W too
  std::vector<std::string> not_measured;   // "b = 4, recompute full"

  // With a tracer only. A size with activity that belongs to no section is void: its times are in
  // no chain, because something has no price.
  std::vector<TraceSamples> traces;           // one per size that was traced, void ones too
  std::vector<std::string> not_traced;        // "b = 4, recompute full": stopped before
  std::vector<ActivityRecording> recordings;  // of `traces`, when they are to be kept
};

// The sections of the model that are run.
ChainToMeasure chain_of(const ModelToMeasure& question, const ModelOutline& outline);

// Each of the ranks calls it with the same question; rank 0 has the answer. `tracer`, on rank 0
// only, traces every size once its times are known. Error{kBadInput} when the model cannot be run.
ModelSamples measure_model(const ModelToMeasure& question, Device& device,
                           ProfilingProgress& progress, const RanksBeside& beside,
                           ActivityTracer* tracer = nullptr);

}  // namespace penstock
