// Options that were given and would not be looked at are refused.
#pragma once

#include <string>
#include <vector>

#include "cli/options/parse.h"

namespace penstock {

// One of several options that are not looked at.
struct Ignored {
  const char* name;
  bool given;
};

inline void refuse(const std::vector<Ignored>& options, const std::string& why,
                   const std::string& help) {
  for (const Ignored& option : options) {
    if (option.given) bad_option(option.name, why, help);
  }
}

}  // namespace penstock
