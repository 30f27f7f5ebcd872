#include "report/page/packed_text.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/report/page/unpacked.h"

namespace penstock {
namespace {

// RFC 4648, section 10.
TEST_CASE("base64 of the standard's examples") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foob") == "Zm9vYg==");
  CHECK(base64("fooba") == "Zm9vYmE=");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64(std::string("\xff\xef\x00", 3)) == "/+8A");
}

// RFC 1952: 1f 8b, deflate, no flags, four bytes of time, "best compression", unknown system.
TEST_CASE("the header of a gzip file holds neither time nor machine") {
  const std::string header("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff", 10);
  CHECK(gzip("some text").substr(0, 10) == header);
  CHECK(gzip("").substr(0, 10) == header);
}

TEST_CASE("what was packed comes out again") {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>(i * i % 251);
  for (const std::string& each : {std::string(), std::string("a"), bytes}) {
    CHECK(testing::gunzipped(gzip(each)) == each);
    CHECK(testing::decoded_base64(base64(each)) == each);
  }
}

}  // namespace
}  // namespace penstock
