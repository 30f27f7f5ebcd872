// What the system tells this process about itself and the machine.
#pragma once

#include <string>

#include "core/values/units.h"
#include "runtime_bridge/launch_environment.h"

namespace penstock {

Environment process_environment();

struct Machine {
  std::string host;       // its name
  std::string processor;  // "AMD EPYC 7B13"; empty when the system does not say
  int processors = 1;     // that this process may use
  Bytes memory;           // of the machine, or of the container around this process
};
Machine this_machine();

// What this process holds now.
Bytes resident_memory();

// "2026-11-22"
std::string today();

}  // namespace penstock
