// Recordings of GPUs that come and go, as CSV. Two forms, told apart by their first line:
//
//   time_s,gpus              how many GPUs there are from then on; the last row repeats the last
//                            number and is the end of the recording
//   time_s,node,event,gpus   one machine's event: add, remove, or, in the last row, end (node "-")
//
// Either may have a further column usd_per_gpu_hour (the price from then on), the second notice_s
// (how long before the loss it was announced); an empty cell means unknown. Of several device types
// the first has a column gpus:TYPE for each in place of gpus, the second a column device (of an
// added machine; otherwise it may be empty). docs/file_formats.md.
#pragma once

#include <string>
#include <string_view>

#include "core/values/availability.h"

namespace penstock {

// `file` is its name in messages. Error{kBadInput} with line, column, value and remedy.
Availability read_availability(std::string_view text, const std::string& file);

}  // namespace penstock
