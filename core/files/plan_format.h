// The names of the format of plan files: what is written, and what is read besides.
#pragma once

#include <string_view>

namespace penstock {

inline constexpr std::string_view kPlanFormat = "penstock.plan/2";
// Without "batch", and with a weight in the loss of every run of micro-batches: its samples.
inline constexpr std::string_view kPlanFormat1 = "penstock.plan/1";

[[nodiscard]] constexpr bool is_plan_format(std::string_view format) {
  return format == kPlanFormat || format == kPlanFormat1;
}

}  // namespace penstock
