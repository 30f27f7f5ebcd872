#include "morphing/emergency_time.h"

#include <algorithm>

namespace penstock {

std::optional<Duration> emergency_time(const EmergencyCost& cost) {
  if (cost.writers < 1 || !(cost.of_writer.value > 0.0)) return std::nullopt;
  const Bytes share{(cost.of_largest_stage.count + cost.writers - 1) / cost.writers};
  Duration writing = transfer_time(share, cost.of_writer);
  if (cost.of_storage.value > 0.0) {
    writing = std::max(writing, transfer_time(cost.of_model, cost.of_storage));
  }
  return cost.until_agreed + writing;
}

bool fits_notice(const EmergencyCost& cost, Duration notice) {
  const std::optional<Duration> time = emergency_time(cost);
  return time && *time <= notice;
}

}  // namespace penstock
