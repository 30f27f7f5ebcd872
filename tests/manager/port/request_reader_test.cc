#include "manager/port/request_reader.h"

#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

const std::string kPost = "POST /command?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";

TEST_CASE("a request is the same in one piece and byte by byte") {
  RequestReader whole;
  const auto request = whole.read(kPost);
  REQUIRE(request);
  CHECK(request->method == "POST");
  CHECK(request->path == "/command");
  CHECK(request->body == "body");
  CHECK(header_of(request->headers, "hOST") == "a");

  RequestReader slow;
  for (std::size_t i = 0; i + 1 < kPost.size(); ++i) {
    CAPTURE(i);
    CHECK_FALSE(slow.read(kPost.substr(i, 1)));
    CHECK_FALSE(slow.refusal());
  }
  CHECK(slow.read(kPost.substr(kPost.size() - 1)) == request);
}

TEST_CASE("two requests in one piece are two requests") {
  RequestReader reader;
  REQUIRE(reader.read(kPost + "GET /status HTTP/1.1\r\n\r\n"));
  const auto second = reader.read("");
  REQUIRE(second);
  CHECK(second->path == "/status");
  CHECK_FALSE(reader.read(""));
  CHECK_FALSE(reader.refusal());
}

TEST_CASE("what is too long is refused before it has been sent") {
  const auto status_after = [](const std::string& bytes) {
    RequestReader reader({256, 100});
    const auto request = reader.read(bytes);
    CHECK_FALSE(request);
    return reader.refusal() ? reader.refusal()->status : 0;
  };
  CHECK(status_after("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n") == 413);
  CHECK(status_after("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n") == 400);
  CHECK(status_after("GET / HTTP/1.1\r\nX: " + std::string(300, 'x')) == 431);
  CHECK(status_after("GET /" + std::string(300, 'x')) == 431);
  // Chunks are counted, too.
  CHECK(status_after("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
                     std::string(101, 'x') + "\r\n") == 413);
}

TEST_CASE("garbage is refused, and nothing is read behind it") {
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01", 6), std::string(100, '\0'),
        std::string("hello\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n")}) {
    RequestReader reader;
    CHECK_FALSE(reader.read(bytes));
    REQUIRE(reader.refusal());
    CHECK(reader.refusal()->status == 400);
    CHECK_FALSE(reader.read(kPost));
  }
}

}  // namespace
}  // namespace penstock
