// What launchers and trainers say in several options and this program in one: nodes times the GPUs
// of a node, and the batch of a GPU times its accumulation times the GPUs.
#pragma once

#include <string>
#include <vector>

#include "cli/answers/options/option_readings.h"

namespace penstock {

struct CountsMeant {
  std::vector<std::string> names;  // as they were typed; some may be the verb's own
  Arguments words;                 // what all of them together are; empty where nobody can say
  std::string help;
};
std::vector<CountsMeant> counts_meant(const Arguments& arguments, const Asked& asked);

}  // namespace penstock
