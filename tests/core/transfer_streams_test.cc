// Lists of ranks that issue everything through one blocking queue.
#include "core/check/transfer_streams.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

constexpr MicroBatchShape kShort{4, 64, 0}, kLong{1, 256, 0};

StreamAction forward(int stage, int m) { return {ActionKind::kForward, stage, m, -1, {}}; }
StreamAction backward(int stage, int m) { return {ActionKind::kFusedBackward, stage, m, -1, {}}; }
StreamAction send_f(int stage, int m, int to, MicroBatchShape shape = kShort) {
  return {ActionKind::kSendActivation, stage, m, to, shape};
}
StreamAction receive_f(int stage, int m, int from, MicroBatchShape shape = kShort) {
  return {ActionKind::kReceiveActivation, stage, m, from, shape};
}
StreamAction send_b(int stage, int m, int to) {
  return {ActionKind::kSendGradient, stage, m, to, kShort};
}
StreamAction receive_b(int stage, int m, int from) {
  return {ActionKind::kReceiveGradient, stage, m, from, kShort};
}

// Two ranks, two micro-batches, 1F1B; every list in the order in which transfers begin.
TransferStreams two_ranks() {
  return {{forward(0, 0), send_f(0, 0, 1), forward(0, 1), send_f(0, 1, 1), receive_b(0, 0, 1),
           backward(0, 0), receive_b(0, 1, 1), backward(0, 1)},
          {receive_f(1, 0, 0), forward(1, 0), backward(1, 0), receive_f(1, 1, 0), send_b(1, 0, 0),
           forward(1, 1), backward(1, 1), send_b(1, 1, 0)}};
}

}  // namespace

TEST_CASE("lists in one global order of transfers run to their end") {
  CHECK(why_stuck(two_ranks()).empty());
  CHECK(why_stuck({}).empty());
}

// Rank 0 sends its second activation while rank 1 sends its first gradient: both wait in a send.
TEST_CASE("two sends that face each other are stuck, and both heads are told") {
  TransferStreams streams = two_ranks();
  std::swap(streams[1][3], streams[1][4]);  // send_b before receive_f
  CHECK(why_stuck(streams) ==
        "rank 0 is at 0SEND_F1 to rank 1 (4 x 64), rank 1 is at 1SEND_B0 to rank 0 (4 x 64)");
}

TEST_CASE("the ends of a transfer must agree in micro-batch and in shape") {
  TransferStreams streams = two_ranks();
  streams[1][0].shape = kLong;
  CHECK(why_stuck(streams) ==
        "rank 0 is at 0SEND_F0 to rank 1 (4 x 64), rank 1 is at 1RECV_F0 from rank 0 (1 x 256)");
  streams = two_ranks();
  std::swap(streams[1][0], streams[1][3]);
  CHECK(why_stuck(streams) ==
        "rank 0 is at 0SEND_F0 to rank 1 (4 x 64), rank 1 is at 1RECV_F1 from rank 0 (4 x 64)");
}

TEST_CASE("compute that comes before its input is stuck") {
  TransferStreams streams = two_ranks();
  std::swap(streams[0][4], streams[0][5]);
  CHECK(why_stuck(streams) ==
        "rank 0 is at 0B0 without its input, rank 1 is at 1SEND_B0 to rank 0 (4 x 64)");
  CHECK(why_stuck({{backward(0, 0), forward(0, 0)}}) ==
        "rank 0 is at 0B0 without its input, and all other ranks have ended");
}

TEST_CASE("transfers to nowhere and receives that nobody sends are stuck") {
  CHECK(why_stuck({{forward(0, 0), send_f(0, 0, 3)}}, 2) ==
        "rank 0 is at 0SEND_F0 to rank 3 (4 x 64), but there is no such rank");
  CHECK(why_stuck({{forward(0, 0)}, {receive_f(1, 0, 0), forward(1, 0)}}) ==
        "rank 1 is at 1RECV_F0 from rank 0 (4 x 64), rank 0 has ended");
}

// The gradient of stage 1 stays on its rank: no transfer, and stage 0 waits for it all the same.
TEST_CASE("neighbouring stages of one rank need no transfer") {
  CHECK(why_stuck({{forward(0, 0), forward(1, 0), backward(1, 0), backward(0, 0)}}).empty());
  CHECK_FALSE(why_stuck({{forward(0, 0), forward(1, 0), backward(0, 0), backward(1, 0)}}).empty());
}

}  // namespace penstock
