// What if a named term of an estimate were faster or slower: "term.attention" scales what attention
// takes in every section, wherever it is part of a time.
#pragma once

#include <string>
#include <vector>

#include "core/values/profile.h"

namespace penstock {

// False when the key is no "term.NAME". Error{kBadInput}, which names `option`, for a bad value,
// for a term that the profile does not have, and for a profile without terms.
bool set_term(ModelProfile& profile, const std::string& option, const std::string& key,
              const std::string& value);

// "term.matrix-products", "term.attention", ..: of the profile.
std::vector<std::string> term_keys(const ModelProfile& profile);

}  // namespace penstock
