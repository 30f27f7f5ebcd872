// What an option is about of whose name only a part is known.
#pragma once

#include <string_view>

namespace penstock {

// A word that has a row in option_remarks(), for a part of a word that has none: "offload" for
// "optimizer-cpu-offload", "plot" for "gantt". Empty: no part says what it is about.
std::string_view word_for_parts(std::string_view word);

}  // namespace penstock
