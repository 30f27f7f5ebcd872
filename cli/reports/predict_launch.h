// The two rules of the lint that need a prediction: does the job fit (E030), and are its stages
// equal enough (W052). Priced and replayed as `penstock plan` does it with everything pinned.
#pragma once

#include <optional>
#include <string>

#include "trainers/lint/lint.h"

namespace penstock {

// As the options of `check` give them.
struct LaunchModel {
  std::optional<std::string> config, profile, cluster, device, precision, sequence_length;

  // The model's config.json or profile; nothing when neither is given.
  [[nodiscard]] const std::optional<std::string>& path() const { return config ? config : profile; }
};

// Layers of the model, for the rules that need them; nothing without a model.
std::optional<int> layers_of(const LaunchModel& model);

// Adds findings, or what kept the rules from being judged; and to fixes that ask for other stages
// what they are predicted to take. Error{kBadInput} for files and options that are wrong.
void predict_launch(const LaunchModel& model, LintReport& report);

}  // namespace penstock
