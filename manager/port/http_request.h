// What a stranger sends to the manager's port, and what it is answered, as values.
#pragma once

#include <string>

#include "manager/port/http_call.h"

namespace penstock {

struct HttpRequest {
  std::string method{};
  std::string path{};  // without its query
  HttpHeaders headers{};
  std::string body{};
  bool keeps_connection = true;  // the peer may ask again on it
  bool operator==(const HttpRequest&) const = default;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  bool operator==(const HttpResponse&) const = default;
};

// The bytes of an answer with HTTP/1.1's head in front.
std::string response_bytes(const HttpResponse& response, bool keeps_connection);

}  // namespace penstock
