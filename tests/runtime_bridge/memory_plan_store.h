// A store of plans in memory, for both sides at once: it can lose what it has, be away, or be full.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime_bridge/plan_store.h"
#include "training/steady_time.h"

namespace penstock::tests {

struct MemoryValues {
  std::mutex mutex;
  std::condition_variable changed;
  struct Value {
    int id = 0;
    std::string bytes;
    SteadyTime ends;
  };
  std::map<std::string, Value> values;
  int written = 0;
  std::string away, full;  // why it does not answer, or does not write

  void lose_all() {
    const std::scoped_lock lock(mutex);
    values.clear();
  }
  void say(std::string& what, std::string why) {
    const std::scoped_lock lock(mutex);
    what = std::move(why);
  }
  [[nodiscard]] bool has(const std::string& key) {
    const std::scoped_lock lock(mutex);
    return values.contains(key);
  }
};

class MemoryPlanStore : public PlanStore {
 public:
  explicit MemoryPlanStore(MemoryValues& shared) : shared_(shared) {}

  StoreAnswer<StoredValue> wait_for(const std::string& key, const std::string& after,
                                    Duration wait) override {
    std::unique_lock lock(shared_.mutex);
    const auto newer = [&] {
      const auto found = shared_.values.find(key);
      return shared_.away.empty() && found != shared_.values.end() &&
             (after.empty() || found->second.id > std::stoi(after));
    };
    shared_.changed.wait_for(lock, wait, newer);
    if (!newer()) return {{}, shared_.away};
    const auto& value = shared_.values[key];
    return {StoredValue{std::to_string(value.id), value.bytes}, ""};
  }
  std::string put(const std::string& key, const std::string& bytes, Duration lasts) override {
    const std::scoped_lock lock(shared_.mutex);
    if (!shared_.away.empty() || !shared_.full.empty()) return shared_.away + shared_.full;
    shared_.values[key] = {++shared_.written, bytes, steady_now() + lasts};
    shared_.changed.notify_all();
    return "";
  }
  StoreAnswer<bool> keep(const std::string& key, Duration lasts) override {
    const std::scoped_lock lock(shared_.mutex);
    if (!shared_.away.empty()) return {{}, shared_.away};
    const auto found = shared_.values.find(key);
    if (found == shared_.values.end()) return {false, ""};
    found->second.ends = steady_now() + lasts;
    return {true, ""};
  }
  StoreAnswer<Duration> time_left(const std::string& key) override {
    const std::scoped_lock lock(shared_.mutex);
    if (!shared_.away.empty()) return {{}, shared_.away};
    const auto found = shared_.values.find(key);
    if (found == shared_.values.end()) return {};
    return {found->second.ends - steady_now(), ""};
  }
  std::string remove(const std::vector<std::string>& keys) override {
    const std::scoped_lock lock(shared_.mutex);
    for (const std::string& key : keys) shared_.values.erase(key);
    return shared_.away;
  }
  std::string name() const override { return "memory"; }

 private:
  MemoryValues& shared_;
};

}  // namespace penstock::tests
