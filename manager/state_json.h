// How the parts of a job's state are written. Private to manager/.
#pragma once

#include <optional>
#include <string>

#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "manager/job_state.h"

namespace penstock {

// Times as nanoseconds since 1970: what is read is what was written, to the last.
inline Json write_time(UtcTime time) { return Json(std::int64_t{time.time_since_epoch().count()}); }
UtcTime read_time(const JsonReader& reader);
std::optional<UtcTime> get_time(JsonReader& reader, const char* key);

Json write_placed_rank(const PlacedRank& rank);
PlacedRank read_placed_rank(JsonReader reader);

}  // namespace penstock
