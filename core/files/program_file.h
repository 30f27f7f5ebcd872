// The member "program" of penstock.plan/2.
#pragma once

#include <cstdint>

#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "core/values/program.h"

namespace penstock {

// Error{kInternal} for a Program that does not follow the conventions of the format.
Json write_program(const Program& program);
// In penstock.plan/1 every run of micro-batches had a weight in the loss, its samples, which nobody
// asked for.
enum class ProgramForm { kNow, kWithLossWeights };
// Error{kBadInput} for anything malformed, and for more than `most_actions` actions.
Program read_program(JsonReader reader, std::uint64_t most_actions,
                     ProgramForm form = ProgramForm::kNow);
// A program of penstock.plan/1 as it is written now.
Json without_loss_weights(const Json& program);

}  // namespace penstock
