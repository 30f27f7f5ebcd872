// One HTTP request and what came back, as values: what talks HTTP is written and tested without a
// network.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/units.h"

namespace penstock {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;
// The value of the first header of this name, in whatever case it is written; "" when there is
// none.
std::string_view header_of(const HttpHeaders& headers, std::string_view name);

struct HttpCall {
  std::string method = "GET";
  std::string path = "/";  // with its query
  HttpHeaders headers{};
  std::string body{};
  Duration limit = std::chrono::seconds(10);  // for all of it: connect, write, read
  std::size_t most_bytes = 64UL << 10;        // of the answer's body
};

struct HttpReply {
  int status = 0;  // 0: there was no answer, and `trouble` says why
  HttpHeaders headers{};
  std::string body{};
  std::string trouble{};
};

// Sends a call to one server, and waits for the answer. Never throws for what the network does.
using HttpExchange = std::function<HttpReply(const HttpCall&)>;

}  // namespace penstock
