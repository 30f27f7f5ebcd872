// A small shared memory of a job, through which its ranks find each other and send heartbeats.
// Implementations: TCPStore (training/gloo); tests have one in memory.
#pragma once

#include <optional>
#include <string>

namespace penstock {

// May be used by one thread at a time. When the store is out of reach, every call throws
// TransportFailure within the store's time limit.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Without waiting: nothing when nobody has set the key yet.
  [[nodiscard]] virtual std::optional<std::string> get(const std::string& key) = 0;
};

}  // namespace penstock
