// Numbers between measured points. Doubles inside, and the same bits on every machine: logarithm
// and exponential are our own, because the C library chooses among versions that differ in the last
// bit.
#pragma once

#include <span>

#include "core/values/units.h"

namespace penstock {

double natural_log(double x);          // x > 0 and finite
double natural_exponential(double x);  // |x| < 700

// The straight line through (x0, y0) and (x1, y1), x0 != x1; exact at both points.
double linear(double x0, double y0, double x1, double y1, double x);

// The power law y = c x^e through two points. Where one of the four is not positive no power law
// passes through them, and the straight line is taken.
double power_law(double x0, double y0, double x1, double y1, double x);
// The same of every pair of `y0` and `y1`, to the bit, in a fraction of the time.
void power_laws(double x0, std::span<const double> y0, double x1, std::span<const double> y1,
                double x, std::span<double> y);

// Integers stay what they are, anything else rounds up (core/values/units.h). Error{kBadInput}
// beyond kLongestDuration or 2^53 bytes, whatever made the number: a rate of next to nothing, for
// example.
Duration whole_nanoseconds(double nanoseconds);
Bytes whole_bytes(double bytes);

}  // namespace penstock
