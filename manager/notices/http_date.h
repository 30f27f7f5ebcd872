// Times as HTTP writes them: "Mon, 19 Sep 2016 18:29:47 GMT".
#pragma once

#include <optional>
#include <string_view>

#include "manager/utc_time.h"

namespace penstock {

// Nothing for another text, or where the day of the week is not that of the date.
std::optional<UtcTime> parse_http_date(std::string_view text);

}  // namespace penstock
