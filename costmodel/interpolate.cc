// Between two points a power law, which is what times and bytes mostly follow over sizes that
// double; a straight line where a number is not positive. Both series end where a double's last
// bit does, so that every compiler adds the same terms in the same order. The points themselves
// come out as they were measured.
#include "costmodel/interpolate.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr auto kLongestNanoseconds = static_cast<double>(kLongestDuration.count());
constexpr double kLargestBytes = 9007199254740992.0;  // 2^53, as in files
constexpr double kLog2 = 0.693147180559945309417232121458;

}  // namespace

double natural_log(double x) {
  assert(x > 0.0);
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact, [0.5, 1)
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2.0;
    --exponent;
  }
  // ln m = 2 atanh(z), z = (m - 1) / (m + 1), |z| < 0.172: 11 terms reach the last bit.
  const double z = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = z * z;
  double sum = 0.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2.0 * z * sum + exponent * kLog2;
}

double natural_exponential(double x) {
  assert(x > -700.0 && x < 700.0);
  const double twos = std::floor(x / kLog2 + 0.5);
  const double rest = x - twos * kLog2;  // |rest| < 0.35: 15 terms reach the last bit
  double sum = 1.0;
  for (int k = 15; k >= 1; --k) sum = 1.0 + sum * rest / k;
  return std::ldexp(sum, static_cast<int>(twos));
}

namespace {

// Several at once: each term waits for the one before, but not for those of other numbers. In
// blocks of a fixed size, which compilers turn into vector instructions; whatever lies behind the
// last number is worked out with it and must be harmless.
constexpr std::size_t kLanes = 16, kBlock = 4;
using Lanes = std::array<double, kLanes>;
using Block = std::array<double, kBlock>;

void natural_logs(Lanes& x, std::size_t count) {
  for (std::size_t first = 0; first < count; first += kBlock) {
    Block z{}, square{}, sum{};
    std::array<int, kBlock> exponent{};
    for (std::size_t i = 0; i < kBlock; ++i) {
      double mantissa = std::frexp(x[first + i], &exponent[i]);
      if (mantissa < 0.70710678118654752) {
        mantissa *= 2.0;
        --exponent[i];
      }
      z[i] = (mantissa - 1.0) / (mantissa + 1.0);
      square[i] = z[i] * z[i];
    }
    for (int k = 21; k >= 1; k -= 2) {
      const double term = 1.0 / k;
      for (std::size_t i = 0; i < kBlock; ++i) sum[i] = sum[i] * square[i] + term;
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
      x[first + i] = 2.0 * z[i] * sum[i] + exponent[i] * kLog2;
    }
  }
}

void natural_exponentials(Lanes& x, std::size_t count) {
  for (std::size_t first = 0; first < count; first += kBlock) {
    Block twos{}, rest{}, sum{};
    for (std::size_t i = 0; i < kBlock; ++i) {
      twos[i] = std::floor(x[first + i] / kLog2 + 0.5);
      rest[i] = x[first + i] - twos[i] * kLog2;
      sum[i] = 1.0;
    }
    for (int k = 15; k >= 1; --k) {
      for (std::size_t i = 0; i < kBlock; ++i) sum[i] = 1.0 + sum[i] * rest[i] / k;
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
      x[first + i] = std::ldexp(sum[i], static_cast<int>(twos[i]));
    }
  }
}

}  // namespace

double linear(double x0, double y0, double x1, double y1, double x) {
  if (x == x0) return y0;
  if (x == x1) return y1;
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

double power_law(double x0, double y0, double x1, double y1, double x) {
  if (x == x0) return y0;
  if (x == x1) return y1;
  if (x0 <= 0.0 || y0 <= 0.0 || y1 <= 0.0 || x <= 0.0) return linear(x0, y0, x1, y1, x);
  const double exponent = natural_log(y1 / y0) / natural_log(x1 / x0);
  return y0 * natural_exponential(exponent * natural_log(x / x0));
}

void power_laws(double x0, std::span<const double> y0, double x1, std::span<const double> y1,
                double x, std::span<double> y) {
  assert(y.size() <= kLanes && y0.size() == y.size() && y1.size() == y.size());
  std::array<std::size_t, kLanes> place{};
  Lanes lane;
  lane.fill(1.0);
  std::size_t count = 0;
  const bool is_between = x != x0 && x != x1 && x0 > 0.0 && x > 0.0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (is_between && y0[k] > 0.0 && y1[k] > 0.0) {
      lane[count] = y1[k] / y0[k];
      place[count++] = k;
    } else {
      y[k] = power_law(x0, y0[k], x1, y1[k], x);
    }
  }
  if (count == 0) return;
  natural_logs(lane, count);
  const double whole = natural_log(x1 / x0), part = natural_log(x / x0);
  for (double& one : lane) one = one / whole * part;
  natural_exponentials(lane, count);
  for (std::size_t i = 0; i < count; ++i) y[place[i]] = y0[place[i]] * lane[i];
}

Duration whole_nanoseconds(double nanoseconds) {
  const bool exact = nanoseconds >= 0.0 && nanoseconds <= kLongestNanoseconds &&
                     nanoseconds == std::floor(nanoseconds);
  if (exact) return Duration{static_cast<std::int64_t>(nanoseconds)};
  return round_up_to_ns(nanoseconds / 1e9);  // refuses what is longer
}

Bytes whole_bytes(double bytes) {
  const double nearest = std::floor(bytes + 0.5);
  if (!(nearest <= kLargestBytes)) {
    throw_bad_input("a size exceeds " + to_text(Bytes{std::int64_t{1} << 53}) +
                    ", the largest that is counted; check the measured bytes");
  }
  const bool is_whole = std::fabs(bytes - nearest) <= 1e-12 * nearest;
  return {static_cast<std::int64_t>(is_whole ? nearest : std::ceil(bytes))};
}

}  // namespace penstock
