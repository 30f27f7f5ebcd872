// A value that the shell took apart at a blank, so that its second part is a word too many:
// "--schedule 1f1b zb-h1", "--tokens 2 trillion", "--device GB200 NVL72".
#pragma once

#include <string>

#include "cli/answers/words/surplus_word.h"

namespace penstock {

// "--vary schedule=1f1b, zb-h1", "--cost F=1ms ,B=2ms": the value of an option, parted at a comma.
std::string help_for_blank_at_comma(const SurplusWord& surplus);
// "--schedule 1f1b zb-h1", "--vary tp 1,2": a list whose words stand apart.
std::string help_for_parted_list(const SurplusWord& surplus);
// "--measured 3.2 s/it", as progress bars print it: the unit is a part of the value.
std::string help_for_parted_time(const SurplusWord& surplus);
// "2 trillion".
std::string help_for_parted_count(const SurplusWord& surplus);
// "--device GB200 NVL72".
std::string help_for_parted_device(const SurplusWord& surplus);

// "F=18.5 ms, I=18.1 ms" and "F=10ms B=20ms" as one word, up to the next option.
std::string costs_as_one_word(Arguments::const_iterator word, Arguments::const_iterator end);

}  // namespace penstock
