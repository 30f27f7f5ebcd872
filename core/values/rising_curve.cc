#include "core/values/rising_curve.h"

#include <cstddef>

namespace penstock {

std::string raise_falling_times(std::vector<CurvePoint>& curve) {
  int falling = 0;
  std::string first;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const CurvePoint& before = curve[i - 1];
    CurvePoint& point = curve[i];
    if (point.time >= before.time) continue;
    if (falling++ == 0) {
      first = to_text(point.bytes) + " took " + to_text(point.time) + ", less than " +
              to_text(before.bytes) + "; the curve says " + to_text(before.time) + " for both";
    }
    point.time = before.time;
  }
  if (falling < 2) return first;
  return first + "; so with " + std::to_string(falling - 1) + " larger ones";
}

std::string lower_to_larger(std::vector<CurvePoint>& curve) {
  int lowered = 0;
  std::string first;  // the last that is found
  for (std::size_t i = curve.size(); i-- > 1;) {
    const CurvePoint& larger = curve[i];
    CurvePoint& point = curve[i - 1];
    if (point.time <= larger.time) continue;
    ++lowered;
    first = to_text(point.bytes) + " took " + to_text(point.time) +
            ", more than a larger message; " + "the curve says " + to_text(larger.time);
    point.time = larger.time;
  }
  if (lowered < 2) return first;
  return first + "; so with " + std::to_string(lowered - 1) + " larger ones";
}

}  // namespace penstock
