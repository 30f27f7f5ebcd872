// When a peer is lost and those that are left still hold every section, they write a checkpoint of
// the last finished step before they end, so that no finished step is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime_bridge/last_step.h"
#include "runtime_bridge/mirror.h"
#include "runtime_bridge/run_rank.h"
#include "runtime_bridge/survivors.h"
#include "training/key_value_store.h"
#include "training/section_state.h"

namespace penstock {

struct EmergencyOptions {
  SurvivorOptions survivors;
  std::int64_t first_step = 0;  // with which the run began: that many need no checkpoint
  // Called once this rank has told where it stands: which ranks are known to be lost (Heartbeat).
  std::function<std::set<int>()> look;
  // This rank's part, on the disk when it returns; on the first of last.ranks, once all have
  // written theirs.
  std::function<void(const LastStep& last, const std::vector<SectionState>& states)> write;
  // The same of copies in memory, where last.mirrored.
  std::function<void(const LastStep& last, const MirroredParts& parts)> write_mirrored;
};

// Called by every survivor. What to tell people of it, one line: on the rank that decided, and on
// each that found the store gone or failed to write. Throws nothing.
struct EmergencyEnd {
  LastStep last;  // with why_not, when there is no checkpoint
  std::string note;
};
EmergencyEnd keep_last_step(KeyValueStore& store, const EmergencyOptions& options,
                            RankAtLoss& rank);

}  // namespace penstock
