// What a spilled plan takes of the device and of the host, before anything is allocated.
#pragma once

#include <optional>
#include <string>

#include "core/values/plan_file.h"
#include "core/values/units.h"
#include "training/slot_schedule.h"

namespace penstock {

struct SpilledBudget {
  int shards = 0, slots = 0;
  Bytes slot;      // of each slot
  Bytes host;      // what the shards take there, page-locked on a GPU's host
  Bytes peak;      // predicted of the device, without its reserve
  Bytes capacity;  // of the device, beyond its reserve
  bool updates_on_host = false;
};

[[nodiscard]] bool is_spilled(const PlanFile& file);
// Of a plan that is; all of it is on one rank.
SlotSchedule slot_schedule(const PlanFile& file);
SpilledBudget spilled_budget(const PlanFile& file);
// One line: "3 shards through 2 slots of 1.5 MiB, ...".
std::string words_of(const SpilledBudget& budget, std::optional<BytesPerSecond> link);

// What a machine says that it has to give. `meminfo`: /proc/meminfo; nothing where it does not say.
std::optional<Bytes> available_memory(const std::string& meminfo);

// Error{kMissingResource} when the machine says that it has less than `host` to give.
// `meminfo`: /proc/meminfo; empty: nobody knows.
void require_host_memory(Bytes host, const std::string& meminfo);

}  // namespace penstock
