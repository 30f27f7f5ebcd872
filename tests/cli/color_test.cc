#include "cli/io/color.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

using namespace penstock;
using penstock::tests::message_of;

namespace {

bool in_terminal(const Environment& environment) {
  return use_color(ColorChoice::kAuto, environment, true);
}
bool in_pipe(const Environment& environment) {
  return use_color(ColorChoice::kAuto, environment, false);
}

}  // namespace

TEST_CASE(
    "a terminal has colour unless the environment says otherwise, a pipe the other way round") {
  CHECK(in_terminal({}));
  CHECK_FALSE(in_pipe({}));
  CHECK_FALSE(in_terminal({{"NO_COLOR", "1"}}));
  CHECK(in_terminal({{"NO_COLOR", ""}}));  // as if it were not set
  CHECK_FALSE(in_terminal({{"TERM", "dumb"}}));
  CHECK_FALSE(in_terminal({{"CLICOLOR", "0"}}));
  CHECK(in_terminal({{"CLICOLOR", "1"}, {"TERM", "xterm"}}));
  CHECK(in_pipe({{"FORCE_COLOR", "1"}}));
  CHECK(in_pipe({{"CLICOLOR_FORCE", "1"}, {"TERM", "dumb"}}));
  CHECK_FALSE(in_pipe({{"CLICOLOR_FORCE", "0"}}));
  CHECK_FALSE(in_pipe({{"FORCE_COLOR", ""}}));
  CHECK_FALSE(in_pipe({{"FORCE_COLOR", "1"}, {"NO_COLOR", "1"}}));
}

TEST_CASE("the flag beats the environment") {
  CHECK(use_color(ColorChoice::kAlways, {{"NO_COLOR", "1"}, {"TERM", "dumb"}}, false));
  CHECK_FALSE(use_color(ColorChoice::kNever, {{"FORCE_COLOR", "1"}}, true));
}

TEST_CASE("the flag is taken out wherever it stands, but not behind --") {
  Arguments arguments{"plan", "--color=always", "p.json"};
  CHECK(take_color(arguments) == ColorChoice::kAlways);
  CHECK(arguments == Arguments{"plan", "p.json"});
  arguments = {"--color", "never", "check", "p.json"};
  CHECK(take_color(arguments) == ColorChoice::kNever);
  CHECK(arguments == Arguments{"check", "p.json"});
  arguments = {"check", "--", "--color=always"};
  CHECK(take_color(arguments) == ColorChoice::kAuto);
  CHECK(arguments.size() == 3);
}

TEST_CASE("a flag that says nothing is refused") {
  const auto message = [](Arguments arguments) {
    return message_of([&] { (void)take_color(arguments); });
  };
  CHECK(message({"--color=alway"}) == "--color: unknown 'alway'\nhelp: did you mean 'always'?");
  CHECK(message({"--color="}).starts_with("--color: unknown ''\nhelp: "));
  CHECK(message({"plan", "--color"}) == "--color: needs a value\nhelp: auto, always or never");
  CHECK(message({"--color=auto", "--color=never"}) ==
        "--color: given 2 times\nhelp: keep one of them");
}

TEST_CASE("headings and marks stand out, and nothing else changes") {
  CHECK(colored_text("A question\n\n# step\n1* 2 s\n 2=* 3 s\n10 4 s\n\nPlan 1\n  Step 2 s\n") ==
        "A question\n\n# step\n1\033[32m*\033[0m 2 s\n 2\033[32m=*\033[0m 3 s\n10 4 s\n\n"
        "\033[1mPlan 1\033[0m\n  Step 2 s\n");
  // A line with columns, one with nothing below it, and a text without a line break at its end.
  CHECK(colored_text("\nStep  2 s\nx\n\nStep 2 s\n\nEnd") == "\nStep  2 s\nx\n\nStep 2 s\n\nEnd");
  CHECK(colored_text("").empty());
}

TEST_CASE("the two words of an error stand out") {
  CHECK(colored_error("error: no such help: file\nhelp: name another\n") ==
        "\033[1;31merror:\033[0m no such help: file\n\033[36mhelp:\033[0m name another\n");
  CHECK(colored_error("error: x\n") == "\033[1;31merror:\033[0m x\n");
}
