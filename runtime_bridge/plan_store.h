// Where a planner leaves plans for the ranks of a job on other machines: named values that expire.
// Redis is one (runtime_bridge/redis); tests have one in memory.
//
// A store may be away for a while: its machine restarts, its memory is full, another one takes
// over. That is a value here, in words, because whoever asks goes on asking until a deadline. What
// no waiting mends (a wrong password, a certificate of a stranger) is an Error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct StoredValue {
  std::string id;  // of this value of the key: another one has another
  std::string bytes;
  bool operator==(const StoredValue&) const = default;
};

template <class Value>
struct StoreAnswer {
  std::optional<Value> value;
  std::string trouble;  // why the store could not answer; empty: it has
};

// May be used by one thread at a time.
class PlanStore {
 public:
  virtual ~PlanStore() = default;

  // The value of the key, as soon as there is one that is newer than `after` (empty: any), or
  // nothing when the wait is over. Nobody's reading takes it away from others.
  [[nodiscard]] virtual StoreAnswer<StoredValue> wait_for(const std::string& key,
                                                          const std::string& after,
                                                          Duration wait) = 0;
  // In place of the key's value; it goes when `lasts` is over, unless it is kept. Returns the
  // trouble.
  [[nodiscard]] virtual std::string put(const std::string& key, const std::string& bytes,
                                        Duration lasts) = 0;
  // It lasts so long from now on. False: it is not there (any more).
  [[nodiscard]] virtual StoreAnswer<bool> keep(const std::string& key, Duration lasts) = 0;
  // How long it would last; nothing: it is not there.
  [[nodiscard]] virtual StoreAnswer<Duration> time_left(const std::string& key) = 0;
  [[nodiscard]] virtual std::string remove(const std::vector<std::string>& keys) = 0;
  // "redis://10.0.0.1:6379/0", without what is secret.
  [[nodiscard]] virtual std::string name() const = 0;
};

}  // namespace penstock
