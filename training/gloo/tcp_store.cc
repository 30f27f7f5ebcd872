#include "training/gloo/tcp_store.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

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
    reach([&] { store_->set(full(key), {value.begin(), value.end()}); });
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
                                              Duration limit) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(address.port);
  options.isServer = role == StoreRole::kServer;
  options.waitWorkers = false;
  options.timeout = in_milliseconds(limit);
  try {
    return c10::make_intrusive<c10d::TCPStore>(address.host, options);
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
