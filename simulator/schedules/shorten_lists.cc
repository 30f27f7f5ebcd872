// Local search: an action goes to another place of its rank's list, if the lists can still run,
// every rank still has the memory, and the step is shorter, or as long while its actions together
// end earlier (so that what does not yet count may count after the next move). It ends where no
// move helps.
//
// Invariant: the lists that are returned can run, fit and are no longer than those given.
#include "simulator/schedules/shorten_lists.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace penstock {
namespace {

constexpr std::size_t kFurthest = 3;  // places that an action moves at once

class ListSearch {
 public:
  ListSearch(SplitLists lists, const StageCosts& costs)
      : costs_(costs), replay_(costs, lists.micro_batches), now_(std::move(lists)) {}

  SplitLists run() {
    const auto length = replay_.run(now_, costs_.shortest);
    if (!length) return std::move(now_);
    length_ = *length;
    descend();
    return std::move(now_);
  }

 private:
  void descend() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < now_.ranks; ++rank) {
        for (std::size_t at = 0; at < now_.length(); ++at) {
          for (std::size_t far = 1; far <= kFurthest && at + far < now_.length(); ++far) {
            moved |= try_move(rank, at, at + far);
            if (far > 1) moved |= try_move(rank, at + far, at);
          }
        }
      }
    }
  }

  bool try_move(std::size_t rank, std::size_t from, std::size_t to) {
    if (!changes(rank, from, to)) return false;
    move(rank, from, to);
    if (const auto length = fitting(rank); length && *length < length_) {
      length_ = *length;
      return true;
    }
    move(rank, to, from);
    return false;
  }

  // Micro-batches of one kind ascend: to move one behind another of its kind changes nothing.
  [[nodiscard]] bool changes(std::size_t rank, std::size_t from, std::size_t to) const {
    const auto list = now_.list(rank);
    const auto [first, last] = std::minmax(from, to);
    return std::any_of(list.begin() + static_cast<std::ptrdiff_t>(first),
                       list.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                       [&](const SplitStep& step) { return !(step == list[from]); });
  }

  void move(std::size_t rank, std::size_t from, std::size_t to) {
    const auto begin = now_.steps.begin() + static_cast<std::ptrdiff_t>(rank * now_.length());
    const auto a = static_cast<std::ptrdiff_t>(from), b = static_cast<std::ptrdiff_t>(to);
    if (a < b) {
      std::rotate(begin + a, begin + a + 1, begin + b + 1);
    } else {
      std::rotate(begin + b, begin + a, begin + a + 1);
    }
  }

  // Nothing where they do not fit, or cannot run.
  std::optional<ListLength> fitting(std::size_t rank) {
    return can_be(rank) ? replay_.run(now_, costs_.shortest) : std::nullopt;
  }

  // What the rank itself says: no W before its I, and its limit.
  [[nodiscard]] bool can_be(std::size_t rank) const {
    std::array<int, 2> pending{};
    std::int64_t memory = 0;
    for (const SplitStep step : now_.list(rank)) {
      const std::size_t stage = now_.stage(rank, step);
      if (step.kind == ActionKind::kForward) {
        memory += costs_.taken_by_forward[stage];
        if (memory > costs_.limit[rank]) return false;
      } else if (step.kind == ActionKind::kInputGradient) {
        memory -= costs_.freed_by_input_gradient[stage];
        ++pending[step.chunk];
      } else {
        memory -= costs_.freed_by_weight_gradient[stage];
        if (--pending[step.chunk] < 0) return false;
      }
    }
    return true;
  }

  const StageCosts& costs_;
  SplitReplay replay_;
  SplitLists now_;
  ListLength length_;
};

}  // namespace

SplitLists shorten_lists(SplitLists lists, const StageCosts& costs) {
  return ListSearch(std::move(lists), costs).run();
}

}  // namespace penstock
