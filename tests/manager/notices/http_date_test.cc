#include "manager/notices/http_date.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a date of HTTP is a point in time") {
  // 46 years of 365 days are 16,790, with 11 leap days from 1972 to 2012; before that day 2016 had
  // 31 + 29 + 31 + 30 + 31 + 30 + 31 + 31 + 18 = 262: day 17,063.
  CHECK(parse_http_date("Mon, 19 Sep 2016 18:29:47 GMT") ==
        UtcTime{17'063 * 24h + 18h + 29min + 47s});
}

TEST_CASE("another text, another zone and a wrong day of the week are refused") {
  for (const char* text :
       {"", "Tue, 19 Sep 2016 18:29:47 GMT", "Mon, 19 Sep 2016 18:29:47 CET",
        "Mon, 9 Sep 2016 18:29:47 GMT", "19 Sep 2016 18:29:47 GMT", "Mon, 19 Foo 2016 18:29:47 GMT",
        "Mon, 19 Sep 2016 25:29:47 GMT", "Mon, 1a Sep 2016 18:29:47 GMT"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_http_date(text));
  }
}

}  // namespace
}  // namespace penstock
