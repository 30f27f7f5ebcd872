// A way for bytes to a server and back, every step of which has a deadline.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime_bridge/plan_store_address.h"
#include "training/steady_time.h"

namespace penstock {

// The server is out of reach, full or not ready: it may pass. Does not leave this folder.
class StoreTrouble : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // StoreTrouble at the deadline, and when the other side has gone.
  virtual void send(std::string_view bytes, SteadyTime deadline) = 0;
  // What there is, at least one byte.
  [[nodiscard]] virtual std::string receive(SteadyTime deadline) = 0;
};

// StoreTrouble when nobody answers there. Looking up the host's name has the resolver's time-out.
std::unique_ptr<ByteStream> connect_tcp(const std::string& host, int port, SteadyTime deadline);
// Over `below`. Error for certificates that are not accepted, of either side, and for who does not
// speak TLS.
std::unique_ptr<ByteStream> connect_tls(std::unique_ptr<ByteStream> below,
                                        const PlanStoreAddress& address, SteadyTime deadline);

}  // namespace penstock
