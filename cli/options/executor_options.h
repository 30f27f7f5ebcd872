// --executor, --queues, --posted, --optimizer, --host-link: how a runtime carries out a Program.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "core/values/executor_model.h"

namespace penstock {

struct ExecutorOptions {
  std::optional<std::string> name, queues, optimizer, host_link;
  bool posted = false;

  void declare(Options& options);
  // Whether any of them was given; whether one that says how transfers go.
  [[nodiscard]] bool given() const { return says_transfers() || optimizer || host_link; }
  [[nodiscard]] bool says_transfers() const { return name || queues || posted; }
  [[nodiscard]] ExecutorModel model() const;
  // Another one with what was given: its transfers stay unless they were.
  [[nodiscard]] ExecutorModel applied_to(ExecutorModel other) const;
  // Another one with the optimizer and the host's link that were given.
  [[nodiscard]] ExecutorModel with_terms(ExecutorModel model) const;
  [[nodiscard]] ExecutorModel transfers() const;  // only those
};

// Whose transfers were asked for: those of an executor by its name, which wins, or of a trainer;
// the optimizer and the host's link come on top: with_terms(). Error{kBadInput} for an unknown
// trainer.
std::optional<ExecutorModel> executor_asked(const ExecutorOptions& executor,
                                            const std::optional<std::string>& trainer);

// "ideal: transfers occupy no rank, no queues"
std::string words_of(const ExecutorModel& executor);

}  // namespace penstock
