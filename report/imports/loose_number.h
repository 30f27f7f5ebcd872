// Numbers as measuring tools write them: as JSON numbers, as strings, as "nan", "N/A" or null.
// Private to report/imports.
#pragma once

#include <cstdint>
#include <optional>

#include "core/values/json_reader.h"
#include "core/values/units.h"

namespace penstock {

// Nothing for null, "nan" and "N/A"; Error{kBadInput} for what is no finite number either.
std::optional<double> loose_number(const JsonReader& value);
// Nothing for what is no whole number.
std::optional<std::int64_t> loose_integer(const JsonReader& value);
// Nothing for 0, too, which is no measured time. Error{kBadInput} also when it is negative or
// longer than kLongestDuration.
std::optional<Duration> loose_time(const JsonReader& value, TimeUnit unit);

}  // namespace penstock
