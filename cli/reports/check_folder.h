// A folder as `penstock check` judges it: every launch file, plan, profile and cluster in it, each
// by itself, with one summary.
#pragma once

#include <string>

#include "cli/io/answer.h"
#include "cli/reports/check_file.h"
#include "report/screen.h"

namespace penstock {

// `format`: text, json or github. Exit code kNo where something was found, or a file that is one of
// these could not be read. Error{kBadInput} for a folder without any.
Answer check_folder(const std::string& folder, const LaunchFileOptions& options,
                    const std::string& format, Screen screen);

}  // namespace penstock
