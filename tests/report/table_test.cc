#include "report/table.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;

TEST_CASE("numbers stand right, words left, lines end without blanks") {
  TextTable table({{"#"}, {"name", true}, {"x", false, 1}});
  table.add({"1", "a", "10"});
  table.add({"20", "bcdef", "7"});
  CHECK(table.text(100) ==
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

TEST_CASE("a column that is joined goes to the second block with the one before it") {
  TextTable table({{"#"}, {"aa"}, {"bb", false, 1, 0, false}, {"cc", false, 1, 0, true}});
  table.add({"1", "2", "3", "4"});
  // "#  aa bb cc" is 11 wide; bb would fit into 8, but cc belongs to it.
  CHECK(table.text(11) == "#  aa bb cc\n1   2  3  4\n");
  CHECK(table.text(8) == "#  aa\n1   2\n\n# bb cc\n1  3  4\n");
}

TEST_CASE("a screen has its own width, and a file the one that its text asks for") {
  CHECK(Screen{}.width() == 100);
  CHECK(Screen{}.width(120) == 120);
  CHECK(Screen{60}.width() == 60);
  CHECK(Screen{60}.width(120) == 60);
  TextTable table({{"#"}, {"a"}, {"meaning", true, 1, 1}});
  table.add({"1", "2", std::string(60, 'x')});
  CHECK(table.text(Screen{60}.width()) == "#  a\n1  2\n");  // the least important column goes
}

TEST_CASE("names that leave too little room go over several lines, further in") {
  TextTable table({{"  what changes", true}, {"to", true, 1}, {"speed", false, 1, 0, true}});
  table.add({"  the bandwidth of all links", "x2", "+5 %"});
  table.add({"  memory", "x2", "+1 %"});
  // "to speed" with its gaps takes 9 of 30 columns, so 21 are left for the names.
  CHECK(table.text(30) ==
        "  what changes        to speed\n"
        "  the bandwidth of    x2  +5 %\n"
        "    all links\n"
        "  memory              x2  +1 %\n");
}

TEST_CASE("names are broken rather than columns put into a second block") {
  TextTable table({{"  if", true}, {"step"}, {"saves"}});
  table.add({"  no rank ever waited for another", "12.7 s", "0.8 %"});
  // "step" and "saves" with their gaps take 15 columns of 40.
  CHECK(table.text(40) ==
        "  if                         step  saves\n"
        "  no rank ever waited for  12.7 s  0.8 %\n"
        "    another\n");
}
