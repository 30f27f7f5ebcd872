// Boost.Beast, driven to the end of one call on the caller's thread. The limit of a call covers all
// of it, name resolution included. A kept connection that the server has closed is opened once
// more, where nothing of an answer had come; a POST is not sent twice.
#include "manager/port/http_client.h"

#include <charconv>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "core/values/error.h"

namespace penstock {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using Failed = boost::system::error_code;

constexpr std::uint32_t kLongestHead = 16U << 10;

HttpReply reply_of(http::response<http::string_body>&& message) {
  HttpReply reply;
  reply.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    reply.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  reply.body = std::move(message.body());
  return reply;
}

}  // namespace

struct HttpClient::Parts {
  explicit Parts(HttpAddress given) : address(std::move(given)) {}

  HttpAddress address;
  boost::asio::io_context context{};
  std::unique_ptr<beast::tcp_stream> stream{};
  beast::flat_buffer buffer{};

  // Runs what was begun until it has ended, or the time is up.
  template <class Begin>
  Failed finish(std::chrono::steady_clock::time_point until, const Begin& begin) {
    Failed result = boost::asio::error::timed_out;
    begin([&result](const Failed& failed, auto&&...) { result = failed; });
    context.restart();
    context.run_until(until);
    if (!context.stopped()) {
      Failed ignored;
      if (stream) stream->socket().close(ignored);
      context.run();  // what was begun sees that it has failed
      return boost::asio::error::timed_out;
    }
    return result;
  }

  Failed connect(std::chrono::steady_clock::time_point until) {
    stream.reset();
    buffer.clear();
    tcp::resolver resolver(context);
    tcp::resolver::results_type found;
    Failed failed = boost::asio::error::timed_out;
    resolver.async_resolve(address.host, std::to_string(address.port),
                           [&](const Failed& error, tcp::resolver::results_type results) {
                             failed = error;
                             found = std::move(results);
                           });
    context.restart();
    context.run_until(until);
    if (!context.stopped()) {
      resolver.cancel();
      context.run();
      return boost::asio::error::timed_out;
    }
    if (failed) return failed;
    stream = std::make_unique<beast::tcp_stream>(context);
    stream->expires_never();
    return finish(until, [&](auto done) { stream->async_connect(found, done); });
  }

  // `was_silent`: whether the server closed without a byte of an answer.
  HttpReply send(const HttpCall& call, std::chrono::steady_clock::time_point until,
                 bool& was_silent) {
    http::request<http::string_body> request;
    request.method_string(call.method);
    request.target(call.path);
    request.version(11);
    request.set(http::field::host, address.host);
    request.set(http::field::user_agent, "penstock");
    for (const auto& [name, value] : call.headers) request.set(name, value);
    request.body() = call.body;
    request.prepare_payload();
    Failed failed = finish(until, [&](auto done) { http::async_write(*stream, request, done); });
    http::response_parser<http::string_body> parser;
    parser.header_limit(kLongestHead);
    parser.body_limit(call.most_bytes);
    if (!failed) {
      failed =
          finish(until, [&](auto done) { http::async_read_header(*stream, buffer, parser, done); });
    }
    // Boost 1.74 holds bodies to their limit that are chunked or end with the connection, but not
    // those that say their length.
    if (!failed && parser.content_length().value_or(0) > call.most_bytes) {
      failed = http::error::body_limit;
    }
    if (!failed) {
      failed = finish(until, [&](auto done) { http::async_read(*stream, buffer, parser, done); });
    }
    was_silent = failed && failed != boost::asio::error::timed_out && !parser.got_some();
    if (failed) {
      stream.reset();
      return {0, {}, {}, failed.message()};
    }
    const bool keeps = parser.keep_alive();
    HttpReply reply = reply_of(parser.release());
    if (!keeps) stream.reset();
    return reply;
  }

  HttpReply exchange(const HttpCall& call) {
    const auto until = std::chrono::steady_clock::now() + call.limit;
    bool was_silent = false;
    if (stream) {
      HttpReply reply = send(call, until, was_silent);
      if (!was_silent || call.method == "POST") return reply;
    }
    if (const Failed failed = connect(until)) {
      stream.reset();
      return {0, {}, {}, failed.message()};
    }
    return send(call, until, was_silent);
  }
};

HttpClient::HttpClient(HttpAddress address) : parts_(std::make_unique<Parts>(std::move(address))) {}
HttpClient::~HttpClient() = default;
HttpReply HttpClient::exchange(const HttpCall& call) { return parts_->exchange(call); }
void HttpClient::close() { parts_->stream.reset(); }

HttpExchange http_exchange(const HttpAddress& address) {
  return [client = std::make_shared<HttpClient>(address)](const HttpCall& call) {
    return client->exchange(call);
  };
}

HttpAddress parse_http_address(const std::string& option, const std::string& text, int least_port) {
  const auto refuse = [&](const std::string& what) {
    throw_bad_input(
        option + ": " + what + ": '" + text +
        "'\nhelp: write it as http://HOST or HOST:PORT; https, paths and names of users "
        "are not supported");
  };
  std::string_view rest = text;
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  HttpAddress address;
  std::size_t end = rest.find(':');
  if (rest.starts_with('[')) {
    const std::size_t bracket = rest.find(']');
    if (bracket == std::string_view::npos) refuse("'[' is not closed");
    address.host = std::string(rest.substr(1, bracket - 1));
    end = bracket + 1 < rest.size() ? bracket + 1 : std::string_view::npos;
  } else {
    address.host = std::string(rest.substr(0, end));
  }
  if (address.host.empty() || address.host.find_first_of("/@?#[] ") != std::string::npos) {
    refuse("this is no address");
  }
  if (end != std::string_view::npos) {
    const std::string_view port = rest.substr(end + 1);
    const auto [stop, error] =
        std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (rest[end] != ':' || error != std::errc() || stop != port.data() + port.size() ||
        address.port < least_port || address.port > 65535) {
      refuse("this is no port");
    }
  }
  return address;
}

}  // namespace penstock
