// A table that threads fill as they go. Values depend on their key alone, so who computed one first
// changes nothing.
#pragma once

#include <map>
#include <memory>
#include <mutex>

namespace penstock {

template <class Key, class Value, class Map = std::map<Key, std::shared_ptr<const Value>>>
class Memo {
 public:
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make make) {
    {
      const std::scoped_lock lock(mutex_);
      if (const auto found = values_.find(key); found != values_.end()) return found->second;
    }
    auto value = std::make_shared<const Value>(make());
    const std::scoped_lock lock(mutex_);
    return values_.try_emplace(key, std::move(value)).first->second;
  }

 private:
  std::mutex mutex_;
  Map values_;
};

}  // namespace penstock
