// What is going on and when it ends: a tournament over numbered slots, which the earliest end wins.
// Moving one end costs log2(slots) comparisons without a branch. Which of two equal ends wins is
// left open; nobody may depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace penstock {

class EventQueue {
 public:
  using Slot = std::uint32_t;
  using Time = std::int64_t;
  static constexpr Time kNever = std::numeric_limits<Time>::max();

  EventQueue() { resize(64); }

  void clear() { resize(slots_); }
  [[nodiscard]] bool empty() const { return nodes_[1].time == kNever; }
  [[nodiscard]] Time first_time() const { return nodes_[1].time; }
  [[nodiscard]] Slot first_slot() const { return nodes_[1].slot; }
  [[nodiscard]] Time time_of(Slot slot) const { return nodes_[slots_ + slot].time; }

  // For callers who number their slots themselves, instead of take(). Nothing may be going on.
  void reserve(std::size_t slots) {
    while (slots_ < slots) resize(2 * slots_);
  }

  // A slot that is not in use. The caller sets its time.
  [[nodiscard]] Slot take() {
    if (free_.empty()) grow();
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(Slot slot) {
    set(slot, kNever);
    free_.push_back(slot);
  }

  void set(Slot slot, Time time) {
    std::size_t node = slots_ + slot;
    Entry* const nodes = nodes_.data();
    nodes[node] = {time, slot};
    while (node > 1) {
      const Entry& other = nodes[node ^ 1U];
      const bool is_earlier = other.time < time;
      time = is_earlier ? other.time : time;
      slot = is_earlier ? other.slot : slot;
      node /= 2;
      nodes[node] = {time, slot};
    }
  }

 private:
  struct Entry {
    Time time = kNever;
    Slot slot = 0;
  };
  void resize(std::size_t slots) {
    slots_ = slots;
    nodes_.assign(2 * slots, Entry{});
    free_.clear();
    for (std::size_t slot = slots; slot > 0; --slot) free_.push_back(static_cast<Slot>(slot - 1));
  }

  // Only when every slot is in use.
  void grow() {
    const std::vector<Entry> old = nodes_;
    const std::size_t used = slots_;
    resize(2 * used);
    free_.resize(used);  // the upper half stays free; it is given out from the back
    for (std::size_t slot = 0; slot < used; ++slot) {
      set(static_cast<Slot>(slot), old[used + slot].time);
    }
  }

  std::size_t slots_ = 0;     // a power of two
  std::vector<Entry> nodes_;  // the root is 1, the leaf of slot i is slots_ + i
  std::vector<Slot> free_;
};

}  // namespace penstock
