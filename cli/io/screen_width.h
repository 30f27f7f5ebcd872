// How wide the screen is that a verb answers on.
#pragma once

#include <cstddef>
#include <string>

#include "report/screen.h"

namespace penstock {

// COLUMNS where that is a number, else the terminal that `stream` is (1 stdout, 2 stderr), else no
// screen. From 60 to 200 columns: longer lines are hard to read.
Screen screen_of(int stream);

// The same; `columns`: what the environment says; `terminal`: what the terminal says, 0 when there
// is none.
Screen screen_of(const std::string& columns, std::size_t terminal);

}  // namespace penstock
