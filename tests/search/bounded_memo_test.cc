#include "search/bounded_memo.h"

#include <cstddef>
#include <functional>

#include <doctest/doctest.h>

namespace penstock {
namespace {

struct Four {
  std::size_t operator()(int) const { return 4; }
};

// Ten times its key; of 4 bytes each, eight of which may be kept: four young and four old ones.
struct Tens {
  BoundedMemo<int, int, std::hash<int>, Four> memo{32};
  int made = 0;
  int of(int key) {
    return *memo.get(key, [&] { return ++made, 10 * key; });
  }
};

TEST_CASE("a value that was asked for lately is not made again") {
  Tens tens;
  for (int key = 1; key <= 4; ++key) CHECK(tens.of(key) == 10 * key);
  CHECK(tens.made == 4);
  for (int key = 1; key <= 4; ++key) CHECK(tens.of(key) == 10 * key);
  CHECK(tens.made == 4);
}

// The fifth makes five old ones. The first is asked for and young again; four more make it and
// them old, and the others go.
TEST_CASE("what was not asked for lately goes, and is made again") {
  Tens tens;
  for (int key = 1; key <= 5; ++key) tens.of(key);
  CHECK(tens.of(1) == 10);
  CHECK(tens.made == 5);
  for (int key = 6; key <= 9; ++key) tens.of(key);
  CHECK(tens.made == 9);
  CHECK(tens.of(1) == 10);
  CHECK(tens.made == 9);
  CHECK(tens.of(2) == 20);
  CHECK(tens.made == 10);
}

}  // namespace
}  // namespace penstock
