#include "manager/utc_time.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("times are read and written in UTC") {
  const auto time = parse_utc_time("2017-09-18T08:22:00Z");
  REQUIRE(time);
  CHECK(time->time_since_epoch() == std::chrono::seconds(1'505'722'920));
  CHECK(to_text(*time) == "2017-09-18T08:22:00.000Z");
  CHECK(parse_utc_time("1970-01-01T00:00:00.25Z") == UtcTime{std::chrono::milliseconds(250)});
  CHECK(to_text(UtcTime{std::chrono::milliseconds(-1)}) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("what is no time is nothing") {
  for (const char* text : {"", "Z", "2017-09-18T08:22:00", "2017-02-30T00:00:00Z",
                           "2017-09-18 08:22:00Z", "2017-09-18T24:00:00Z", "2017-09-18T08:22:00.Z",
                           "2017-09-18T08:22:00+00:00", "20x7-09-18T08:22:00Z"}) {
    CAPTURE(text);
    CHECK(!parse_utc_time(text));
  }
}

}  // namespace
}  // namespace penstock
