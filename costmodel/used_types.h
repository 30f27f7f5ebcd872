// The section types that the model's sections use; a profile may hold others.
#pragma once

#include <algorithm>
#include <vector>

#include "core/values/profile.h"

namespace penstock {

// Indices into section_types, ascending.
inline std::vector<int> used_types(const ModelProfile& profile) {
  std::vector<int> types;
  for (const Section& section : profile.sections) types.push_back(section.type);
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

}  // namespace penstock
