#include "manager/checkpoint_watch.h"

#include <filesystem>
#include <system_error>

#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/checkpoint_writer.h"

namespace penstock {

// A folder counts once it has a manifest, which is written last. Whether it can be read is looked
// at for new ones only: this is asked ten times a second.
std::vector<Event> CheckpointWatch::poll() {
  std::error_code error;
  bool is_new = false;
  namespace fs = std::filesystem;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto step = step_of_name(entry->path().filename());
    std::error_code no_manifest;
    is_new = is_new ||
             (step && *step > newest_ && fs::exists(entry->path() / "manifest.json", no_manifest));
  }
  if (!is_new) return {};
  const NewestCheckpoint found = newest_checkpoint(folder_);
  if (!found.checkpoint || found.checkpoint->manifest.info.step <= newest_) return {};
  newest_ = found.checkpoint->manifest.info.step;
  return {CheckpointWritten{generation_, newest_, std::nullopt}};
}

void CheckpointWatch::decided(const Event& /*event*/, const JobDecision& decision) {
  generation_ = decision.next.generation.number;
}

}  // namespace penstock
