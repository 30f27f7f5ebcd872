// Where numbers come from, in words.
#pragma once

#include <string>
#include <vector>

#include "core/profile.h"

namespace penstock {

// The source at an index, unless it is a measurement (or there is none).
const Source* unmeasured_source(const std::vector<Source>& sources, int index);

// A datasheet's figure is no measurement of this model either; what was derived from measurements
// counts as measured.
bool is_assumed(const Source* source);

// "assumed", "from a datasheet".
std::string origin_in_words(Origin origin);

// Sources are described in paragraphs; an assumption names the source and its first clause.
std::string in_short(const Source& source);

}  // namespace penstock
