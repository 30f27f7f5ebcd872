#include "tests/runtime_bridge/redis/redis_server.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::tests {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  close(socket);
  return ntohs(address.sin_port);
}

bool listens(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  const bool is_there =
      connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return is_there;
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> options, bool tls)
    : options_(std::move(options)), tls_(tls), port_(free_port()) {
  std::string folder = "/tmp/penstock-redis-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = folder;
  if (tls_) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=penstock-test -addext subjectAltName=IP:127.0.0.1 -keyout " +
        file("key.pem") + " -out " + file("certificate.pem") + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("openssl: " + command);
  }
  start();
}

RedisServer::~RedisServer() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RedisServer::kill() {
  if (process_ < 0) return;
  send(SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

void RedisServer::send(int signal) const { ::kill(process_, signal); }

void RedisServer::start() {
  const std::string port = std::to_string(port_);
  std::vector<std::string> words{
      PENSTOCK_REDIS_SERVER, "--bind", "127.0.0.1",      "--save", "",
      "--appendonly",        "no",     "--dir",          folder_,  "--logfile",
      file("log"),           "--port", tls_ ? "0" : port};
  if (tls_) {
    words.insert(words.end(),
                 {"--tls-port", port, "--tls-cert-file", file("certificate.pem"), "--tls-key-file",
                  file("key.pem"), "--tls-ca-cert-file", file("certificate.pem")});
  }
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (posix_spawn(&process_, PENSTOCK_REDIS_SERVER, nullptr, nullptr, arguments.data(), environ) !=
      0) {
    throw std::runtime_error("cannot start redis-server");
  }
  for (int i = 0; i < 2000 && !listens(port_); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

PlanStoreAddress RedisServer::address() const {
  PlanStoreAddress address;
  address.host = "127.0.0.1";
  address.port = port_;
  address.tls = tls_;
  if (tls_) {
    address.authorities = address.certificate = file("certificate.pem");
    address.key = file("key.pem");
  }
  return address;
}

}  // namespace penstock::tests
