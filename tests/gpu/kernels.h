// Kernels with a known effect, for the tests.
#pragma once

#include <cstddef>

namespace penstock::testing {

// Keeps one thread busy for so many nanoseconds of the device's own timer.
void launch_busy(void* stream, long long nanoseconds);
// Adds `value` to every element.
void launch_add(void* stream, float* data, std::size_t elements, float value);

}  // namespace penstock::testing
