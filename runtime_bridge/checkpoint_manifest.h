// What a checkpoint says of itself: penstock.checkpoint/1, manifest.json in its folder. Written
// last: a folder with a manifest is complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/json.h"
#include "core/values/model_description.h"
#include "training/rank_setup.h"

namespace penstock {

// The files that the tokens came from.
struct CheckpointData {
  std::string path;  // as given: for people, the checksum decides
  std::int64_t bytes = 0;
  std::string checksum;
  std::int64_t taken = 0;  // samples of these files, where the run goes on in them
  bool operator==(const CheckpointData&) const = default;
};

// What an emergency checkpoint says of its last step, of which the log may have no line: the rank
// that writes it may be the one that was lost.
struct CheckpointLastStep {
  double loss = 0.0, gradient_norm = 0.0;
  bool skipped = false;
  bool operator==(const CheckpointLastStep&) const = default;
};

struct CheckpointInfo {
  std::int64_t step = 0;  // steps done, and the number of the next one
  std::string model;      // a checkpoint of another model is refused
  int sections = 0;
  std::vector<std::string> section_names;  // for tools; manifests of earlier versions have none
  std::string plan_hash;                   // of the plan that was running
  std::int64_t samples = 0;                // seen so far
  // With the options, all that decides what the steps before this one have computed, and what those
  // behind it would compute (runtime_bridge/resume.h).
  Precision precision = Precision::kFloat32;
  int global_batch = 1, sequence_length = 1;
  // Of documents: a step takes as many as have so many tokens, and sequence_length is what longer
  // ones were cut to; global_batch is 1 then. 0: of samples of one length.
  std::int64_t tokens_per_batch = 0;
  CheckpointData data;
  TrainingOptions options;                                     // with the seed
  std::vector<std::pair<std::string, double>> shared_numbers;  // optimizer steps, loss scale
  std::optional<CheckpointLastStep> last_step{};
  bool operator==(const CheckpointInfo&) const = default;
};

enum class StateKind { kParameters, kOptimizer };
std::string_view name_of(StateKind kind);  // "parameters"

struct CheckpointFile {
  std::string name;  // within the folder
  int section = 0;
  StateKind kind = StateKind::kParameters;
  std::uint64_t bytes = 0;
  std::string header_checksum;  // and the header holds those of the tensors
  bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointManifest {
  CheckpointInfo info;
  std::vector<CheckpointFile> files;
  bool operator==(const CheckpointManifest&) const = default;
};

Json write_manifest(const CheckpointManifest& manifest);
// Error{kBadInput} for anything malformed, or when a section has no parameters.
CheckpointManifest read_manifest(const Json& json, const std::string& file);

// The files of one rank, for the one that writes the manifest.
Json write_checkpoint_files(const std::vector<CheckpointFile>& files);
std::vector<CheckpointFile> read_checkpoint_files(const Json& json, const std::string& file);

}  // namespace penstock
