#include "cli/options/table_format.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

using namespace penstock;
using penstock::tests::message_of;

namespace {

TableFormatOptions options(const char* format, bool json = false) { return {format, json}; }

}  // namespace

TEST_CASE("text is the default, and --json a short name") {
  CHECK(TableFormatOptions{}.chosen() == TableFormat::kText);
  CHECK(TableFormatOptions{{}, true}.chosen() == TableFormat::kJson);
  CHECK(options("text").chosen() == TableFormat::kText);
  CHECK(options("csv").chosen() == TableFormat::kCsv);
  CHECK(options("markdown").chosen() == TableFormat::kMarkdown);
  CHECK(options("json").chosen() == TableFormat::kJson);
  CHECK(options("json", true).chosen() == TableFormat::kJson);
}

TEST_CASE("an unknown format is refused, and a second one") {
  CHECK(message_of([] { (void)options("markdwon").chosen(); }) ==
        "--format: unknown 'markdwon'\n"
        "help: did you mean 'markdown'?");
  CHECK(message_of([] { (void)options("csv", true).chosen(); }) ==
        "--json: --format csv is given too\nhelp: keep one of them");
}

TEST_CASE("what a table does not hold is refused with one") {
  CHECK(message_of([] { options("csv").refuse_with_table(true, "--jitter"); }) ==
        "--format: a table has no place for the answer to --jitter\nhelp: choose text or json");
  options("csv").refuse_with_table(false, "--jitter");
  options("json").refuse_with_table(true, "--jitter");
}
