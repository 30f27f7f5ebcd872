// A run's curves for TensorBoard: an event file in a folder, each step there as soon as it has
// ended.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "core/values/run_log.h"

namespace penstock {

class TensorboardLog {
 public:
  // Makes the folder where there is none. Runs that go on (first_step > 0) write a file beside the
  // earlier ones, whose later steps are void. Error{kMissingResource} when it cannot be written.
  TensorboardLog(const std::string& folder, std::int64_t first_step);

  // train/loss, train/learning_rate, train/gradient_norm, speed/step_seconds,
  // speed/tokens_per_second, and validation/loss where there is one.
  void add(const MeasuredStep& step);

 private:
  void write(const std::string& bytes);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace penstock
