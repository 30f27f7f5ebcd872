// Which ranks of a job still work, by their heartbeats: for the launcher that serves the store and
// whose own ranks have ended, and for who waits for what others write.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/units.h"
#include "training/key_value_store.h"
#include "training/steady_time.h"

namespace penstock {

class RanksAlive {
 public:
  // `silence`: without a heartbeat, after which a rank has ended.
  RanksAlive(KeyValueStore& store, int ranks, Duration silence = std::chrono::seconds(5));
  // False when the store is out of reach, too. One that saw a failure may be writing an emergency
  // checkpoint: it works.
  bool any();
  bool is_alive(int rank);

 private:
  struct Seen {
    std::int64_t sequence = -1;
    SteadyTime changed;
  };
  bool look(int rank);

  KeyValueStore& store_;
  std::vector<Seen> seen_;  // by rank
  Duration silence_;
};

}  // namespace penstock
