// The weights a model starts with: a function of the seed, the section and the parameter, so that
// every layout starts with the same ones.
#pragma once

#include <cstdint>
#include <span>

#include "training/model_outline.h"

namespace penstock {

// Of a tied tensor: section and parameter are those of its first section.
void fill_initial(const ParameterOutline& outline, std::uint64_t seed, int section, int parameter,
                  std::span<float> values);
void fill_initial(const ParameterOutline& outline, std::uint64_t seed, int section, int parameter,
                  std::span<double> values);

}  // namespace penstock
