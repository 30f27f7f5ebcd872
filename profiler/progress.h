// What measuring tells the person who waits for it, and how it is stopped: Ctrl-C, or a budget.
#pragma once

#include <string>

namespace penstock {

class ProfilingProgress {
 public:
  virtual ~ProfilingProgress() = default;
  // What is being measured now ("4 samples, recompute none"), part `part` of `parts`.
  virtual void update(const std::string& what, int part, int parts) {
    (void)what, (void)part, (void)parts;
  }
  // Asked between two repetitions; what was measured so far is kept.
  virtual bool stop() { return false; }
};

}  // namespace penstock
