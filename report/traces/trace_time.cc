#include <cstdint>

#include <fmt/format.h>

#include "report/traces/trace_files.h"

namespace penstock {
namespace {

constexpr std::int64_t kGrid = 4096;  // points a microsecond

// The nearest point.
std::int64_t points(Duration time) {
  const std::int64_t whole = time.count() / 1000, rest = time.count() % 1000;
  return whole * kGrid + (rest * kGrid + 500) / 1000;
}

// All decimals that there are, three at least.
std::string text_of(std::int64_t points) {
  constexpr std::int64_t kOne = 1'000'000'000'000 / kGrid;  // a point in the twelfth decimal
  std::string decimals = fmt::format("{:012}", points % kGrid * kOne);
  while (decimals.size() > 3 && decimals.back() == '0') decimals.pop_back();
  return fmt::format("{}.{}", points / kGrid, decimals);
}

}  // namespace

std::string trace_time(Duration time) { return text_of(points(time)); }

std::string trace_length(Duration start, Duration end) {
  return text_of(points(end) - points(start));
}

}  // namespace penstock
