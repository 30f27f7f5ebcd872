// A Memo (memo.h) of values that are large and many: what was not asked for lately goes, so that no
// question makes it grow without end. A value that comes again is made again: it depends on its key
// alone, so that who asks cannot tell.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace penstock {

// `BytesOf`: of a value, about.
template <class Key, class Value, class Hash, class BytesOf>
class BoundedMemo {
 public:
  // Of all that it keeps, but for what is in use elsewhere.
  explicit BoundedMemo(std::size_t most_bytes) : most_young_(most_bytes / 2) {}

  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make make) {
    if (auto known = find(key)) return known;
    auto value = std::make_shared<const Value>(make());
    Values gone;  // is freed without the lock
    const std::scoped_lock lock(mutex_);
    return keep(key, std::move(value), gone);
  }

 private:
  using Values = std::unordered_map<Key, std::shared_ptr<const Value>, Hash>;

  std::shared_ptr<const Value> find(const Key& key) {
    Values gone;
    const std::scoped_lock lock(mutex_);
    if (const auto found = young_.find(key); found != young_.end()) return found->second;
    const auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    return keep(key, std::move(old_.extract(found).mapped()), gone);
  }

  // Once the young ones are half of all that is kept they are old, and the old ones go.
  std::shared_ptr<const Value> keep(const Key& key, std::shared_ptr<const Value> value,
                                    Values& gone) {
    const auto [entry, is_new] = young_.try_emplace(key, std::move(value));
    const std::shared_ptr<const Value> kept = entry->second;
    if (is_new) young_bytes_ += BytesOf()(*kept);
    if (young_bytes_ > most_young_) {
      gone = std::exchange(old_, std::exchange(young_, {}));
      young_bytes_ = 0;
    }
    return kept;
  }

  const std::size_t most_young_;
  std::mutex mutex_;
  Values young_, old_;  // asked for since the old ones went, and before
  std::size_t young_bytes_ = 0;
};

}  // namespace penstock
