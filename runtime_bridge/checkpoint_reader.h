// Reads checkpoints, each rank what it holds: under any division into stages and replicas, with the
// optimizer's state divided or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/error.h"
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
  // Newer ones, with what is wrong with them; also those that were set aside.
  std::vector<std::string> passed_over;
};
NewestCheckpoint newest_checkpoint(const std::string& folder);

// Bytes are not those that were written. Found while they are read, which may be after the run has
// begun on other ranks.
class DamagedCheckpoint : public Error {
 public:
  explicit DamagedCheckpoint(const std::string& what) : Error(ErrorKind::kMissingResource, what) {}
};
// Takes a damaged checkpoint out of the way: whoever asks for the newest from now on gets the one
// before it. Its files stay, in a folder whose name says what it is, which is returned. Several
// ranks may call it.
std::string set_aside(const std::string& path);
// Whether that has happened.
bool was_set_aside(const std::string& path);

// Fills the buffers of `states`. Error{kBadInput} when the checkpoint is of another model or lacks
// something, DamagedCheckpoint: then some buffers may have been filled.
void load_checkpoint(const Checkpoint& checkpoint, const std::string& model,
                     const std::vector<SectionState>& states, const BufferCopy& copy);

}  // namespace penstock
