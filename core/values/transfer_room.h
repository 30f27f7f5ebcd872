// What transfers of a rank take beyond what its list says, in a plan whose micro-batches differ in
// shape: Penstock's executor posts receives before their place, and a send ends only when its
// receiver is as far. The plan counts both, so that a run stays within it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock {

// Among so many transfers that come next in its list a rank posts the receives
// (ExecuteOptions::transfers_ahead), so that so many of its largest can be there as well.
inline constexpr int kReceivesAhead = 4;
// Sends over one boundary, one way, that are under way at a time. No executor limits them; that a
// receiver is not further behind is assumed.
inline constexpr int kSendsUnderWay = 2;

// The bytes of one rank, from the largest transfer over each of its boundaries, either way.
class TransferRoom {
 public:
  void add_send(std::int64_t largest) { sends_ += largest; }
  void add_receive(std::int64_t largest) { received_ = std::max(received_, largest); }
  [[nodiscard]] std::int64_t bytes() const {
    return kSendsUnderWay * sends_ + kReceivesAhead * received_;
  }

 private:
  std::int64_t sends_ = 0, received_ = 0;
};

}  // namespace penstock
