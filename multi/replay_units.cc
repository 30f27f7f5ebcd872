// An event is the end of a unit or of a copy. After each, GPUs that run nothing choose first, then
// the one whose unit has just started, then all others that have no next task ("hungry" GPUs, which
// the scheduler of arXiv 2110.08633 never served again).
//
// Invariant: a task is chosen by at most one GPU, and runs on at most one. Copies wait only for
// copies that were queued before them, so that none waits for ever.
#include "multi/replay_units.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "multi/earliest.h"
#include "multi/host_lanes.h"

namespace penstock {
namespace {

constexpr int kNone = -1;

struct Slot {
  int task = kNone, shard = 0;
  std::int64_t version = 0;  // of the shard
  bool is_storing = false;
};

struct Gpu {
  int running = kNone, reserved = kNone;
  int running_slot = 0, reserved_slot = 0;  // the former: of the last unit that ran
  bool is_loaded = false;                   // what is reserved
  Duration waits_since{};                   // since when it could run what it has chosen
  std::array<Slot, 2> slots{};
};

struct TaskState {
  std::int64_t next = 0;               // execution of a unit
  Duration left{};                     // compute of those from `next` on
  bool is_idle = true;                 // neither running nor reserved
  std::vector<std::int64_t> versions;  // by shard
  std::vector<int> storing;            // by shard: copies of it under way to the host
};

// GPUs, by number: with as many tasks as GPUs and more, few of them are in it at a time.
class GpuSet {
 public:
  explicit GpuSet(std::size_t all) : words_((all + kBits - 1) / kBits), all_(all) {
    for (std::size_t g = 0; g < all; ++g) insert(static_cast<int>(g));
  }
  void insert(int g) { word_of(g) |= bit_of(g); }
  void erase(int g) { word_of(g) &= ~bit_of(g); }
  // The first that is `g` or behind it.
  [[nodiscard]] int from(int g) const {
    for (auto at = static_cast<std::size_t>(g); at < all_; at = (at / kBits + 1) * kBits) {
      const std::uint64_t rest = words_[at / kBits] >> (at % kBits);
      if (rest != 0) return static_cast<int>(at) + std::countr_zero(rest);
    }
    return kNone;
  }

 private:
  static constexpr std::size_t kBits = 64;
  std::uint64_t& word_of(int g) { return words_[static_cast<std::size_t>(g) / kBits]; }
  static std::uint64_t bit_of(int g) {
    return std::uint64_t{1} << (static_cast<std::size_t>(g) % kBits);
  }
  std::vector<std::uint64_t> words_;
  std::size_t all_;
};

class Replay {
 public:
  Replay(const std::vector<UnitTask>& tasks, int gpus, const HostLinks& links,
         const UnitRules& rules)
      : tasks_(tasks),
        rules_(rules),
        lanes_(gpus, links),
        gpus_(static_cast<std::size_t>(gpus)),
        unit_ends_(gpus_.size()),
        choosing_(gpus_.size()),
        states_(tasks.size()) {
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const auto shards = static_cast<std::size_t>(tasks[t].shards());
      states_[t].left = tasks[t].compute();
      states_[t].versions.assign(shards, 0);
      states_[t].storing.assign(shards, 0);
    }
    out_.ends.assign(tasks.size(), Duration{});
  }

  UnitReplay run() {
    settle(kNone);
    while (const std::optional<Duration> next = next_event()) {
      now_ = *next;
      if (lanes_.next_end() == next) {
        end_copies(lanes_.end_at(now_));
        settle(kNone);
      }
      for (std::size_t from = 0; const auto g = unit_ends_.first_until(now_, from);) {
        from = *g + 1;
        end_unit(static_cast<int>(*g));
        settle(static_cast<int>(*g));
      }
    }
    out_.makespan = now_;
    return std::move(out_);
  }

 private:
  Gpu& gpu(int g) { return gpus_[static_cast<std::size_t>(g)]; }
  TaskState& state(int task) { return states_[static_cast<std::size_t>(task)]; }
  const UnitTask& task(int t) const { return tasks_[static_cast<std::size_t>(t)]; }
  const TaskUnit& next_unit(int t) { return task(t).unit(state(t).next); }
  bool has_units(int t) { return state(t).next < task(t).executions(); }

  std::optional<Duration> next_event() const {
    const std::optional<Duration> copy = lanes_.next_end(), unit = unit_ends_.time();
    if (copy && unit) return std::min(*copy, *unit);
    return copy ? copy : unit;
  }

  // What counts when a GPU chooses. Of a task in flight the unit that runs is not in it.
  Duration remaining(int t) {
    Duration key = state(t).left;
    for (const Boost& boost : rules_.boosts) {
      if (boost.task == t && boost.first <= state(t).next && state(t).next < boost.end) {
        key += boost.amount;
      }
    }
    return key;
  }

  bool is_free(int t) { return state(t).is_idle && has_units(t); }

  // The first of those with the most left, if that is more than `than`.
  int longest(std::optional<Duration> than, bool only_untouched) {
    int best = kNone;
    for (int t = 0; t < static_cast<int>(tasks_.size()); ++t) {
      if (!is_free(t) || (only_untouched && state(t).next > 0)) continue;
      const Duration key = remaining(t);
      if (than && key <= *than) continue;
      than = key;
      best = t;
    }
    return best;
  }

  int next_in_turn(int after) {
    const int count = static_cast<int>(tasks_.size());
    for (int k = 1; k <= count; ++k) {
      const int t = (after + k) % count;
      if (is_free(t)) return t;
    }
    return kNone;
  }

  int choose(int g) {
    const int own = gpu(g).running;
    const bool may_stay = own != kNone && has_units(own);
    int other = kNone;
    switch (rules_.next) {
      case NextTask::kLongestRemaining:
        other = longest(may_stay ? std::optional(remaining(own)) : std::nullopt, false);
        break;
      case NextTask::kRoundRobin:
        other = next_in_turn(last_taken_);
        break;
      case NextTask::kWholeTasks:
        if (!may_stay) other = longest(std::nullopt, true);
        break;
    }
    if (other != kNone) return other;
    return may_stay ? own : kNone;
  }

  // Whether a slot has the newest form of what the unit needs.
  std::optional<int> slot_with(const Gpu& gpu, int t, int shard) {
    const std::int64_t version = state(t).versions[static_cast<std::size_t>(shard)];
    for (int i = 0; i < 2; ++i) {
      const Slot& slot = gpu.slots[static_cast<std::size_t>(i)];
      if (slot.task == t && slot.shard == shard && slot.version == version) return i;
    }
    return std::nullopt;
  }

  void reserve(int g, int t) {
    Gpu& on = gpu(g);
    on.reserved = t;
    choosing_.erase(g);
    if (on.running == kNone) on.waits_since = now_;
    state(t).is_idle = false;
    last_taken_ = t;
    const TaskUnit& unit = next_unit(t);
    if (const auto slot = slot_with(on, t, unit.shard)) {
      on.reserved_slot = *slot;
      on.is_loaded = true;
      try_start(g);
      return;
    }
    on.reserved_slot = 1 - on.running_slot;
    on.is_loaded = false;
    on.slots[static_cast<std::size_t>(on.reserved_slot)].task = kNone;
    lanes_.add({true, g, on.reserved_slot, t, unit.shard, unit.load});
    ++out_.loads;
    begin_copies();
  }

  void try_start(int g) {
    Gpu& on = gpu(g);
    if (on.running != kNone || on.reserved == kNone || !on.is_loaded) return;
    const int t = on.reserved;
    const TaskUnit& unit = next_unit(t);
    Slot& slot = on.slots[static_cast<std::size_t>(on.reserved_slot)];
    if (slot.is_storing && unit.store > Duration{}) return;
    TaskState& of_task = state(t);
    if (unit.store > Duration{}) {
      const std::int64_t version = ++of_task.versions[static_cast<std::size_t>(unit.shard)];
      if (!task(t).is_updated_on_host) slot.version = version;
    }
    out_.waiting += now_ - on.waits_since;
    on.running = t;
    on.running_slot = on.reserved_slot;
    on.reserved = kNone;
    choosing_.insert(g);
    const Duration end = now_ + unit.compute;
    unit_ends_.set(static_cast<std::size_t>(g), end);
    if (rules_.keep_runs) out_.runs.push_back({g, t, of_task.next, now_, end});
    of_task.left -= unit.compute;
    ++of_task.next;
  }

  void end_unit(int g) {
    Gpu& on = gpu(g);
    const int t = on.running;
    const TaskUnit& unit = task(t).unit(state(t).next - 1);
    if (unit.store > Duration{}) {
      on.slots[static_cast<std::size_t>(on.running_slot)].is_storing = true;
      ++state(t).storing[static_cast<std::size_t>(unit.shard)];
      lanes_.add({false, g, on.running_slot, t, unit.shard, unit.store});
    }
    on.running = kNone;
    unit_ends_.clear(static_cast<std::size_t>(g));
    on.waits_since = now_;
    if (on.reserved != t) state(t).is_idle = true;
    if (!has_units(t)) out_.ends[static_cast<std::size_t>(t)] = now_;
    begin_copies();
    try_start(g);
  }

  bool may_begin(const HostCopy& copy) {
    if (!copy.load) return true;
    const Slot& slot = gpu(copy.gpu).slots[static_cast<std::size_t>(copy.slot)];
    return !slot.is_storing && state(copy.task).storing[static_cast<std::size_t>(copy.shard)] == 0;
  }

  void begin_copies() {
    while (true) {
      const auto ended =
          lanes_.begin(now_, [this](const HostCopy& copy) { return may_begin(copy); });
      if (ended.empty()) return;
      for (const HostCopy& copy : ended) end_copy(copy);
    }
  }

  void end_copies(const std::vector<HostCopy>& ended) {
    for (const HostCopy& copy : ended) end_copy(copy);
    begin_copies();
  }

  void end_copy(const HostCopy& copy) {
    Gpu& on = gpu(copy.gpu);
    Slot& slot = on.slots[static_cast<std::size_t>(copy.slot)];
    if (copy.load) {
      slot.task = copy.task;
      slot.shard = copy.shard;
      slot.version = state(copy.task).versions[static_cast<std::size_t>(copy.shard)];
      on.is_loaded = true;
    } else {
      slot.is_storing = false;
      --state(copy.task).storing[static_cast<std::size_t>(copy.shard)];
    }
    try_start(copy.gpu);
  }

  // GPUs that run nothing choose first: they can begin at once. `first`: whose unit has just ended.
  void settle(int first) {
    for (int g = choosing_.from(0); g != kNone; g = choosing_.from(g + 1)) {
      if (gpu(g).running == kNone) choose_for(g);
    }
    if (first != kNone) look_ahead(first);
    for (int g = choosing_.from(0); g != kNone; g = choosing_.from(g + 1)) look_ahead(g);
  }
  void look_ahead(int g) {
    if (gpu(g).running != kNone && gpu(g).reserved == kNone) choose_for(g);
  }
  void choose_for(int g) {
    const int t = choose(g);
    if (t != kNone) reserve(g, t);
  }

  const std::vector<UnitTask>& tasks_;
  const UnitRules& rules_;
  HostLanes lanes_;
  std::vector<Gpu> gpus_;
  Earliest unit_ends_;  // by GPU, of those that run
  GpuSet choosing_;     // GPUs that have reserved nothing
  std::vector<TaskState> states_;
  UnitReplay out_;
  Duration now_{};
  int last_taken_ = kNone;
};

}  // namespace

UnitReplay replay_units(const std::vector<UnitTask>& tasks, int gpus, const HostLinks& links,
                        const UnitRules& rules) {
  return Replay(tasks, gpus, links, rules).run();
}

}  // namespace penstock
