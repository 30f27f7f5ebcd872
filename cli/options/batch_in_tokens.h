// A batch that is counted in tokens where samples belong: "gbs=4M".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Error{kBadInput} with the layout that has samples in the place of tokens, whose number follows
// from seq. `words`: all pairs of the layout; `value`: that of gbs.
void refuse_batch_in_tokens(std::string_view option, const std::string& value,
                            const std::vector<std::string>& words);

}  // namespace penstock
