// How many parameters of a section one rank holds.
#pragma once

#include <cstdint>
#include <optional>

#include "core/values/other_degrees.h"
#include "core/values/profile.h"

namespace penstock {

struct HeldParameters {
  std::int64_t all = 0;
  std::int64_t experts = 0;  // of them those that only EDP ranks hold, where EDP is not D C
  bool operator==(const HeldParameters&) const = default;
};
// Nothing where the section type has no count for that tensor degree.
std::optional<HeldParameters> held_parameters(const SectionType& type, int tensor_degree,
                                              const OtherDegrees& others);

}  // namespace penstock
