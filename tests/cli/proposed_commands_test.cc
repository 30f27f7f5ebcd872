#include "cli/answers/commands/proposed_commands.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

std::vector<Arguments> words_in(std::string_view text) {
  std::vector<Arguments> words;
  for (const ProposedCommand& command : proposed_commands(text)) words.push_back(command.words);
  return words;
}

}  // namespace

TEST_CASE("a command ends with its sentence and keeps what is quoted together") {
  CHECK(words_in("write penstock predict c.json --layout \"TP=8 gbs=64\"; more") ==
        std::vector<Arguments>{{"predict", "c.json", "--layout", "TP=8 gbs=64"}});
  CHECK(words_in("see it: penstock explain plan.json, penstock man (penstock check a.sh).") ==
        std::vector<Arguments>{{"explain", "plan.json"}, {"man"}, {"check", "a.sh"}});
  CHECK(words_in("penstock compare c.json --format csv > table.csv") ==
        std::vector<Arguments>{{"compare", "c.json", "--format", "csv"}});
  CHECK(words_in("error: a\nhelp: penstock check run.sh\nhelp: b") ==
        std::vector<Arguments>{{"check", "run.sh"}});
  const std::string_view text = "or penstock check run.sh, too";
  const auto commands = proposed_commands(text);
  REQUIRE(commands.size() == 1);
  CHECK(text.substr(commands[0].begin, commands[0].ends.back() - commands[0].begin) ==
        "penstock check run.sh");
}

TEST_CASE("places to fill, open quotes and other programs are no commands") {
  for (const char* text :
       {"penstock plan MODEL --gpus N", "penstock plan ... -o plan.json",
        "penstock-torch check a.sh", "penstock predict c.json --layout TP=..",
        "penstock compare c.json --vary KEY=VALUE,VALUE", "penstock plan c.json --zero1 on|off",
        "penstock plan c.json --device list names all"}) {
    CAPTURE(text);
    CHECK(proposed_commands(text).empty());
  }
  CHECK(words_in("penstock predict \"it ends").front() == Arguments{"predict"});
}

TEST_CASE("prose behind a command is told as a shorter length") {
  const auto commands = proposed_commands("penstock trace plan.json -o step.svg draws a step");
  REQUIRE(commands.size() == 1);
  CHECK(commands[0].lengths == std::vector<std::size_t>{4, 5, 6, 7});
  CHECK(proposed_commands("penstock plan searches for it")[0].lengths.front() == 1);
  CHECK(proposed_commands("penstock schedule gpipe -P 4")[0].lengths ==
        std::vector<std::size_t>{4});
  CHECK(proposed_commands("x; then penstock explain plan.json")[0].follows);
}

TEST_CASE("options that a help begins with") {
  CHECK(proposed_options("write --device h100-sxm --gpus 8 in place of it") ==
        Arguments{"--device", "h100-sxm", "--gpus", "8"});
  CHECK(proposed_options("write --sharding=zero3; or not") == Arguments{"--sharding=zero3"});
  for (const char* help : {"write 8", "write --as megatron (or others)", "write --tp 2 or --pp 2",
                           "write --vary KEY=VALUE", "give --gpus 1", ""}) {
    CAPTURE(help);
    CHECK(proposed_options(help).empty());
  }
}

}  // namespace penstock
