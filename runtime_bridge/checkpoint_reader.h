// Reads checkpoints, each rank what it holds: under any division into stages and replicas, with the
// optimizer's state divided or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime_bridge/checkpoint_manifest.h"
#include "runtime_bridge/checkpoint_snapshot.h"
#include "training/section_state.h"

namespace penstock {

struct Checkpoint {
  std::string path;  // FOLDER/step-17
  CheckpointManifest manifest;
  bool operator==(const Checkpoint&) const = default;
};

// Its manifest is there and well-formed, all its files are there and have their sizes; else an
// Error that names what is wrong.
Checkpoint open_checkpoint(const std::string& path);

struct NewestCheckpoint {
  std::optional<Checkpoint> checkpoint;  // nothing: the folder has none that is complete
  std::vector<std::string> passed_over;  // newer ones, with what is wrong with them
};
NewestCheckpoint newest_checkpoint(const std::string& folder);

// Fills the buffers of `states`. Error{kBadInput} when the checkpoint is of another model, lacks
// something or is damaged: then some buffers may have been filled.
void load_checkpoint(const Checkpoint& checkpoint, const std::string& model,
                     const std::vector<SectionState>& states, const BufferCopy& copy);

}  // namespace penstock
