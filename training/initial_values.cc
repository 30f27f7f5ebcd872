#include "training/initial_values.h"

#include <algorithm>
#include <cstddef>

#include "training/mixed_bits.h"

namespace penstock {
namespace {

template <class Number>
void fill(const ParameterOutline& outline, std::uint64_t seed, int section, int parameter,
          std::span<Number> values) {
  if (outline.spread == 0.0) {
    std::fill(values.begin(), values.end(), static_cast<Number>(outline.centre));
    return;
  }
  const std::uint64_t stream = mixed_bits(
      {seed, static_cast<std::uint64_t>(section), static_cast<std::uint64_t>(parameter)});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double u = unit_interval(mixed_bits(stream + i));
    values[i] = static_cast<Number>(outline.centre + outline.spread * (2.0 * u - 1.0));
  }
}

}  // namespace

void fill_initial(const ParameterOutline& outline, std::uint64_t seed, int section, int parameter,
                  std::span<float> values) {
  fill(outline, seed, section, parameter, values);
}
void fill_initial(const ParameterOutline& outline, std::uint64_t seed, int section, int parameter,
                  std::span<double> values) {
  fill(outline, seed, section, parameter, values);
}

}  // namespace penstock
