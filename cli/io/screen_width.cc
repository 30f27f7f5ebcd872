#include "cli/io/screen_width.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace penstock {
namespace {

constexpr std::size_t kLeast = 60, kMost = 200;

}  // namespace

Screen screen_of(int stream) {
  const char* columns = std::getenv("COLUMNS");
  winsize size{};
  const bool known = isatty(stream) == 1 && ioctl(stream, TIOCGWINSZ, &size) == 0;
  return screen_of(columns == nullptr ? "" : columns, known ? size.ws_col : 0);
}

Screen screen_of(const std::string& columns, std::size_t terminal) {
  std::size_t width = 0;
  const char* end = columns.data() + columns.size();
  const auto read = std::from_chars(columns.data(), end, width);
  if (read.ec != std::errc() || read.ptr != end || width == 0) width = terminal;
  return {width == 0 ? 0 : std::clamp(width, kLeast, kMost)};
}

}  // namespace penstock
