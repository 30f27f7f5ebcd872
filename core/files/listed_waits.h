// The member "waits" of a Program in a file: what actions wait for beyond what follows from their
// kinds, as pairs of names, ["3F2", "1LOAD#2"]: 3F2 waits for the second 1LOAD of its rank's list.
#pragma once

#include "core/files/order_actions.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "core/values/program.h"

namespace penstock {

// Those of a Program that were listed; an empty array when none were.
[[nodiscard]] Json write_listed_waits(const Program& program);

// Adds them to the lists. Error{kBadInput} for a name that no list holds.
void read_listed_waits(const JsonReader& reader, const Program& program, ActionLists& lists);

}  // namespace penstock
