// Counts instead of naming: the k-th send from a to b meets the k-th receive that b posts from a,
// and the n-th collective of a group is one on all members. Ranks are advanced batch by batch (what
// is issued together) as long as any can go on; an item once done stays done. When nothing moves
// and lists are left, who waits for whom is followed until a rank comes again, and that circle is
// the message.
#include "runtime_bridge/check_rendezvous.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace penstock {
namespace {

using Kind = RendezvousItem::Kind;

std::size_t index(int value) { return static_cast<std::size_t>(value); }

std::string in_words(const RendezvousItem& item) {
  if (item.kind == Kind::kCollective) return item.name;
  return item.name + (item.kind == Kind::kSend ? " to rank " : " from rank ") +
         std::to_string(item.peer);
}

// Which batch of a rank an item is in.
struct Place {
  int rank = 0;
  std::size_t batch = 0;
};

// The first k sends from a to b are received by b's first k receives from a; likewise the n-th
// collective of a group is one on all of its members.
class Rendezvous {
 public:
  explicit Rendezvous(const RendezvousLists& lists) : lists_(lists), head_(lists.size(), 0) {}

  std::string check() {
    number_items();
    std::string wrong = join_pairs();
    if (!wrong.empty()) return wrong;
    wrong = count_collectives();
    if (!wrong.empty()) return wrong;
    while (retire_some()) {
    }
    return finished() ? "" : cycle();
  }

 private:
  struct Side {
    Place place;
    const RendezvousItem* item;
  };
  using Meeting =
      std::vector<Place>;  // the batches in which one transfer or collective takes place

  void number_items() {
    const int ranks = static_cast<int>(lists_.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& batches = lists_[index(rank)];
      for (std::size_t batch = 0; batch < batches.size(); ++batch) {
        for (const RendezvousItem& item : batches[batch]) add({rank, batch}, item);
      }
    }
  }

  void add(Place place, const RendezvousItem& item) {
    if (item.kind == Kind::kSend) {
      sends_[{place.rank, item.peer}].push_back({place, &item});
    } else if (item.kind == Kind::kReceive) {
      receives_[{item.peer, place.rank}].push_back({place, &item});
    } else {
      collectives_[item.peer][place.rank].push_back({place, &item});
    }
  }

  std::string join_pairs() {
    std::set<std::pair<int, int>> ways;
    for (const auto& [way, side] : sends_) ways.insert(way);
    for (const auto& [way, side] : receives_) ways.insert(way);
    for (const auto& way : ways) {
      const std::vector<Side>&sends = sends_[way], &receives = receives_[way];
      for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
        if (i >= receives.size()) return no_counterpart(sends[i]);
        if (i >= sends.size()) return no_counterpart(receives[i]);
        if (sends[i].item->tag != receives[i].item->tag) return other_order(sends[i], receives[i]);
        meet({sends[i], receives[i]});
      }
    }
    return "";
  }

  std::string count_collectives() {
    for (const auto& [group, members] : collectives_) {
      const std::size_t count = members.begin()->second.size();
      for (const auto& [rank, sides] : members) {
        if (sides.size() == count) continue;
        return "rank " + std::to_string(members.begin()->first) + " issues " +
               std::to_string(count) + " collectives of the group of " + sides.front().item->name +
               ", rank " + std::to_string(rank) + " issues " + std::to_string(sides.size());
      }
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<Side> sides;
        sides.reserve(members.size());
        for (const auto& [rank, all] : members) sides.push_back(all[i]);
        meet(sides);
      }
    }
    return "";
  }

  void meet(const std::vector<Side>& sides) {
    Meeting meeting;
    meeting.reserve(sides.size());
    for (const Side& side : sides) meeting.push_back(side.place);
    for (const Side& side : sides) meeting_of_[side.item] = meetings_.size();
    meetings_.push_back(std::move(meeting));
    over_.push_back(false);
  }

  static std::string no_counterpart(const Side& side) {
    const bool sends = side.item->kind == Kind::kSend;
    return "rank " + std::to_string(side.place.rank) + " issues " + in_words(*side.item) +
           ", but rank " + std::to_string(side.item->peer) + " has no " +
           (sends ? "receive" : "send") + " left for it";
  }

  static std::string other_order(const Side& send, const Side& receive) {
    return "rank " + std::to_string(send.place.rank) + " issues " + in_words(*send.item) +
           " where rank " + std::to_string(receive.place.rank) + " issues " +
           in_words(*receive.item) + ": both sides must count their messages in one order";
  }

  [[nodiscard]] const RendezvousBatch* head(int rank) const {
    const auto& batches = lists_[index(rank)];
    const std::size_t at = head_[index(rank)];
    return at < batches.size() ? &batches[at] : nullptr;
  }

  [[nodiscard]] bool is_at(const Place& place) const {
    return head_[index(place.rank)] == place.batch;
  }

  // An item stays done when the other side has gone on.
  bool is_done(const RendezvousItem& item) {
    const std::size_t meeting = meeting_of_.at(&item);
    if (!over_[meeting]) {
      over_[meeting] =
          std::ranges::all_of(meetings_[meeting], [&](const Place& place) { return is_at(place); });
    }
    return over_[meeting];
  }

  bool retire_some() {
    bool moved = false;
    for (int rank = 0; rank < static_cast<int>(lists_.size()); ++rank) {
      while (const RendezvousBatch* batch = head(rank)) {
        // Every item is asked, so that each notes that its peers are there.
        std::size_t done = 0;
        for (const RendezvousItem& item : *batch) done += is_done(item) ? 1 : 0;
        if (done < batch->size()) break;
        ++head_[index(rank)];
        moved = true;
      }
    }
    return moved;
  }

  [[nodiscard]] bool finished() const {
    for (int rank = 0; rank < static_cast<int>(lists_.size()); ++rank) {
      if (head(rank) != nullptr) return false;
    }
    return true;
  }

  // What `rank` waits in, and for whom: nothing has moved, so the head batch of a rank that is not
  // finished holds an item that is not done, and one of its ranks is elsewhere.
  struct Wait {
    const RendezvousItem* item;
    int peer;
  };
  [[nodiscard]] Wait wait_of(int rank) {
    for (const RendezvousItem& item : *head(rank)) {
      if (is_done(item)) continue;
      for (const Place& place : meetings_[meeting_of_.at(&item)]) {
        if (!is_at(place)) return {&item, place.rank};
      }
    }
    return {nullptr, rank};
  }

  std::string cycle() {
    int rank = 0;
    while (head(rank) == nullptr) ++rank;
    // Follow who waits for whom until a rank comes again: from there on it is the cycle. Everybody
    // that is waited for is stuck too, since a finished rank has met all of its peers.
    std::vector<int> path;
    while (std::ranges::find(path, rank) == path.end()) {
      path.push_back(rank);
      rank = wait_of(rank).peer;
    }
    path.erase(path.begin(), std::ranges::find(path, rank));
    std::string text = "these ranks wait for each other:";
    for (const int member : path) {
      const Wait wait = wait_of(member);
      text += (member == path.front() ? " rank " : "; rank ") + std::to_string(member) + " is in " +
              in_words(*wait.item) + ", and needs rank " + std::to_string(wait.peer);
    }
    return text;
  }

  const RendezvousLists& lists_;
  std::vector<std::size_t> head_;  // per rank, its first batch that has not ended
  std::map<std::pair<int, int>, std::vector<Side>> sends_, receives_;  // by (from, to)
  std::map<int, std::map<int, std::vector<Side>>> collectives_;        // by group and rank
  std::vector<Meeting> meetings_;
  std::vector<bool> over_;  // per meeting
  std::map<const RendezvousItem*, std::size_t> meeting_of_;
};

}  // namespace

std::string check_rendezvous(const RendezvousLists& lists) { return Rendezvous(lists).check(); }

}  // namespace penstock
