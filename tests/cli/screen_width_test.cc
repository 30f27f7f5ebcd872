#include "cli/io/screen_width.h"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("COLUMNS goes before the terminal, and a file has 100 columns") {
  CHECK(screen_of("80", 132).width() == 80);
  CHECK(screen_of("", 132).width() == 132);
  CHECK(screen_of("", 0).width() == 100);
  CHECK(screen_of("wide", 0).width() == 100);
  CHECK(screen_of("0", 90).width() == 90);
}

TEST_CASE("without COLUMNS and without a terminal the width is not known") {
  CHECK(screen_of("", 0).columns == 0);
  CHECK(screen_of("80", 0).columns == 80);
  CHECK(screen_of("", 90).columns == 90);
}

TEST_CASE("texts have at least 60 columns and at most 200") {
  CHECK(screen_of("20", 0).width() == 60);
  CHECK(screen_of("", 500).width() == 200);
}
