#include "report/page_width.h"

namespace penstock {
namespace {

std::size_t page = 0;

}  // namespace

std::size_t page_width(std::size_t in_files) { return page == 0 ? in_files : page; }

void set_page_width(std::size_t width) { page = width; }

}  // namespace penstock
