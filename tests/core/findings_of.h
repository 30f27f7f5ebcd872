// What the checker finds in a plan, as text: "PLACE: MESSAGE", one a line.
#pragma once

#include <string>

#include "core/check/check.h"

namespace penstock {

inline std::string findings_of(const PlanFile& file) {
  std::string text;
  for (const Finding& finding : check(file).findings) {
    text += (text.empty() ? "" : "\n") + finding.place + ": " + finding.message;
  }
  return text;
}

}  // namespace penstock
