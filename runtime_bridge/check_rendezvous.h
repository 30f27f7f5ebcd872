// Whether what the ranks issue can end when nothing is buffered: a send returns only once its
// receive has been posted, and a rank's transfers go through one queue. That is what NCCL is on one
// stream, so a run over NCCL is checked before launch; loopback and Gloo buffer and need it not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct RendezvousItem {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective };
  Kind kind = Kind::kSend;
  int peer = 0;           // of a transfer: the other rank; of a collective: which group
  std::uint64_t tag = 0;  // of a transfer: must be that of its counterpart
  std::string name;       // for messages: "0SEND_F3"
  bool operator==(const RendezvousItem&) const = default;
};

// What is issued together (an NCCL group): items of one batch wait for nobody in the batch.
using RendezvousBatch = std::vector<RendezvousItem>;

// Per rank, its batches in the order in which it issues them. A collective ends when every rank
// that ever issues one of its group is in it.
using RendezvousLists = std::vector<std::vector<RendezvousBatch>>;

// Empty when every batch can end; else what is wrong, in the names of the items: a transfer without
// a counterpart, two sides that count their messages differently, or the ranks that wait for each
// other, as a cycle.
[[nodiscard]] std::string check_rendezvous(const RendezvousLists& lists);

}  // namespace penstock
