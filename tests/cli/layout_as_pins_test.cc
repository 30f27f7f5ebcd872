#include "cli/answers/commands/layout_as_pins.h"

#include <doctest/doctest.h>

namespace penstock {

TEST_CASE("a layout is pins, a batch and as many GPUs as its degrees take") {
  // 8 x 2 x 2 = 32 GPUs.
  CHECK(
      with_layout_as_pins("plan", {"a.json", "--layout", "TP=8 PP=2 DP=2 mbs=1 gbs=64"}) ==
      Arguments{"a.json", "--pin", "TP=8,PP=2,DP=2,mbs=1", "--global-batch", "64", "--gpus", "32"});
}

TEST_CASE("GPUs that were typed stay, and so do the words of other verbs") {
  CHECK(with_layout_as_pins("compare", {"a.json", "--layout", "pp=4,seq=2k", "--gpus", "8"}) ==
        Arguments{"a.json", "--gpus", "8", "--pin", "PP=4", "--sequence-length", "2k"});
  const Arguments words{"a.json", "--layout", "PP=4 gbs=8"};
  CHECK(with_layout_as_pins("predict", words) == words);
}

TEST_CASE("of several values of a key none is pinned, nor are GPUs counted") {
  CHECK(with_layout_as_pins("plan", {"a.json", "--layout", "PP=4 mbs=1,2,4 recompute=full"}) ==
        Arguments{"a.json", "--pin", "PP=4", "--recompute", "full"});
}

}  // namespace penstock
