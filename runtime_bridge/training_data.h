// The file that a run trains on, read once by each process, with what checkpoints say of it.
#pragma once

#include <memory>
#include <string>

#include "runtime_bridge/checkpoint_manifest.h"
#include "training/byte_data.h"

namespace penstock {

struct TrainingData {
  std::shared_ptr<const ByteData> tokens;
  CheckpointData file;
};

// Error{kMissingResource} when there is no such file, Error{kBadInput} when it is too short.
TrainingData read_training_data(const std::string& path, int sequence_length);

}  // namespace penstock
