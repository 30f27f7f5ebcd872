#include "manager/port/http_request.h"

#include <algorithm>

namespace penstock {
namespace {

char lower(char one) { return one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one; }

bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

}  // namespace

std::string_view header_of(const HttpHeaders& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (is_same_name(key, name)) return value;
  }
  return {};
}

std::string response_bytes(const HttpResponse& response, bool keeps_connection) {
  std::string bytes = "HTTP/1.1 " + std::to_string(response.status) + ' ';
  bytes += reason_of(response.status);
  bytes += "\r\nContent-Type: " + response.type;
  bytes += "\r\nContent-Length: " + std::to_string(response.body.size());
  bytes += "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: ";
  bytes += keeps_connection ? "keep-alive" : "close";
  return bytes + "\r\n\r\n" + response.body;
}

}  // namespace penstock
