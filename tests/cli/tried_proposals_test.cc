// What the program refuses is made up here, so that every way through the trial is seen.
#include "cli/answers/commands/tried_proposals.h"

#include <map>

#include <doctest/doctest.h>

#include "cli/io/shell_word.h"

namespace penstock {
namespace {

// Commands that are refused, with the error; all others are taken.
using Refusals = std::map<std::string, std::string>;

std::string tried(const std::string& message, const Arguments& typed, const Refusals& refusals) {
  return with_tried_proposals(
      message, typed, [&](const Arguments& words) -> std::optional<std::string> {
        const auto found =
            refusals.find(command_of(words.front(), {words.begin() + 1, words.end()}));
        if (found == refusals.end()) return std::nullopt;
        return found->second;
      });
}

const Arguments kTyped{"launch", "--gpus", "A100:64"};

}  // namespace

TEST_CASE("what is taken stays as it is") {
  const std::string message = "unknown verb 'launch'\nhelp: penstock check --gpus 64";
  CHECK(tried(message, kTyped, {}) == message);
}

TEST_CASE("a refused proposal is mended by its own help, whose values replace examples") {
  CHECK(tried("unknown verb 'launch'\nhelp: penstock plan --gpus A100:64 --device h100-sxm -v; "
              "then more",
              kTyped,
              {{"penstock plan --gpus A100:64 --device h100-sxm -v",
                "--gpus: 'A100:64' is no number\nhelp: write --device a100 --gpus 64"}}) ==
        "unknown verb 'launch'\nhelp: penstock plan -v --device a100 --gpus 64; then more\n"
        "error: --gpus: 'A100:64' is no number\nhelp: the command above has it right");
}

TEST_CASE("what cannot be mended is told as the next error") {
  const Refusals refusals{{"penstock check gone.sh", "gone.sh: cannot be read\nhelp: name a file"}};
  const std::string message = "unknown verb 'lint'\nhelp: penstock check gone.sh";
  CHECK(tried(message, {"lint", "gone.sh"}, refusals) ==
        message + "\nerror: gone.sh: cannot be read\nhelp: name a file");
  // As an example, which nobody typed, it is to be replaced anyhow.
  CHECK(tried(message, {"lint"}, refusals) == message);
}

TEST_CASE("of several commands one that is taken is enough, but for what follows it") {
  const Refusals refusals{{"penstock simulate 1 2", "too many\nhelp: leave 2 out"}};
  const std::string either = "wrong\nhelp: penstock simulate 1 2, penstock explain 1";
  CHECK(tried(either, {"x"}, refusals) == either);
  const std::string chain = "wrong\nhelp: penstock simulate 1 2; then penstock explain 1";
  CHECK(tried(chain, {"x"}, refusals) == chain + "\nerror: too many\nhelp: leave 2 out");
}

TEST_CASE("options that replace the wrong one are tried in its place") {
  const Arguments typed{"compare", "--zero", "1,2"};
  const std::string message = "unknown option '--zero'\nhelp: write --vary zero=1,2";
  CHECK(tried(message, typed, {}) == message);
  CHECK(tried(message, typed,
              {{"penstock compare --vary zero=1,2", "--vary: unknown key\nhelp: sharding"}}) ==
        message + "\nerror: --vary: unknown key\nhelp: sharding");
  const std::string left = "unknown option '--zero'\nhelp: leave it out: nothing is so called";
  CHECK(tried(left, typed, {{"penstock compare", "--vary: missing\nhelp: add it"}}) ==
        left + "\nerror: --vary: missing\nhelp: add it");
}

TEST_CASE("several errors that their help mends are mended together") {
  const Arguments typed{"plan", "--gpus", "2x8", "--strategy", "fsdp"};
  const std::string first = "unknown option '--strategy'\nhelp: write --sharding fsdp";
  const std::string second = "--gpus: '2x8' is no number\nhelp: write 16";
  const Refusals refusals{{"penstock plan --gpus 2x8 --sharding fsdp", second}};
  CHECK(tried(first, typed, refusals) ==
        first + "\nerror: " + second + "\nhelp: together: penstock plan --sharding fsdp --gpus 16");
  // What is told already is not told again, but mended.
  const std::string both = second + "\nerror: --top: missing\nhelp: write --top 3";
  CHECK(tried(both, {"plan", "--gpus", "2x8"},
              {{"penstock plan --gpus 16", "--top: missing\nhelp: write --top 3"}}) == both);
}

TEST_CASE("a part of a command, the same error and stdin are not told") {
  const std::string message = "wrong: x\nhelp: penstock compare a --vary b=1,2";
  const std::string command = "penstock compare a --vary b=1,2";
  CHECK(tried(message, {"x"}, {{command, "MODEL: missing\nhelp: add it"}}) == message);
  CHECK(tried(message, {"x"}, {{command, "wrong: x\nhelp: again"}}) == message);
  const std::string in = "wrong\nhelp: penstock check -";
  CHECK(tried(in, {"x"}, {{"penstock check -", "nothing there\nhelp: y"}}) == in);
}

}  // namespace penstock
