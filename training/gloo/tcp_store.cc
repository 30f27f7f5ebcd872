// Keys carry the prefix of the job's attempt, so that a restarted job on the same store meets
// nothing that the one before has left. Errors of c10d become errors that name the address.
#include "training/gloo/tcp_store.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "training/gloo/c10d_store.h"
#include "training/transport.h"

namespace penstock {
namespace {

class Server : public StoreServer {
 public:
  explicit Server(c10::intrusive_ptr<c10d::TCPStore> store) : store_(std::move(store)) {}
  [[nodiscard]] int port() const override { return store_->getPort(); }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

class Client : public KeyValueStore {
 public:
  Client(const StoreAddress& address, Duration limit)
      : address_(address), store_(open_store(address, StoreRole::kClient, limit)) {}

  void set(const std::string& key, const std::string& value) override {
    reach([&] { store_->set(full(key), std::vector<std::uint8_t>(value.begin(), value.end())); });
  }

  [[nodiscard]] std::optional<std::string> get(const std::string& key) override {
    std::optional<std::string> value;
    reach([&] {
      if (!store_->check({full(key)})) return;
      const std::vector<std::uint8_t> bytes = store_->get(full(key));
      value.emplace(bytes.begin(), bytes.end());
    });
    return value;
  }

 private:
  [[nodiscard]] std::string full(const std::string& key) const {
    return address_.prefix + "/" + key;
  }
  template <class Call>
  void reach(const Call& call) {
    try {
      call();
    } catch (const std::exception& error) {
      throw TransportFailure(std::nullopt, "the job's store at " + to_string(address_) +
                                               " does not answer: " + words_of(error));
    }
  }

  StoreAddress address_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

// What a job is named by in front of its attempts: its token, or nothing. No value where the prefix
// is none of a job's.
constexpr const char* kAttempt = "/worker/attempt_";
std::optional<std::string> job_of(const StoreAddress& address) {
  const std::size_t end = address.prefix.find(kAttempt);
  if (end == std::string::npos) return std::nullopt;
  return address.prefix.substr(0, end);
}

// Of ranks with different tokens the same.
std::string refusal_key(const StoreAddress& address, const Awaited& rank) {
  const std::size_t attempt = std::min(address.prefix.find(kAttempt), address.prefix.size());
  return "/penstock/refused" + address.prefix.substr(attempt) + "/" + std::to_string(rank.rank) +
         "-of-" + std::to_string(rank.ranks);
}

// Whoever comes first says which job the store is of. Under other prefixes ranks would wait for
// each other until the time limit.
void require_this_job(c10d::TCPStore& store, const StoreAddress& address,
                      const std::optional<Awaited>& rank) {
  const std::optional<std::string> job = job_of(address);
  if (!job) return;
  const std::string own = content_hash(*job);
  const std::vector<std::uint8_t> first =
      store.compareSet("/penstock/job", {}, {own.begin(), own.end()});
  if (std::string(first.begin(), first.end()) == own) return;
  if (rank) store.set(refusal_key(address, *rank), std::vector<std::uint8_t>{1});
  throw_bad_input("the store at " + to_string(address) + " is that of a job with " +
                  (job->empty() ? "a PENSTOCK_JOB_TOKEN, and this rank has none"
                                : "another PENSTOCK_JOB_TOKEN than this rank has, or with none") +
                  "\nhelp: give all ranks of a job the same one, and every job its own port");
}

}  // namespace

std::chrono::milliseconds in_milliseconds(Duration limit) {
  return std::chrono::ceil<std::chrono::milliseconds>(limit);
}

std::string words_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

std::string to_string(const StoreAddress& address) {
  return address.host + ":" + std::to_string(address.port);
}

c10::intrusive_ptr<c10d::TCPStore> open_store(const StoreAddress& address, StoreRole role,
                                              Duration limit, const std::optional<Awaited>& rank) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(address.port);
  options.isServer = role == StoreRole::kServer;
  options.waitWorkers = false;
  options.timeout = in_milliseconds(limit);
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(address.host, options);
    require_this_job(*store, address, rank);
    return store;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string place = to_string(address);
    throw TransportFailure(
        std::nullopt, role == StoreRole::kServer
                          ? "the job's store cannot be served at " + place +
                                " (is the port taken by another job?): " + words_of(error)
                          : "nobody serves the job's store at " + place +
                                " (is rank 0 or the launcher running, is the address right?): " +
                                words_of(error));
  }
}

bool was_refused(c10d::TCPStore& store, const StoreAddress& address, const Awaited& rank) {
  return store.check({refusal_key(address, rank)});
}

std::unique_ptr<StoreServer> serve_store(int port) {
  StoreAddress address;
  address.port = port;
  // The server's own client is never asked anything; it needs no patience.
  constexpr Duration kLimit = std::chrono::seconds(10);
  return std::make_unique<Server>(open_store(address, StoreRole::kServer, kLimit));
}

std::unique_ptr<KeyValueStore> connect_store(const StoreAddress& address, Duration limit) {
  return std::make_unique<Client>(address, limit);
}

}  // namespace penstock
