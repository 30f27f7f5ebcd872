#include "cli/answers/verbs/book_range.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("the numbers that a book is asked for are said in many ways") {
  CHECK(book_range({"--nnodes", "1:4"}).range == "1..4");
  CHECK(book_range({"--nnodes", "1:4"}).option == "--nodes");
  CHECK(book_range({"--gpus=8-64"}).range == "8..64");
  CHECK(book_range({"--gpus", "8..64"}).range == "8..64");
  CHECK(book_range({"--min-gpus", "8", "--max-gpus", "64"}).range == "8..64");
  CHECK(book_range({"--max-nodes", "8"}).range == "1..8");
  CHECK(book_range({"--max-nodes", "8"}).option == "--nodes");
}

TEST_CASE("what says the range is taken out, and nothing else") {
  const BookRange asked = book_range({"config.json", "--nnodes", "1:4", "--gbs", "64"});
  CHECK(asked.rest == Arguments{"config.json", "--gbs", "64"});
  const Arguments others{"config.json", "--gpus", "8,16", "--seq", "1:4", "--min-gpus", "8"};
  CHECK(book_range(others).range.empty());
  CHECK(book_range(others).rest == others);
  CHECK(book_range({"--gpus", "64"}).range.empty());
  CHECK(book_range({"--gpus", "8..64:8"}).range.empty());
}

}  // namespace
}  // namespace penstock
