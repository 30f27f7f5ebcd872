// Where numbers come from, in words.
#pragma once

#include <string>
#include <vector>

#include "core/values/profile.h"

namespace penstock {

// The source at an index, unless it is a measurement (or there is none).
const Source* unmeasured_source(const std::vector<Source>& sources, int index);

// A datasheet's figure is no measurement of this model either; what was derived from measurements
// counts as measured.
bool is_assumed(const Source* source);

// Least error bar of a time that no measurement stands behind; an assumption itself.
inline constexpr double kNotMeasured = 0.25;
// Of a time worked out from a datasheet by others than estimator/, whose sources say how far off
// they are.
inline constexpr double kFromDatasheet = 0.5;

// How far off the times of a section type may be where they are assumed, relative to them: the
// largest error bar of their sources.
ErrorBand error_of_assumed_times(const SectionType& type, const std::vector<Source>& sources);

// "assumed", "from a datasheet".
std::string origin_in_words(Origin origin);

// Sources are described in paragraphs; an assumption names the source and its first clause.
std::string in_short(const Source& source);

}  // namespace penstock
