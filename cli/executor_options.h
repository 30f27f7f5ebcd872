// --executor, --queues, --posted: how a runtime carries out a Program.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "core/executor_model.h"

namespace penstock {

struct ExecutorOptions {
  std::optional<std::string> name, queues;
  bool posted = false;

  void declare(Options& options);
  // Whether any of them was given.
  [[nodiscard]] bool given() const { return name || queues || posted; }
  [[nodiscard]] ExecutorModel model() const;
};

// "ideal: transfers occupy nobody, no queues"
std::string words_of(const ExecutorModel& executor);

}  // namespace penstock
