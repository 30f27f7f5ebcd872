#include "runtime_bridge/check_rendezvous.h"

#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

using Kind = RendezvousItem::Kind;

RendezvousItem send(int to, std::uint64_t tag, const std::string& name) {
  return {Kind::kSend, to, tag, name};
}
RendezvousItem receive(int from, std::uint64_t tag, const std::string& name) {
  return {Kind::kReceive, from, tag, name};
}
RendezvousItem collective(int group, const std::string& name) {
  return {Kind::kCollective, group, 0, name};
}

TEST_CASE("send then receive on both sides is a cycle, as one batch it is not") {
  // The steady state of 1F1B between stages 0 and 1, issued singly: both wait in their send.
  const RendezvousLists singly{{{send(1, 1, "SEND_F1")}, {receive(1, 2, "RECV_B0")}},
                               {{send(0, 2, "SEND_B0")}, {receive(0, 1, "RECV_F1")}}};
  CHECK(check_rendezvous(singly) ==
        "these ranks wait for each other: rank 0 is in SEND_F1 to rank 1, and needs rank 1; rank 1 "
        "is in SEND_B0 to rank 0, and needs rank 0");
  const RendezvousLists grouped{{{send(1, 1, "SEND_F1"), receive(1, 2, "RECV_B0")}},
                                {{send(0, 2, "SEND_B0"), receive(0, 1, "RECV_F1")}}};
  CHECK(check_rendezvous(grouped).empty());
}

TEST_CASE("a ring in which everybody sends first is a cycle over all ranks") {
  RendezvousLists ring(3);
  for (int rank = 0; rank < 3; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    ring[at] = {{send((rank + 1) % 3, 0, "S")}, {receive((rank + 2) % 3, 0, "R")}};
  }
  CHECK(check_rendezvous(ring) ==
        "these ranks wait for each other: rank 0 is in S to rank 1, and needs rank 1; rank 1 is in "
        "S to rank 2, and needs rank 2; rank 2 is in S to rank 0, and needs rank 0");
  std::swap(ring[0][0], ring[0][1]);  // one rank that receives first breaks it
  CHECK(check_rendezvous(ring).empty());
}

TEST_CASE("a rank that only waits for the cycle is not part of it") {
  // 0 waits for 1; 1 and 2 wait for each other.
  const RendezvousLists lists{{{send(1, 0, "A")}},
                              {{send(2, 0, "B")}, {receive(2, 0, "C")}, {receive(0, 0, "A")}},
                              {{send(1, 0, "C")}, {receive(1, 0, "B")}}};
  CHECK(check_rendezvous(lists) ==
        "these ranks wait for each other: rank 1 is in B to rank 2, and needs rank 2; rank 2 is in "
        "C to rank 1, and needs rank 1");
}

TEST_CASE("items of a batch end one by one, the batch when all have") {
  // Rank 0's batch stays at its head while 1 and 2 come one after the other.
  const RendezvousLists lists{{{send(1, 0, "A"), send(2, 0, "B")}, {receive(1, 0, "C")}},
                              {{receive(0, 0, "A")}, {send(2, 5, "D")}, {send(0, 0, "C")}},
                              {{receive(1, 5, "D")}, {receive(0, 0, "B")}}};
  CHECK(check_rendezvous(lists).empty());
}

TEST_CASE("both sides must count their messages in one order") {
  const RendezvousLists lists{{{send(1, 7, "0SEND_F0")}, {send(1, 8, "0SEND_F1")}},
                              {{receive(0, 8, "1RECV_F1")}, {receive(0, 7, "1RECV_F0")}}};
  CHECK(
      check_rendezvous(lists) ==
      "rank 0 issues 0SEND_F0 to rank 1 where rank 1 issues 1RECV_F1 from rank 0: both sides must "
      "count their messages in one order");
}

TEST_CASE("a message that nobody receives is named") {
  CHECK(check_rendezvous({{{send(1, 7, "0SEND_F0")}}, {}}) ==
        "rank 0 issues 0SEND_F0 to rank 1, but rank 1 has no receive left for it");
  CHECK(check_rendezvous({{}, {{receive(0, 7, "1RECV_F0")}}}) ==
        "rank 1 issues 1RECV_F0 from rank 0, but rank 0 has no send left for it");
}

TEST_CASE("collectives of two groups in different orders are a cycle") {
  const RendezvousLists crossed{{{collective(0, "dp.stage0")}, {collective(1, "tied.embedding")}},
                                {{collective(1, "tied.embedding")}, {collective(0, "dp.stage0")}}};
  CHECK(check_rendezvous(crossed) ==
        "these ranks wait for each other: rank 0 is in dp.stage0, and needs rank 1; rank 1 is in "
        "tied.embedding, and needs rank 0");
  const RendezvousLists even{{{collective(0, "a")}, {collective(0, "a")}}, {{collective(0, "a")}}};
  CHECK(check_rendezvous(even) == "rank 0 issues 2 collectives of the group of a, rank 1 issues 1");
}

TEST_CASE("nothing to do can end") {
  CHECK(check_rendezvous({}).empty());
  CHECK(check_rendezvous({{}, {}}).empty());
}

}  // namespace
}  // namespace penstock
