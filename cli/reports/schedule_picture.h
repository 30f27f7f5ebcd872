// The step of one schedule, or of several below each other, as a file to look at.
#pragma once

#include <string>
#include <vector>

#include "cli/options/picture_options.h"
#include "cli/reports/synthetic_step.h"

namespace penstock {

// Error{kBadInput} for a name that ends in none of .svg, .png, .html and .json, and for a trace
// (.json) of several schedules. Asked before anything is worked out.
void check_step_file(const std::string& path, std::size_t steps);

// `text`: the numbers, which a page shows below the picture.
void write_step_file(const std::string& path, std::vector<SyntheticStep> steps,
                     const PictureOptions& options, const std::string& title,
                     const std::string& text);

// The picture, with what every rank holds.
Picture picture_of(std::vector<SyntheticStep> steps, const PictureOptions& options,
                   const std::string& title);

}  // namespace penstock
