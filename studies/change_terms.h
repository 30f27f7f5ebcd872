// What if a named term of an estimate were faster or slower.
#pragma once

#include <string>
#include <vector>

#include "core/values/profile.h"

namespace penstock {

// What the terms of a profile are called, each once: "attention", "matrix products". Empty when its
// times are not divided into terms.
std::vector<std::string> term_names(const ModelProfile& profile);
// Scales what a term takes in every section, wherever it is part of a time.
void scale_term(ModelProfile& profile, const std::string& name, double factor);

}  // namespace penstock
