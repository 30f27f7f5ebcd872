// What actions wait for where the stages of a rank live in slots: SlotUse of their rows, made into
// waits (docs/schedules.md, "Weights in slots").
#pragma once

#include <string>

#include "core/files/order_actions.h"
#include "core/values/program.h"

namespace penstock {

// Adds them to the lists, whose other waits are set. Returns what is wrong: a LOAD that finds no
// slot, an action whose stage is not on the device. Empty when all is well.
[[nodiscard]] std::string set_slot_waits(const Program& program, ActionLists& lists);

}  // namespace penstock
