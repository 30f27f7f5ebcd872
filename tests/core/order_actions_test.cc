#include "core/files/order_actions.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

// Every round visits all ranks: 65,000 of them times 70,000 rounds are 4.55 * 10^9 visits, more
// than 2^32 = 4.29 * 10^9. A file of a megabyte could ask for a thousand times as many.
TEST_CASE("one long list among thousands of ranks is refused before it is ordered") {
  Program program;
  ActionLists lists;
  lists.begin.assign(65'001, 0);
  lists.begin.back() = 70'000;
  lists.actions.resize(70'000);
  CHECK(order_actions(program, lists) ==
        "one of the 65000 lists has 70000 actions; so many ranks cannot wait for a list that long");
}

}  // namespace
}  // namespace penstock
