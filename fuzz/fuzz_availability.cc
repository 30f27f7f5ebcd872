// Recordings of GPUs that come and go: what is accepted is replayed by every policy to its end, and
// nobody keeps more than free changes would.
#include "core/files/read_availability.h"
#include "fuzz/fuzz.h"
#include "morphing/goodput.h"

namespace penstock {
namespace {

using fuzz::require;

// The best of hindsight takes the square of the changes.
constexpr std::size_t kMostChanges = 200;

void check_recording(const Availability& recording) {
  require(!recording.changes.empty(), "nothing ever happens");
  Duration last{-1};
  for (const AvailabilityChange& change : recording.changes) {
    require(change.at > last && change.at <= recording.end, "changes out of order");
    require(change.gpus >= 0, "fewer GPUs than none");
    require(change.of_types.size() == recording.types.size(), "types that are not counted");
    int sum = 0;
    for (const int gpus : change.of_types) {
      require(gpus >= 0, "fewer GPUs of a type than none");
      sum += gpus;
    }
    require(recording.types.empty() || sum == change.gpus, "types that do not add up");
    last = change.at;
  }
}

void check_replays(const Availability& recording) {
  const std::vector<Rung> rungs = {{1, std::chrono::seconds(8)}, {3, std::chrono::seconds(3)}};
  const ChangeCosts costs{std::chrono::seconds(3), std::chrono::seconds(20),
                          std::chrono::seconds(60), std::chrono::seconds(2)};
  const double free = steps_of_free_changes(recording, rungs);
  require(most_steps(recording, rungs, costs) <= free * (1.0 + 1e-9),
          "hindsight beats free changes");
  for (const auto& policy : {expected_gain_policy(recording, rungs, costs), always_policy(rungs),
                             never_policy(rungs), restart_all_policy(rungs)}) {
    const Goodput goodput = replay_availability(recording, rungs, costs, *policy);
    require(goodput.steps <= free * (1.0 + 1e-9), "a policy beats free changes");
    require(goodput.steps >= -1e-6 && goodput.lost_steps >= 0.0, "less than nothing is kept");
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto recording = fuzz::accepted(
      text, [](const std::string& file) { return read_availability(file, fuzz::kFile); });
  if (!recording) return 0;
  fuzz::remember(text);
  check_recording(*recording);
  if (recording->changes.size() <= kMostChanges) check_replays(*recording);
  return 0;
}
