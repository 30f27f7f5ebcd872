// A step as text: ranks as rows, time to the right.
#pragma once

#include <string>

#include "core/values/program.h"
#include "core/values/timeline.h"
#include "report/screen.h"

namespace penstock {

// The ranks of the first `pipelines`. A cell shows what the rank did at the cell's middle. When the
// actions are too many for that, the warm-up and the drain are drawn apart, each to its own scale,
// and the text says how much lies between them.
std::string gantt(const Program& program, const Timeline& timeline, Screen screen,
                  int pipelines = 1);

}  // namespace penstock
