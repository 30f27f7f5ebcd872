// A socket that never blocks: each call polls until its deadline, so that no store can hold up a
// rank. Of a host's addresses each gets an equal share of the time that is left.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime_bridge/redis/byte_stream.h"

namespace penstock {
namespace {

class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

// False at the deadline.
bool wait_for(int socket, short events, SteadyTime deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::max(Duration{}, deadline - steady_now()));
    pollfd waited{socket, events, 0};
    const int ready = poll(&waited, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw StoreTrouble(std::string("poll: ") + std::strerror(errno));
  }
}

class TcpStream : public ByteStream {
 public:
  explicit TcpStream(Socket socket) : socket_(std::move(socket)) {}

  void send(std::string_view bytes, SteadyTime deadline) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait_for(socket_.number(), POLLOUT, deadline)) throw StoreTrouble("takes no bytes");
      } else if (errno != EINTR) {
        throw StoreTrouble(std::strerror(errno));
      }
    }
  }

  std::string receive(SteadyTime deadline) override {
    std::string bytes(std::size_t{1} << 16, '\0');
    for (;;) {
      const ssize_t got = recv(socket_.number(), bytes.data(), bytes.size(), 0);
      if (got > 0) {
        bytes.resize(static_cast<std::size_t>(got));
        return bytes;
      }
      if (got == 0) throw StoreTrouble("the connection was closed");
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait_for(socket_.number(), POLLIN, deadline)) throw StoreTrouble("no answer in time");
      } else if (errno != EINTR) {
        throw StoreTrouble(std::strerror(errno));
      }
    }
  }

 private:
  Socket socket_;
};

// What is wrong is left in errno.
std::unique_ptr<ByteStream> connected(const addrinfo& to, SteadyTime deadline) {
  Socket socket(::socket(to.ai_family, to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) return nullptr;
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket.number(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (connect(socket.number(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return nullptr;
    if (!wait_for(socket.number(), POLLOUT, deadline)) {
      errno = ETIMEDOUT;
      return nullptr;
    }
    int failure = 0;
    socklen_t size = sizeof failure;
    getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure != 0) {
      errno = failure;
      return nullptr;
    }
  }
  return std::make_unique<TcpStream>(std::move(socket));
}

}  // namespace

std::unique_ptr<ByteStream> connect_tcp(const std::string& host, int port, SteadyTime deadline) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (code != 0) throw StoreTrouble(host + ": " + gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  std::ptrdiff_t left = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) ++left;
  std::string why;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next, --left) {
    // One that swallows everything leaves the others their share of the time.
    const SteadyTime now = steady_now();
    if (auto stream = connected(*each, now + (deadline - now) / left)) return stream;
    why = std::strerror(errno);
  }
  throw StoreTrouble("cannot connect: " + why);
}

}  // namespace penstock
