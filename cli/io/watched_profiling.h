// What `penstock profile` tells the person who waits, and how that person stops it: a line on
// stderr that changes on a terminal, elsewhere one line per size.
#pragma once

#include <string>

#include "profiler/progress.h"

namespace penstock {

class WatchedProfiling : public ProfilingProgress {
 public:
  WatchedProfiling();
  ~WatchedProfiling() override;
  WatchedProfiling(const WatchedProfiling&) = delete;
  WatchedProfiling& operator=(const WatchedProfiling&) = delete;

  void update(const std::string& what, int part, int parts) override;
  bool stop() override;
  [[nodiscard]] bool was_stopped() const;

 private:
  bool terminal_, line_is_open_ = false;
};

}  // namespace penstock
