// The screen that a text is written for: how many columns its lines may have.
#pragma once

#include <cstddef>

namespace penstock {

// A value that flows from main() through a verb into its tables and paragraphs.
struct Screen {
  std::size_t columns = 0;  // of the terminal; 0: there is none, the text goes to a file or a pipe

  // `in_files`: the width where there is no terminal, so that a file has the same bytes everywhere;
  // some tables are allowed to be wider there than prose.
  [[nodiscard]] std::size_t width(std::size_t in_files = 100) const {
    return columns == 0 ? in_files : columns;
  }
};

}  // namespace penstock
