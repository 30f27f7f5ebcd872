// How many columns the texts of a verb may have: one value for wrapped() and TextTable.
#pragma once

#include <cstddef>

namespace penstock {

// The width that was set, else `in_files`: what is piped or written to a file has the same bytes
// everywhere, and some tables are allowed to be wider there than prose.
std::size_t page_width(std::size_t in_files = 100);

// Sets the width of all texts that follow; 0: there is no terminal. main() calls it once, before
// any verb and any thread runs.
void set_page_width(std::size_t width);

}  // namespace penstock
