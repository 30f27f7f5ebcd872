// --executor, --queues, --posted: how a runtime carries out a Program.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "core/values/executor_model.h"

namespace penstock {

struct ExecutorOptions {
  std::optional<std::string> name, queues;
  bool posted = false;

  void declare(Options& options);
  // Whether any of them was given.
  [[nodiscard]] bool given() const { return name || queues || posted; }
  [[nodiscard]] ExecutorModel model() const;
};

// What was asked for: an executor by its name, which wins, or that of a trainer. Error{kBadInput}
// for an unknown trainer.
std::optional<ExecutorModel> executor_asked(const ExecutorOptions& executor,
                                            const std::optional<std::string>& trainer);

// "ideal: transfers occupy nobody, no queues"
std::string words_of(const ExecutorModel& executor);

}  // namespace penstock
