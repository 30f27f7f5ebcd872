#include "profiler/link_fit.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

double as_double(Duration duration) { return static_cast<double>(duration.count()); }
double as_double(Bytes bytes) { return static_cast<double>(bytes.count); }

// time = a + b * bytes, a >= 0.
struct Line {
  double a = 0.0, b = 0.0;
};

// With u = 1 / t and v = bytes / t, both errors a u + b v - 1 are least in squares where
//   a sum(uu) + b sum(uv) = sum(u),  a sum(uv) + b sum(vv) = sum(v).
Line weighted_line(const std::vector<CurvePoint>& points) {
  double uu = 0, uv = 0, vv = 0, u_sum = 0, v_sum = 0;
  for (const CurvePoint& point : points) {
    const double u = 1.0 / as_double(point.time), v = as_double(point.bytes) * u;
    uu += u * u, uv += u * v, vv += v * v, u_sum += u, v_sum += v;
  }
  const double determinant = uu * vv - uv * uv;
  // All of one size: the columns cannot be told apart.
  if (determinant <= 1e-12 * uu * vv) return {};
  const Line line{(u_sum * vv - v_sum * uv) / determinant, (v_sum * uu - u_sum * uv) / determinant};
  return line.a >= 0.0 ? line : Line{0.0, v_sum / vv};
}

}  // namespace

std::optional<LinkFit> fit_link(const std::vector<CurvePoint>& points) {
  if (points.size() < 2) return std::nullopt;
  for (const CurvePoint& point : points) {
    if (point.time.count() <= 0) return std::nullopt;
  }
  const Line line = weighted_line(points);
  if (line.b <= 0.0) return std::nullopt;
  LinkFit fit{.latency = Duration{std::llround(line.a)}, .bandwidth = {1e9 / line.b}};
  for (const CurvePoint& point : points) {
    const double predicted = line.a + line.b * as_double(point.bytes);
    fit.worst_error = std::max(fit.worst_error, std::abs(predicted / as_double(point.time) - 1.0));
  }
  return fit;
}

}  // namespace penstock
