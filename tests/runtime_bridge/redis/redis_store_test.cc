// The store against a real redis-server: what it keeps, and what it says when the server is
// stopped, killed, full, a replica, behind TLS or a password, or no Redis at all.
#include "runtime_bridge/redis/redis_store.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/messages.h"
#include "tests/runtime_bridge/redis/redis_server.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using tests::RedisServer;

constexpr RedisTimes kTimes{.connect = 5s, .answer = 5s};

// Until it answers, or 20 s are over.
template <class Ask>
auto once_it_answers(const Ask& ask) {
  const SteadyTime deadline = steady_now() + 20s;
  auto answer = ask();
  while (!answer.trouble.empty() && steady_now() < deadline) {
    std::this_thread::sleep_for(10ms);
    answer = ask();
  }
  return answer;
}

std::string error_of(const PlanStoreAddress& address) {
  return tests::message_of([&] { (void)open_redis(address, kTimes)->wait_for("k", "", 1ms); });
}

TEST_CASE("a value is there for all readers, in place of the one before, until its time is over") {
  const RedisServer server;
  const auto store = open_redis(server.address(), kTimes);
  std::string bytes = "with \r\n and ";
  bytes += '\0';
  CHECK_FALSE(store->wait_for("k", "", 0ms).value);
  CHECK(store->put("k", "before", 1min) == "");
  CHECK(store->put("k", bytes, 1min) == "");
  const auto other = open_redis(server.address(), kTimes);
  for (PlanStore* each : {store.get(), other.get(), other.get()}) {
    CHECK(each->wait_for("k", "", 0ms).value.value().bytes == bytes);
  }
  const std::string id = store->wait_for("k", "", 0ms).value.value().id;
  CHECK_FALSE(store->wait_for("k", id, 5ms).value);
  CHECK(store->put("k", "later", 1min) == "");
  CHECK(store->wait_for("k", id, 5ms).value.value().bytes == "later");

  CHECK(store->time_left("k").value.value() > 59s);
  CHECK(store->keep("k", 1h).value == true);
  CHECK(store->time_left("k").value.value() > 59min);
  CHECK(store->keep("none", 1h).value == false);
  CHECK_FALSE(store->time_left("none").value);
  CHECK(store->remove({"k", "none"}) == "");
  CHECK_FALSE(store->wait_for("k", "", 0ms).value);

  CHECK(store->put("short", "x", 50ms) == "");
  std::this_thread::sleep_for(100ms);
  CHECK_FALSE(store->wait_for("short", "", 0ms).value);
}

TEST_CASE("who waits is woken by the value, and not before its wait is over without one") {
  const RedisServer server;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&server] {
      const auto answer = open_redis(server.address(), kTimes)->wait_for("k", "", 30s);
      CHECK(answer.trouble == "");
      CHECK(answer.value.value().bytes == "v");
    });
  }
  const auto store = open_redis(server.address(), kTimes);
  const SteadyTime began = steady_now();
  CHECK_FALSE(store->wait_for("other", "", 50ms).value);
  CHECK(steady_now() - began >= 50ms);
  CHECK(store->put("k", "v", 1min) == "");
  for (std::thread& reader : readers) reader.join();
}

TEST_CASE("a server that was killed is trouble until it is there again, empty") {
  RedisServer server;
  const auto store = open_redis(server.address(), kTimes);
  CHECK(store->put("k", "v", 1min) == "");
  server.kill();
  CHECK(store->wait_for("k", "", 10ms).trouble != "");
  CHECK(store->wait_for("k", "", 500ms).trouble.starts_with("cannot connect: "));
  server.start();
  const auto answer = once_it_answers([&] { return store->wait_for("k", "", 10ms); });
  CHECK(answer.trouble == "");
  CHECK_FALSE(answer.value);
  CHECK(store->put("k", "again", 1min) == "");
  CHECK(store->wait_for("k", "", 10ms).value.value().bytes == "again");
}

TEST_CASE("a reader that waits while the server dies, waits on with the next one") {
  RedisServer server;
  const auto store = open_redis(server.address(), kTimes);
  std::thread restarts([&server] {
    std::this_thread::sleep_for(50ms);
    server.kill();
    server.start();
    CHECK(open_redis(server.address(), kTimes)->put("k", "v", 1min) == "");
  });
  CHECK(once_it_answers([&] { return store->wait_for("k", "", 20s); }).value.value().bytes == "v");
  restarts.join();
}

TEST_CASE("a server that is stopped is trouble after the answer's time, and no hang") {
  RedisServer server;
  const auto store = open_redis(server.address(), {.connect = 5s, .answer = 100ms});
  CHECK(once_it_answers([&] { return store->keep("k", 1min); }).value == false);
  server.send(SIGSTOP);
  CHECK(store->put("k", "v", 1min) == "no answer in time");
  server.send(SIGCONT);
  CHECK(once_it_answers([&] { return store->keep("none", 1min); }).value == false);
}

TEST_CASE("a full server says so to writers, and readers read on") {
  const RedisServer server({"--maxmemory", "2mb", "--maxmemory-policy", "noeviction"});
  const auto store = open_redis(server.address(), kTimes);
  CHECK(store->put("k", "v", 1min) == "");
  std::string trouble;
  for (int i = 0; i < 100 && trouble.empty(); ++i) {
    trouble = store->put("big" + std::to_string(i), std::string(100000, 'x'), 1min);
  }
  CHECK(trouble.starts_with("its memory is full (raise its maxmemory): OOM "));
  CHECK(store->wait_for("k", "", 10ms).value.value().bytes == "v");
}

TEST_CASE("a replica that only reads says so to writers") {
  const RedisServer master;
  const RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
  const auto store = open_redis(replica.address(), kTimes);
  CHECK(store->put("k", "v", 1min)
            .starts_with("it is a replica that only reads (name the master): READONLY "));
}

TEST_CASE("a password that is missing or wrong is an error at once, and is not said again") {
  const RedisServer server({"--requirepass", "right"});
  PlanStoreAddress address = server.address();
  CHECK(error_of(address).find(": NOAUTH ") != std::string::npos);
  CHECK(error_of(address).find("help: give its password in a file") != std::string::npos);
  address.password = "wrong-one";
  CHECK(error_of(address).starts_with(words_of(address) + ": WRONGPASS "));
  CHECK(error_of(address).find("wrong-one") == std::string::npos);
  address.password = "right";
  CHECK(error_of(address) == "");
  address.user = "nobody";
  CHECK(error_of(address).find(": WRONGPASS ") != std::string::npos);
  address.user = "default";
  CHECK(error_of(address) == "");
}

TEST_CASE("a password where the server has none, and a database that it has not, are errors") {
  const RedisServer server;
  PlanStoreAddress address = server.address();
  address.password = "x";
  CHECK(error_of(address).find(": ERR AUTH ") != std::string::npos);
  address = server.address();
  address.database = 99;
  CHECK(error_of(address).find(": ERR DB index is out of range") != std::string::npos);
}

TEST_CASE("with TLS both sides know each other by their certificates") {
  const RedisServer server({}, true);
  const PlanStoreAddress address = server.address();
  const auto store = open_redis(address, kTimes);
  const std::string large(300000, 'x');  // several records
  CHECK(store->put("k", large, 1min) == "");
  CHECK(store->wait_for("k", "", 0ms).value.value().bytes == large);

  PlanStoreAddress stranger = address;
  stranger.authorities.clear();  // those of the machine have not signed it
  CHECK(error_of(stranger).find(": its certificate is not accepted: self-signed certificate\nhelp: "
                                "name the PEM file") != std::string::npos);
  PlanStoreAddress misnamed = address;
  misnamed.host = "localhost";
  CHECK(error_of(misnamed).find(": its certificate is not accepted: hostname mismatch") !=
        std::string::npos);
  PlanStoreAddress nameless = address;
  nameless.certificate.clear();
  nameless.key.clear();
  std::string
      refused;  // at once, or as trouble that goes on, whichever the server's end lets through
  const std::string at_once = tests::message_of(
      [&] { refused = open_redis(nameless, kTimes)->wait_for("k", "", 1ms).trouble; });
  refused += at_once;
  CAPTURE(refused);
  CHECK(refused.find("want a certificate of this side") != std::string::npos);
  PlanStoreAddress no_file = address;
  no_file.authorities = "/nonexistent.pem";
  CHECK(error_of(no_file).starts_with("/nonexistent.pem: is no file of certificates: "));
  PlanStoreAddress no_key = address;
  no_key.key = address.certificate;
  CHECK(error_of(no_key).find(": is not the key of ") != std::string::npos);
}

TEST_CASE("TLS to a server without it, and none to one with it, is said") {
  const RedisServer plain;
  PlanStoreAddress address = plain.address();
  address.tls = true;
  // A Redis without TLS takes the greeting for a command and waits for the rest, or hangs up.
  const auto answer = open_redis(address, {.connect = 200ms, .answer = 200ms});
  std::string words;
  const std::string error =
      tests::message_of([&] { words = answer->wait_for("k", "", 1ms).trouble; });
  CHECK((words + error).find("does the server speak TLS on this port (else redis://)?") !=
        std::string::npos);
  const RedisServer secret({}, true);
  address = secret.address();
  address.tls = false;
  // What is no greeting it answers by hanging up, with a reset where it had not read all.
  words = open_redis(address, kTimes)->wait_for("k", "", 1ms).trouble;
  const bool hung_up = words == "the connection was closed" || words == "Connection reset by peer";
  CHECK_MESSAGE(hung_up, words);
}

TEST_CASE("a key that something else has written is refused by name") {
  const RedisServer server;
  const std::string command = "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(server.port()) +
                              "; printf 'SET k v\\r\\n' >&3; head -c 5 <&3";
  CHECK(std::system(("bash -c \"" + command + "\" >/dev/null").c_str()) == 0);
  const auto store = open_redis(server.address(), kTimes);
  CHECK(tests::message_of([&] { (void)store->wait_for("k", "", 1ms); }).find(": WRONGTYPE ") !=
        std::string::npos);
  CHECK(tests::message_of([&] { (void)store->put("k", "v", 1min); }).find("--job") !=
        std::string::npos);
}

TEST_CASE("where nobody listens it is trouble, with pauses that grow") {
  PlanStoreAddress address;
  address.host = "127.0.0.1";
  {
    const RedisServer gone;
    address.port = gone.port();
  }
  const auto store = open_redis(address, kTimes);
  int asked = 0;
  const SteadyTime began = steady_now();
  while (steady_now() < began + 400ms) {
    CHECK(store->wait_for("k", "", 1s).trouble.starts_with("cannot connect: Connection refused"));
    ++asked;
  }
  CHECK(asked <= 5);  // at 0, 50, 150, 350 and 750 ms
}

}  // namespace
}  // namespace penstock
