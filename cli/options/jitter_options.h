// --jitter, --jitter-percent, --samples, --seed: how far the step time strays.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "report/uncertainty.h"

namespace penstock {

struct JitterOptions {
  bool jitter = false;
  std::optional<std::string> percent, samples, seed;

  void declare(Options& options);
  // Whether to sample at all. Error{kBadInput} for the number of samples or a seed without jitter.
  [[nodiscard]] bool given() const;
  // Every replica has samples of its own, unless they are too many to replay one by one.
  [[nodiscard]] JitterResult sampled(const Program& program, const StagePrices& prices,
                                     const ExecutorModel& executor) const;
};

}  // namespace penstock
