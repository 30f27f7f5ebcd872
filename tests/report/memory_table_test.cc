#include "report/memory_table.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;

TEST_CASE("memory by category, and what is left") {
  CHECK(memory_table(tests::evaluation(), tests::plan(), Screen{}) ==
        "rank  parameters  gradients  optimizer  activations  working"
        "  buffers  reserve total capacity left\n"
        "   0         1.0        0.0        0.0         29.0      0.0"
        "      0.0      0.0  30.0     40.0 10.0\n"
        "   1         1.0        0.0        0.0         19.0      0.0"
        "      0.0      0.0  20.0     40.0 20.0\n");
}

TEST_CASE("the tightest rank is named with its largest part") {
  CHECK(tightest_rank_text(tests::evaluation()) ==
        "rank 0 is the fullest: 30.0 of 40.0 GiB, 10.0 GiB left; its largest part is activations "
        "(29.0 GiB)");
}

TEST_CASE("a rank over its capacity says by how much") {
  Evaluation evaluation = tests::evaluation();
  evaluation.ranks[1] = tests::rank(90, 45);
  CHECK(
      tightest_rank_text(evaluation) ==
      "rank 1 is the fullest: 45.0 of 40.0 GiB, 5.0 GiB too much; its largest part is activations "
      "(44.0 GiB)");
}

TEST_CASE("a narrow memory table keeps activations, the total and what is left") {
  for (const std::size_t width : {60U, 80U}) {
    const std::string table = memory_table(tests::evaluation(), tests::plan(), Screen{width});
    CHECK(table.find('\n') <= width);
    CHECK(table.find("\n\n") == std::string::npos);  // one block
    for (const char* column : {"activations", "total", "left"}) {
      CHECK(table.find(column) != std::string::npos);
    }
  }
}
