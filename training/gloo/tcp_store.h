// The store of a job on the network: c10d's TCPStore. One process serves it (the launcher, the
// agent of torchrun, else rank 0), all ranks are its clients.
#pragma once

#include <memory>
#include <string>

#include "core/values/units.h"
#include "training/key_value_store.h"

namespace penstock {

struct StoreAddress {
  std::string host = "127.0.0.1";
  int port = 29500;
  std::string prefix;  // of all keys: attempts of one job do not see each other's
  bool operator==(const StoreAddress&) const = default;
};

// Serves while it lives.
class StoreServer {
 public:
  virtual ~StoreServer() = default;
  [[nodiscard]] virtual int port() const = 0;
};

// Port 0: any free one. TransportFailure when the port is taken.
std::unique_ptr<StoreServer> serve_store(int port);

// A connection of its own. TransportFailure when nobody serves there within `limit`, which also
// bounds every later call. Error{kBadInput} where another job has the store: one with another
// token.
std::unique_ptr<KeyValueStore> connect_store(const StoreAddress& address, Duration limit);

}  // namespace penstock
