#include "training/throttled_link.h"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

using std::chrono::milliseconds;

Buffer bytes_of(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size(), ElementType::kByte};
}

SlotTransfer one(std::string& from, std::string& to, bool to_host,
                 std::function<void()> then = {}) {
  SlotTransfer transfer;
  transfer.to_host = to_host;
  transfer.pieces.push_back({bytes_of(from), bytes_of(to), std::move(then)});
  return transfer;
}

TEST_CASE(
    "20,000 bytes at a million a second take 20 ms, and what follows runs once they are there") {
  std::string from(20'000, 'x'), to(20'000, ' '), seen;
  ThrottledLinkOptions options;
  options.bandwidth = BytesPerSecond{1e6};
  const auto link = make_throttled_link(options);
  const auto copy = link->copy(one(from, to, false, [&] { seen = to.substr(0, 3); }), {});
  copy->wait();
  CHECK(to == from);
  CHECK(seen == "xxx");
  CHECK(copy->ended() - copy->started() >= milliseconds(20));
}

TEST_CASE("a copy begins when those that it follows have ended, whatever their direction") {
  std::string a = "abc", b = "   ", c = "   ";
  for (const bool duplex : {true, false}) {
    ThrottledLinkOptions options;
    options.bandwidth = BytesPerSecond{1e3};
    options.duplex = duplex;
    const auto link = make_throttled_link(options);
    const auto first = link->copy(one(a, b, true), {});
    const auto joined = link->join({first.get()});
    const auto second = link->copy(one(b, c, false), {joined.get()});
    second->wait();
    CHECK(c == "abc");
    CHECK(second->started() >= first->ended());
    CHECK(joined->ended() == first->ended());
    b = c = "   ";
  }
}

TEST_CASE("gradients are zero behind the copy, and pools are zero to begin with") {
  std::string from = "abc", to = "   ";
  const auto link = make_throttled_link({});
  SlotTransfer transfer = one(from, to, true);
  transfer.cleared = {bytes_of(from)};
  link->copy(std::move(transfer), {})->wait();
  CHECK(to == "abc");
  CHECK(from == std::string(3, '\0'));
  const std::byte* pool = link->allocate(3);
  CHECK((pool[0] == std::byte{0} && pool[2] == std::byte{0}));
}

TEST_CASE("what a piece throws comes out where somebody waits, also behind a copy that follows") {
  std::string from = "abc", to = "   ", other = "   ";
  const auto link = make_throttled_link({});
  const auto fails =
      link->copy(one(from, to, true, [] { throw std::runtime_error("no update"); }), {});
  const auto follows = link->copy(one(to, other, false), {fails.get()});
  CHECK_THROWS_WITH(fails->wait(), "no update");
  CHECK_THROWS_WITH(follows->wait(), "no update");
}

TEST_CASE("a link that is settled copies nothing any more, without the time that it would take") {
  std::string from(1000, 'x'), to(1000, ' ');
  ThrottledLinkOptions options;
  options.bandwidth = BytesPerSecond{1.0};  // 1,000 s
  const auto link = make_throttled_link(options);
  const auto copy = link->copy(one(from, to, true), {});
  link->settle();
  CHECK(to == from);
}

}  // namespace
}  // namespace penstock
