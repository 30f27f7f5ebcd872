// A job's store in memory, for tests whose ranks are threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "training/key_value_store.h"
#include "training/transport.h"

namespace penstock::tests {

struct SharedMemory {
  std::mutex mutex;
  std::map<std::string, std::string> values;
  bool out_of_reach = false;
};

class MemoryStore : public KeyValueStore {
 public:
  explicit MemoryStore(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}
  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(memory_->mutex);
    check_reach();
    memory_->values[key] = value;
  }
  [[nodiscard]] std::optional<std::string> get(const std::string& key) override {
    const std::lock_guard lock(memory_->mutex);
    check_reach();
    const auto found = memory_->values.find(key);
    if (found == memory_->values.end()) return std::nullopt;
    return found->second;
  }

 private:
  void check_reach() const {
    if (memory_->out_of_reach) throw TransportFailure(std::nullopt, "the store does not answer");
  }
  std::shared_ptr<SharedMemory> memory_;
};

}  // namespace penstock::tests
