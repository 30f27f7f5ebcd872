// A thin HTTP/1.1 server: one thread, bounded in connections, bytes and time. It knows no routes:
// what a request means is decided by a function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/values/units.h"
#include "manager/port/http_request.h"
#include "manager/port/request_reader.h"

namespace penstock {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0: any that is free
  RequestLimits request{};
  // One more, and the one that has been silent or slow for longest is closed.
  std::size_t connections = 128;
  int requests_per_connection = 100;
  // For a whole request, not for every byte: a client that sends one byte a second is cut off.
  Duration to_ask = std::chrono::seconds(5);
  Duration to_answer = std::chrono::seconds(15);  // with reply(), then 503
  Duration to_take = std::chrono::seconds(5);     // what it is sent
};

// What is remembered of a peer from one of its requests to the next.
struct HttpConversation {
  std::uint64_t id = 0;
  std::string challenge{};
};

// On the server's thread. Nothing: the answer comes later, with reply().
using AnswerRequest =
    std::function<std::optional<HttpResponse>(const HttpRequest&, HttpConversation&)>;

class HttpServer {
 public:
  // Listens from now on. Error{kMissingResource} when the address cannot be had.
  HttpServer(const HttpServerOptions& options, AnswerRequest answer);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] int port() const;
  // From any thread; no effect when the peer has gone.
  void reply(std::uint64_t conversation, HttpResponse response);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock
