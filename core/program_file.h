// The member "program" of penstock.plan/1. Used by write_plan() and read_plan() only.
#pragma once

#include <cstdint>

#include "core/json.h"
#include "core/json_reader.h"
#include "core/program.h"

namespace penstock {

// Error{kInternal} for a Program that does not follow the conventions of the format.
Json write_program(const Program& program);
// Error{kBadInput} for anything malformed.
Program read_program(JsonReader reader);

// No file stands for more actions than this: 4 GiB of them, and several times that while reading.
inline constexpr std::uint64_t kMostActions = std::uint64_t{1} << 28;

}  // namespace penstock
