// check() of a plan file whose Program is rolled up (search/rolled_program.h).
#pragma once

#include <optional>

#include "core/check/check.h"
#include "core/values/plan_file.h"

namespace penstock {

// A file in which check() would find nothing: the checker itself judges the same plan with few
// micro-batches, its lists, its memory and its time by its own replay; then the replay of the
// rolled-up lists must say of all micro-batches what the file predicts, to the nanosecond and the
// byte. Nothing where either differs: then all actions must be written out to say what is wrong.
std::optional<CheckReport> check_rolled_up(const PlanFile& file);

}  // namespace penstock
