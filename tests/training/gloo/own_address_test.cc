#include "training/gloo/own_address.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("the way to an address of this machine is the loopback device") {
  CHECK(address_towards("127.0.0.1", 29500) == "127.0.0.1");
  // Debian's name of the machine itself.
  CHECK(is_loopback(address_towards("127.0.1.1", 29500)));
  CHECK(address_towards("no.such.host.invalid", 29500) == "");
}

TEST_CASE("ranks that are all on one host use the loopback device") {
  CHECK(address_among("127.0.0.1", {"127.0.0.1", "127.0.1.1", ""}) == "127.0.0.1");
  CHECK(address_among("", {""}) == "127.0.0.1");
}

TEST_CASE("a rank that reaches the store over a network is reached there") {
  CHECK(address_among("10.0.0.7", {"10.0.0.7", "127.0.0.1"}) == "10.0.0.7");
}

}  // namespace
}  // namespace penstock
