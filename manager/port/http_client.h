// A thin HTTP/1.1 client over plain TCP: no proxy, no redirect, bounded in bytes and time. For
// metadata services and the manager's own port.
#pragma once

#include <memory>
#include <string>

#include "manager/port/http_call.h"

namespace penstock {

struct HttpAddress {
  std::string host{};
  int port = 80;
  bool operator==(const HttpAddress&) const = default;
};
// "http://169.254.169.254", "http://[::1]:4270", "127.0.0.1:4270"; Error{kBadInput} for another
// scheme, a path or a port that is none. `option` is what to blame.
HttpAddress parse_http_address(const std::string& option, const std::string& text,
                               int least_port = 1);

// One connection, opened with the first call and kept as long as the server keeps it.
class HttpClient {
 public:
  explicit HttpClient(HttpAddress address);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] HttpReply exchange(const HttpCall& call);
  // Every later call begins with a new connection.
  void close();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Owns a client.
HttpExchange http_exchange(const HttpAddress& address);

}  // namespace penstock
