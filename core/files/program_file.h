// The member "program" of penstock.plan/1.
#pragma once

#include <cstdint>

#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "core/values/program.h"

namespace penstock {

// Error{kInternal} for a Program that does not follow the conventions of the format.
Json write_program(const Program& program);
// Error{kBadInput} for anything malformed, and for more than `most_actions` actions.
Program read_program(JsonReader reader, std::uint64_t most_actions);

}  // namespace penstock
