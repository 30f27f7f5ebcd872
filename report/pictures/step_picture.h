// A step as a picture for papers and slides: a row per rank, time to the right, actions with their
// PyTorch names where they are wide enough.
#pragma once

#include <string>
#include <vector>

#include "report/pictures/picture.h"
#include "report/traces/step_trace.h"

namespace penstock {

// The traces one below the other, on one scale of time. What is narrower than a pixel is merged by
// exact coverage: the colour of a pixel's column is the mix of the kinds in it and of the idle
// ground, so that bubbles stay visible and a step of a million actions is a small file. Of more
// than 256 ranks the first 256 are drawn, and a line says so.
Picture step_picture(const std::vector<StepTrace>& traces, const std::string& title);

}  // namespace penstock
