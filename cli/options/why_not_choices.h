// --why-not "P=8,D=8": the choices of a plan that are asked about.
#pragma once

#include <string>

#include "search/question.h"

namespace penstock {

// Pins them, and says them in words: "P=8, D=8". Error{kBadInput} for a key that is no choice of a
// plan (with the nearest), one that is given twice, and a value that is none.
std::string pin_choices(Question& question, const std::string& text);

}  // namespace penstock
