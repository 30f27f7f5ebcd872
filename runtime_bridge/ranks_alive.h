// Whether a job still has ranks that need its store, for the launcher that serves it and whose own
// ranks have ended.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/values/units.h"
#include "training/key_value_store.h"
#include "training/steady_time.h"

namespace penstock {

class RanksAlive {
 public:
  // `silence`: without a heartbeat, after which a rank has ended.
  RanksAlive(std::unique_ptr<KeyValueStore> store, int ranks,
             Duration silence = std::chrono::seconds(5));
  // False when the store is out of reach, too.
  bool any();

 private:
  struct Seen {
    std::int64_t sequence = -1;
    SteadyTime changed;
  };
  std::unique_ptr<KeyValueStore> store_;
  std::vector<Seen> seen_;  // by rank
  Duration silence_;
};

}  // namespace penstock
