// The files of the HTML report as they were when this was built (cmake/EmbedPage.cmake makes the
// source): the program needs none of them beside it.
#pragma once

#include <string_view>
#include <vector>

namespace penstock {

struct PageFiles {
  std::string_view html;                  // with {{TITLE}}, {{STYLE}}, {{BODY_DATA}}, {{SCRIPT}}
  std::vector<std::string_view> styles;   // in this order
  std::vector<std::string_view> scripts;  // likewise; they share one scope
  bool has_curves = false;                // uPlot is among them
};

PageFiles page_files();

}  // namespace penstock
