// A step as a picture for papers and slides: a row per rank, time to the right, actions with their
// PyTorch names where they are wide enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/pictures/picture.h"
#include "report/traces/step_trace.h"

namespace penstock {

struct StepPictureOptions {
  std::string title;
  Duration from{}, to{};  // the part of the step that is shown; to = 0: up to its end
  // Below the rows how many activations each rank holds, so many per micro-batch; 0: not drawn.
  std::int64_t held_per_micro_batch = 0;
};

// The traces one below the other, on one scale of time. What is narrower than a pixel is merged by
// exact coverage: the colour of a pixel's column is the mix of the kinds in it and of the idle
// ground, so that bubbles stay visible and a step of a million actions is a small file. Of more
// than 256 ranks the first 256 are drawn, and a line says so.
Picture step_picture(const std::vector<StepTrace>& traces, const StepPictureOptions& options);
// The whole step.
Picture step_picture(const std::vector<StepTrace>& traces, const std::string& title);

}  // namespace penstock
