// The options of `penstock train` that say how the optimizer steps: rates, their schedule, decay
// and clipping.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "training/rank_setup.h"

namespace penstock {

class OptimizerSettings {
 public:
  void declare(Options& options);

  // What was given of them, the rest from `otherwise`: the defaults, or a checkpoint. `steps`: of
  // the run.
  [[nodiscard]] TrainingOptions merged(const TrainingOptions& otherwise, int steps) const;
  // Error{kBadInput} for what makes no sense together.
  void check_schedule(const TrainingOptions& options) const;
  // Error{kBadInput} for numbers of another optimizer than the model's.
  void require_optimizer(OptimizerKind kind) const;
  // What a person should know of a schedule that a checkpoint brought along; else empty.
  [[nodiscard]] std::string note_on_schedule(const TrainingOptions& resumed, int steps) const;
  // Of all of these options.
  static const std::vector<std::string>& names();

 private:
  void merge_schedule(TrainingOptions& options, int steps) const;

  std::vector<std::string> given_;  // names of options
  std::optional<std::string> learning_rate_, weight_decay_, clip_norm_;
  std::optional<std::string> schedule_, warmup_, decay_steps_, least_rate_;
  std::optional<std::string> momentum_, beta1_, beta2_, epsilon_;
};

}  // namespace penstock
