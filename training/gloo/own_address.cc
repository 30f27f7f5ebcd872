#include "training/gloo/own_address.h"

#include <array>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock {
namespace {

// Any port will do: nothing is sent.
constexpr int kPort = 9;

// To connect a datagram socket only chooses the way.
std::string address_of_way(const addrinfo& there) {
  const int way = socket(there.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (way < 0) return "";
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  const bool known =
      connect(way, there.ai_addr, there.ai_addrlen) == 0 &&
      getsockname(way, address, &length) == 0 &&
      getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  close(way);
  return known ? text.data() : "";
}

}  // namespace

std::string address_towards(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> keeps(found, &freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::string address = address_of_way(*each);
    if (!address.empty()) return address;
  }
  return "";
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

std::string address_among(const std::string& own, const std::vector<std::string>& all) {
  if (!own.empty() && !is_loopback(own)) return own;
  for (const std::string& other : all) {
    if (other.empty() || is_loopback(other)) continue;
    std::string address = address_towards(other, kPort);
    if (!address.empty()) return address;
  }
  return "127.0.0.1";
}

}  // namespace penstock
