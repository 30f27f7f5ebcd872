// The whole command that was meant by one whose options have other names, or none, in its verb.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/answers/options/unread_options.h"

namespace penstock {

// Stands in the answer to an option that is called as the verb's argument is.
inline constexpr std::string_view kNameless = " is the argument without a name: ";

// Whether the first word is no option.
bool begins_with_argument(const Arguments& words);

// "-p plan.json -l train.log" among several, in the order of their places, where no argument is
// there as well.
std::vector<const UnreadOption*> named_arguments(const std::vector<UnreadOption>& unread,
                                                 const Arguments& read);

// What stands behind the verb. Empty where one of the options has no words, or one would stand
// twice. `read`: the other arguments.
Arguments words_meant(const std::vector<UnreadOption>& unread, const Arguments& read,
                      const Asked& asked);

// "write --layout mbs=8, the micro-batch of one GPU" with what else the layout has.
std::string with_whole_layout(const std::string& help, const Arguments& read);

}  // namespace penstock
