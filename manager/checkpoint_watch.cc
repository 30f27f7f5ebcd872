#include "manager/checkpoint_watch.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/checkpoint_writer.h"

namespace penstock {
namespace {

// Of "step-17.ATTEMPT.partial".
std::optional<std::int64_t> step_being_written(const std::string& name) {
  if (!name.ends_with(".partial")) return std::nullopt;
  return step_of_name(name.substr(0, name.find('.')));
}

}  // namespace

// A folder counts once it has a manifest, which is written last. Whether it can be read is looked
// at for new ones only: this is asked ten times a second.
bool CheckpointWatch::look(SteadyTime now, Parts& parts) const {
  namespace fs = std::filesystem;
  std::error_code error;
  bool is_new = false;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (step_being_written(name)) {
      const auto known = parts_.find(name);
      parts[name] = known == parts_.end() ? std::optional(now) : known->second;
    }
    const auto step = step_of_name(name);
    std::error_code no_manifest;
    is_new = is_new ||
             (step && *step > newest_ && fs::exists(entry->path() / "manifest.json", no_manifest));
  }
  return is_new;
}

// What is complete is unfinished no more, and so is what crashes have left over, which the writer
// removes then. One that was never seen unfinished was begun after the look before.
std::optional<Duration> CheckpointWatch::took(std::int64_t step, SteadyTime now,
                                              const Parts& left) const {
  std::optional<SteadyTime> began;
  for (const auto& [name, since] : parts_) {
    if (step_being_written(name) != step || left.contains(name) || !since) continue;
    began = std::max(began.value_or(*since), *since);
  }
  if (!began) began = looked_;
  return began ? std::optional<Duration>(now - *began) : std::nullopt;
}

std::vector<Event> CheckpointWatch::poll() {
  const SteadyTime now = clock_();
  std::vector<Event> events;
  Parts parts;
  if (look(now, parts)) {
    const NewestCheckpoint found = newest_checkpoint(folder_);
    if (found.checkpoint && found.checkpoint->manifest.info.step > newest_) {
      newest_ = found.checkpoint->manifest.info.step;
      events.emplace_back(CheckpointWritten{generation_, newest_, took(newest_, now, parts)});
    }
  }
  parts_ = std::move(parts);
  looked_ = now;
  return events;
}

void CheckpointWatch::decided(const Event& /*event*/, const JobDecision& decision) {
  if (std::exchange(generation_, decision.next.generation.number) == generation_) return;
  for (auto& [name, since] : parts_) since.reset();
}

}  // namespace penstock
