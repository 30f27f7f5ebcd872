#include "cli/io/screen_width.h"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("COLUMNS goes before the terminal, and a file has 100 columns") {
  CHECK(screen_width_of("80", 132) == 80);
  CHECK(screen_width_of("", 132) == 132);
  CHECK(screen_width_of("", 0) == 100);
  CHECK(screen_width_of("wide", 0) == 100);
  CHECK(screen_width_of("0", 90) == 90);
}

TEST_CASE("without COLUMNS and without a terminal the width is not known") {
  CHECK(known_width_of("", 0) == 0);
  CHECK(known_width_of("80", 0) == 80);
  CHECK(known_width_of("", 90) == 90);
}

TEST_CASE("texts have at least 60 columns and at most 200") {
  CHECK(screen_width_of("20", 0) == 60);
  CHECK(screen_width_of("", 500) == 200);
}
