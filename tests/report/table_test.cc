#include "report/table.h"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("numbers stand right, words left, lines end without blanks") {
  TextTable table({{"#"}, {"name", true}, {"x", false, 1}});
  table.add({"1", "a", "10"});
  table.add({"20", "bcdef", "7"});
  CHECK(table.text() ==
        " #  name   x\n"
        " 1  a     10\n"
        "20  bcdef  7\n");
}

TEST_CASE("columns that do not fit follow in a second block with the first column") {
  TextTable table({{"#"}, {"aaaa"}, {"bbbb"}});
  table.add({"1", "2", "3"});
  // "#  aaaa  bbbb" is 13 wide.
  CHECK(table.text(13) == "#  aaaa  bbbb\n1     2     3\n");
  CHECK(table.text(12) == "#  aaaa\n1     2\n\n#  bbbb\n1     3\n");
}

TEST_CASE("CSV quotes what needs it, and doubles quotes") {
  TextTable table({{"name"}, {"a,b"}});
  table.add({"plain text", "say \"x\""});
  table.add({"two\nlines", ""});
  CHECK(table.csv() ==
        "name,\"a,b\"\r\n"
        "plain text,\"say \"\"x\"\"\"\r\n"
        "\"two\nlines\",\r\n");
  CHECK(TextTable({}).csv().empty());
}

TEST_CASE("Markdown aligns as the text does, and escapes what would end a cell") {
  TextTable table({{"#"}, {"  if", true}});
  table.add({"1", "  a|b"});
  table.add({"2", "c\\d\ne"});
  CHECK(table.markdown() ==
        "| # | if |\n"
        "| ---: | :--- |\n"
        "| 1 | a\\|b |\n"
        "| 2 | c\\\\d e |\n");
}

TEST_CASE("a table that is too wide leaves out what it may, before it goes on in a second block") {
  TextTable table({{"#"}, {"tokens", false, 1, 1}, {"step", false, 1}, {"idle", false, 1, 2}});
  table.add({"1", "200", "7 ms", "3"});
  CHECK(table.text(18) == "# tokens step idle\n1    200 7 ms    3\n");
  CHECK(table.text(17) == "# tokens step\n1    200 7 ms\n");
  CHECK(table.text(12) == "# step\n1 7 ms\n");
}
