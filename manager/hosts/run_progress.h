// How far a start of the job is, by the log that its rank 0 writes (penstock.run/1): read as it
// grows, also across a line that is still being written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct FinishedStep {
  std::int64_t step = 0;
  double loss = 0.0;  // or kNotFinite
  Duration step_time{};
  std::int64_t tokens = 0;
  bool operator==(const FinishedStep&) const = default;
};

class RunProgress {
 public:
  explicit RunProgress(std::string log) : log_(std::move(log)) {}

  // The steps that this run has finished since the last call, in order. None while there is no
  // file. Error{kBadInput} for a complete line that is none of a run log.
  std::vector<FinishedStep> read_more();
  [[nodiscard]] const std::string& log() const { return log_; }

 private:
  std::string log_;
  std::uint64_t read_ = 0;  // bytes of complete lines
  std::int64_t lines_ = 0;
};

}  // namespace penstock
