#include "manager/port/http_client.h"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "manager/port/http_server.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

HttpAddress at(const HttpServer& server) { return {"127.0.0.1", server.port()}; }

TEST_CASE("a connection is kept, and opened again when the server has closed it") {
  std::uint64_t last = 0;
  HttpServerOptions options;
  options.requests_per_connection = 2;
  const HttpServer server(options, [&](const HttpRequest& request, HttpConversation& conversation) {
    last = conversation.id;
    return HttpResponse{200, "text/plain", request.method + request.path + request.body};
  });
  HttpClient client(at(server));
  CHECK(client.exchange({"PUT", "/a", {}, "text"}).body == "PUT/atext");
  CHECK(last == 1);
  CHECK(client.exchange({"GET", "/b"}).body == "GET/b");
  CHECK(last == 1);
  CHECK(client.exchange({"GET", "/c"}).body == "GET/c");
  CHECK(last == 2);
}

TEST_CASE("a server that is slow, silent or talks too much is given up") {
  HttpServerOptions options;
  options.to_answer = 30s;
  const HttpServer server(
      options, [](const HttpRequest& request, HttpConversation&) -> std::optional<HttpResponse> {
        if (request.path == "/never") return std::nullopt;
        return HttpResponse{200, "text/plain", std::string(100, 'x')};
      });
  HttpClient client(at(server));
  const auto begin = std::chrono::steady_clock::now();
  HttpCall never{"GET", "/never"};
  never.limit = 100ms;
  const HttpReply late = client.exchange(never);
  CHECK(late.status == 0);
  CHECK_FALSE(late.trouble.empty());
  CHECK(std::chrono::steady_clock::now() - begin < 5s);

  HttpCall much{"GET", "/much"};
  much.most_bytes = 99;
  CHECK(client.exchange(much).status == 0);
  much.most_bytes = 100;
  CHECK(client.exchange(much).status == 200);
}

TEST_CASE("a redirect is an answer, and is not followed") {
  int asked = 0;
  const HttpServer server({}, [&](const HttpRequest&, HttpConversation&) {
    ++asked;
    return HttpResponse{302, "text/plain", ""};
  });
  HttpClient client(at(server));
  CHECK(client.exchange({}).status == 302);
  CHECK(asked == 1);
}

TEST_CASE("nobody there is said in words") {
  int port = 0;
  {
    const HttpServer server({},
                            [](const HttpRequest&, HttpConversation&) { return HttpResponse{}; });
    port = server.port();
  }
  HttpClient client({"127.0.0.1", port});
  const HttpReply reply = client.exchange({});
  CHECK(reply.status == 0);
  CHECK(reply.trouble == "Connection refused");
}

TEST_CASE("addresses of servers are http, a host and perhaps a port") {
  CHECK(parse_http_address("--at", "http://169.254.169.254") == HttpAddress{"169.254.169.254", 80});
  CHECK(parse_http_address("--at", "a.example:4270") == HttpAddress{"a.example", 4270});
  CHECK(parse_http_address("--at", "http://[fe80::1]:81") == HttpAddress{"fe80::1", 81});
  CHECK(parse_http_address("--at", "[::1]") == HttpAddress{"::1", 80});
  for (const char* text : {"", "https://a", "http://a/b", "a:0", "a:65536", "a:x", "a:", "user@a",
                           "[::1", "[::1]80", "http://"}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_http_address("--at", text), Error);
  }
}

}  // namespace
}  // namespace penstock
