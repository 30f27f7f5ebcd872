// One io_context on one thread. Every connection has one timer, set for whatever it has to do next:
// send a whole request, wait for an answer, take the answer. With too many connections the oldest
// of those that have not sent a whole request yet is closed, so that thousands of slow clients
// cannot keep a right one out, and those that wait for an answer are never closed for others.
// Invariant: connections_ holds every open connection under its id; ids rise, so that the first in
// the map is the oldest.
#include "manager/port/http_server.h"

#include <array>
#include <map>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>

#include "core/values/error.h"

namespace penstock {
namespace {

using boost::asio::ip::tcp;
using Failed = boost::system::error_code;

constexpr auto kToEnd = std::chrono::milliseconds(500);

enum class Doing { kAsking, kWaiting, kTaking, kClosing };

struct Connection {
  Connection(tcp::socket taken, const RequestLimits& limits)
      : socket(std::move(taken)), timer(socket.get_executor()), reader(limits) {}

  tcp::socket socket;
  boost::asio::steady_timer timer;
  RequestReader reader;
  HttpConversation conversation;
  Doing doing = Doing::kAsking;
  bool keeps = false;
  int requests = 0;
  std::array<char, 4096> input{};
  std::string output;
};
using Shared = std::shared_ptr<Connection>;

// A rank that outlives its manager must not keep the manager's port.
void keep_from_children(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

}  // namespace

struct HttpServer::Parts {
  Parts(HttpServerOptions given, AnswerRequest function)
      : options(std::move(given)), answer(std::move(function)), acceptor(context), pause(context) {}

  HttpServerOptions options;
  AnswerRequest answer;
  boost::asio::io_context context;
  tcp::acceptor acceptor;
  boost::asio::steady_timer pause;
  std::map<std::uint64_t, Shared> connections;
  std::uint64_t next_id = 1;
  int port = 0;
  bool ending = false;
  std::jthread thread;

  void listen() {
    try {
      const tcp::endpoint at(boost::asio::ip::make_address(options.address),
                             static_cast<unsigned short>(options.port));
      acceptor.open(at.protocol());
      acceptor.set_option(tcp::acceptor::reuse_address(true));
      acceptor.bind(at);
      acceptor.listen();
      keep_from_children(acceptor.native_handle());
      port = acceptor.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
      throw Error(ErrorKind::kMissingResource,
                  "cannot listen on " + options.address + ":" + std::to_string(options.port) +
                      ": " + error.code().message() +
                      "\nhelp: choose another port in the job file, or end what uses this one");
    }
  }

  void accept() {
    acceptor.async_accept([this](const Failed& failed, tcp::socket socket) {
      if (failed == boost::asio::error::operation_aborted) return;
      if (failed) {  // out of descriptors: those that are open run out of time
        close_oldest();
        pause.expires_after(std::chrono::milliseconds(100));
        pause.async_wait([this](const Failed& ended) {
          if (!ended) accept();
        });
        return;
      }
      begin(std::move(socket));
      accept();
    });
  }

  void begin(tcp::socket socket) {
    keep_from_children(socket.native_handle());
    if (connections.size() >= options.connections && !close_oldest()) return;
    const auto connection = std::make_shared<Connection>(std::move(socket), options.request);
    connection->conversation.id = next_id++;
    connections.emplace(connection->conversation.id, connection);
    ask(connection);
  }

  // Of those that have not sent a whole request; false when there is none.
  bool close_oldest() {
    for (const auto& [id, connection] : connections) {
      if (connection->doing == Doing::kAsking) {
        close(Shared(connection));
        return true;
      }
    }
    return false;
  }

  void close(const Shared& connection) {
    Failed ignored;
    connection->doing = Doing::kClosing;
    connection->timer.cancel();
    connection->socket.close(ignored);
    connections.erase(connection->conversation.id);
    if (ending && connections.empty()) context.stop();
  }

  // Answers that are on their way still arrive, such as that of the command that ended the job.
  void end() {
    ending = true;
    Failed ignored;
    acceptor.close(ignored);
    pause.expires_after(kToEnd);
    pause.async_wait([this](const Failed&) { context.stop(); });
    const auto open = connections;
    for (const auto& [id, connection] : open) {
      if (connection->doing != Doing::kTaking) close(connection);
    }
    if (connections.empty()) context.stop();
  }

  void within(const Shared& connection, Duration limit, HttpResponse late) {
    connection->timer.expires_after(limit);
    connection->timer.async_wait([this, connection, late = std::move(late)](const Failed& ended) {
      // It may have been set anew when it had already run out.
      if (ended || connection->doing == Doing::kClosing ||
          connection->timer.expiry() > std::chrono::steady_clock::now()) {
        return;
      }
      if (connection->doing == Doing::kWaiting) return send(connection, late);
      close(connection);
    });
  }

  void ask(const Shared& connection) {
    if (ending) return close(connection);
    connection->doing = Doing::kAsking;
    within(connection, options.to_ask, {});
    take_request(connection, {});
  }

  void read_more(const Shared& connection) {
    connection->socket.async_read_some(
        boost::asio::buffer(connection->input),
        [this, connection](const Failed& failed, std::size_t count) {
          if (connection->doing == Doing::kClosing) return;
          if (failed) return close(connection);
          take_request(connection, {connection->input.data(), count});
        });
  }

  void take_request(const Shared& connection, std::string_view bytes) {
    const auto request = connection->reader.read(bytes);
    if (connection->reader.refusal()) {
      connection->keeps = false;
      return send(connection, *connection->reader.refusal());
    }
    if (!request) return read_more(connection);
    ++connection->requests;
    connection->keeps =
        request->keeps_connection && connection->requests < options.requests_per_connection;
    connection->doing = Doing::kWaiting;
    within(connection, options.to_answer,
           {503, "text/plain", "the manager is busy; ask for its status, then send it again\n"});
    if (const auto response = answer(*request, connection->conversation))
      send(connection, *response);
  }

  void send(const Shared& connection, const HttpResponse& response) {
    // Who is refused has to connect again: that bounds what one connection can try.
    if (response.status >= 400) connection->keeps = false;
    connection->doing = Doing::kTaking;
    connection->output = response_bytes(response, connection->keeps);
    within(connection, options.to_take, {});
    boost::asio::async_write(connection->socket, boost::asio::buffer(connection->output),
                             [this, connection](const Failed& failed, std::size_t /*count*/) {
                               if (connection->doing == Doing::kClosing) return;
                               if (failed) return close(connection);
                               if (!connection->keeps) return hang_up(connection);
                               ask(connection);
                             });
  }

  // Closing with unread input would reset the connection, and the peer might lose the answer: what
  // it still sends is read and dropped, for as long as it may take.
  void hang_up(const Shared& connection) {
    if (ending) return close(connection);
    Failed ignored;
    connection->socket.shutdown(tcp::socket::shutdown_send, ignored);
    drop_input(connection);
  }
  void drop_input(const Shared& connection) {
    connection->doing = Doing::kAsking;  // may be closed for others
    connection->socket.async_read_some(boost::asio::buffer(connection->input),
                                       [this, connection](const Failed& failed, std::size_t) {
                                         if (connection->doing == Doing::kClosing) return;
                                         if (failed) return close(connection);
                                         drop_input(connection);
                                       });
  }

  void reply(std::uint64_t id, const HttpResponse& response) {
    const auto found = connections.find(id);
    if (found != connections.end() && found->second->doing == Doing::kWaiting) {
      send(Shared(found->second), response);
    }
  }
};

HttpServer::HttpServer(const HttpServerOptions& options, AnswerRequest answer)
    : parts_(std::make_unique<Parts>(options, std::move(answer))) {
  parts_->listen();
  parts_->accept();
  parts_->thread = std::jthread([parts = parts_.get()] { parts->context.run(); });
}

HttpServer::~HttpServer() {
  boost::asio::post(parts_->context, [parts = parts_.get()] { parts->end(); });
  parts_->thread.join();
}

int HttpServer::port() const { return parts_->port; }

void HttpServer::reply(std::uint64_t conversation, HttpResponse response) {
  boost::asio::post(parts_->context,
                    [parts = parts_.get(), conversation, response = std::move(response)] {
                      parts->reply(conversation, response);
                    });
}

}  // namespace penstock
