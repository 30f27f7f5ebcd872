// One file as `penstock check` judges it: another trainer's launch file by the lint, a file of ours
// by its strict reader, and a plan by the independent checker.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/reports/predict_launch.h"
#include "core/check/check.h"
#include "core/values/json.h"
#include "report/screen.h"
#include "trainers/lint/lint.h"

namespace penstock {

// What launch files are asked about beside their names.
struct LaunchFileOptions {
  std::optional<std::string> as, target_version, gpus, stages, checkpoint_data_parallel, format;
  std::vector<std::string> ignored;
  LaunchModel model;
};

// The trainer that --as names, or that the content tells; null when it is none.
const TrainerRow* trainer_of(const LaunchFileOptions& options, const std::string& text,
                             const std::string& file);

// Error{kBadInput} for options that are wrong for any launch file, or that say something of one
// file where a folder is judged.
void require_for_all(const LaunchFileOptions& options);

struct CheckedLaunch {
  LintReport report;
  std::vector<std::string> read;  // the paths of further files that were read for it
};
CheckedLaunch checked_launch(const std::string& file, const std::string& text,
                             const TrainerRow& trainer, const LaunchFileOptions& options);

struct CheckedFile {
  std::string text;  // one line or several
  CheckReport report;
};
// A plan, a profile or a cluster of ours.
CheckedFile checked_own(const std::string& path, const Json& json, Screen screen);

}  // namespace penstock
