// How many columns a text for people may have.
#pragma once

#include <cstddef>
#include <string>

namespace penstock {

// COLUMNS where that is a number, else the terminal that stdout is, else 100, so that a file gets
// the same bytes everywhere. From 60 to 200: longer lines are hard to read.
std::size_t screen_width();
// The same for the terminal that `stream` is (1 stdout, 2 stderr), and 0 where neither is there.
std::size_t known_screen_width(int stream);

// `columns`: what the environment says; `terminal`: what the terminal says, 0 when there is none.
std::size_t screen_width_of(const std::string& columns, std::size_t terminal);
std::size_t known_width_of(const std::string& columns, std::size_t terminal);

}  // namespace penstock
