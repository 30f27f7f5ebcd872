#include "manager/port/serve_commands.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/values/error.h"
#include "manager/port/http_client.h"
#include "manager/port/send_command.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

const PortKey kKey(std::string(32, 'k'));
CommandGiven leave(const std::string& id) { return {id, CommandKind::kLeave, "test", "a", 1, {}}; }

HttpServerOptions quick() {
  HttpServerOptions options;
  options.connections = 8;
  options.to_ask = 500ms;
  options.to_answer = 300ms;
  return options;
}

// A manager that does all it is told.
struct Manager {
  explicit Manager(const HttpServerOptions& options = quick())
      : port(options, kKey, {"job", std::nullopt, "{}", "penstock_step 7\n"}) {}
  CommandPort port;
  std::vector<CommandMessage> seen{};
  std::jthread loop{[this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const PendingCommand& command : port.take(10ms)) {
        seen.push_back(command.message);
        port.answer(command, {true, "done: " + command_words(command.message.command)});
      }
    }
  }};
};

ManagerLine line_to(const CommandPort& port, const PortKey& key = kKey) {
  return {http_exchange({"127.0.0.1", port.port()}), key, "job"};
}

// A socket of one's own, for what no client would send.
struct Raw {
  explicit Raw(int port) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    const timeval limit{5, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Raw() { ::close(socket); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void write(const std::string& bytes) const {
    (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Until the other side closes.
  [[nodiscard]] std::string read_all() const {
    std::string all;
    char piece[512];
    for (ssize_t count = 0; (count = ::recv(socket, piece, sizeof piece, 0)) > 0;) {
      all.append(piece, static_cast<std::size_t>(count));
    }
    return all;
  }
  int socket;
};

TEST_CASE("a command reaches the manager once, and its outcome comes back") {
  Manager manager;
  ManagerLine line = line_to(manager.port);
  CHECK(line.send(leave("id1")) == SentCommand{true, true, "done: leave a"});
  CHECK(line.send({"id2", CommandKind::kStop, "test"}) == SentCommand{true, true, "done: stop"});
  manager.loop.request_stop();
  manager.loop.join();
  REQUIRE(manager.seen.size() == 2);
  CHECK(manager.seen[0].command.id == "id1");
}

TEST_CASE("the wrong key changes nothing, and the right one works after it") {
  Manager manager;
  ManagerLine wrong = line_to(manager.port, PortKey(std::string(32, 'x')));
  const SentCommand sent = wrong.send(leave("id1"));
  CHECK(sent.was_answered);
  CHECK_FALSE(sent.done);
  std::string trouble;
  CHECK_FALSE(wrong.status(trouble));
  CHECK(trouble == "send the token for reading: Authorization: Bearer TOKEN");
  ManagerLine right = line_to(manager.port);
  CHECK(right.status(trouble) == "{}");
  CHECK(right.send(leave("id1")).done);
  manager.loop.request_stop();
  manager.loop.join();
  CHECK(manager.seen.size() == 1);
}

TEST_CASE("a manager that has no time is said to be busy, and a later answer harms nobody") {
  CommandPort port(quick(), kKey, {"job", std::nullopt, "{}", ""});
  ManagerLine line = line_to(port);
  CHECK_FALSE(line.send(leave("id1")).was_answered);
  const std::vector<PendingCommand> commands = port.take(0ms);
  REQUIRE(commands.size() == 1);
  port.answer(commands[0], {true, "late"});
  std::string trouble;
  CHECK(line.status(trouble) == "{}");
}

TEST_CASE("slow clients are cut off after a whole time, however often they send a byte") {
  Manager manager;
  const Raw slow(manager.port.port());
  const auto begin = std::chrono::steady_clock::now();
  std::jthread dripping([&](const std::stop_token& stop) {
    slow.write("GET /status HTTP/1.1\r\nX: ");
    while (!stop.stop_requested()) {
      slow.write("x");
      std::this_thread::sleep_for(20ms);
    }
  });
  (void)slow.read_all();
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took > 400ms);
  CHECK(took < 4s);
}

TEST_CASE("more connections than the limit cost the oldest its place, not the newest") {
  Manager manager;
  std::vector<std::unique_ptr<Raw>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<Raw>(manager.port.port()));
  std::string trouble;
  CHECK(line_to(manager.port).status(trouble) == "{}");
}

TEST_CASE("who asks wrongly is answered and hung up on") {
  Manager manager;
  const Raw garbage(manager.port.port());
  garbage.write("hello\r\n\r\n");
  CHECK(garbage.read_all().starts_with("HTTP/1.1 400 "));
  const Raw oversize(manager.port.port());
  oversize.write("POST /command HTTP/1.1\r\nContent-Length: 16385\r\n\r\n");
  CHECK(oversize.read_all().starts_with("HTTP/1.1 413 "));
}

TEST_CASE("commands beyond the rate are refused without reaching the manager") {
  Manager manager;
  ManagerLine line = line_to(manager.port);
  int done = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 150; ++i) done += line.send(leave("id" + std::to_string(i))).done ? 1 : 0;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CHECK(done >= 100);
  CHECK(done <= 101 + 20 * seconds);
}

TEST_CASE("an answer that was given arrives, also when the port is closed right after it") {
  auto port = std::make_unique<CommandPort>(quick(), kKey, PortView{"job", std::nullopt, "{}", ""});
  SentCommand sent;
  std::jthread sender([&, line = line_to(*port)]() mutable { sent = line.send(leave("id1")); });
  std::vector<PendingCommand> commands;
  while (commands.empty()) commands = port->take(100ms);
  port->answer(commands[0], {true, "the end"});
  port.reset();
  sender.join();
  CHECK(sent == SentCommand{true, true, "the end"});
}

TEST_CASE("a port that is taken is named") {
  const Manager manager;
  HttpServerOptions options = quick();
  options.port = manager.port.port();
  CHECK_THROWS_WITH(CommandPort(options, kKey, PortView{}),
                    doctest::Contains("help: choose another port"));
}

}  // namespace
}  // namespace penstock
