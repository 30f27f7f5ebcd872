// Boost.Beast's parser does the work: it is incremental, bounds head and body, and is itself
// fuzzed. A request line that is not HTTP, an unknown transfer coding, a body beyond the limit are
// refused as soon as they are seen, and the connection is closed with that answer.
#include "manager/port/request_reader.h"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace penstock {
namespace {

namespace http = boost::beast::http;

HttpRequest request_of(http::request<http::string_body>&& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  request.path = target.substr(0, target.find('?'));
  request.keeps_connection = message.keep_alive();
  for (const auto& field : message) {
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(message.body());
  return request;
}

HttpResponse refusal_of(const boost::system::error_code& error) {
  if (error == http::error::body_limit) return {413, "text/plain", "the body is too long\n"};
  if (error == http::error::header_limit) return {431, "text/plain", "the head is too long\n"};
  return {400, "text/plain", "this is no HTTP request\n"};
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> http;
};

RequestReader::RequestReader(RequestLimits limits) : limits_(limits) {}
RequestReader::~RequestReader() = default;

std::optional<HttpRequest> RequestReader::read(std::string_view bytes) {
  if (refusal_) return std::nullopt;
  bytes_ += bytes;
  while (!bytes_.empty()) {
    if (!parser_) {
      parser_ = std::make_unique<Parser>();
      parser_->http.header_limit(static_cast<std::uint32_t>(limits_.head_bytes));
      parser_->http.body_limit(limits_.body_bytes);
      parser_->http.eager(true);
    }
    boost::system::error_code error;
    const std::size_t used = parser_->http.put(boost::asio::buffer(bytes_), error);
    bytes_.erase(0, used);
    if (error == http::error::need_more) return std::nullopt;
    if (error) {
      refusal_ = refusal_of(error);
      bytes_.clear();
      return std::nullopt;
    }
    if (parser_->http.is_done()) {
      std::optional<HttpRequest> request = request_of(parser_->http.release());
      parser_.reset();
      return request;
    }
    if (used == 0) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace penstock
