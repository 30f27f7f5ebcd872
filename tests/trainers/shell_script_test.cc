#include "trainers/lint/shell_script.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/trainers/lint_reports.h"

namespace penstock {
namespace {

std::vector<std::string> texts(const std::vector<ShellWord>& words) {
  std::vector<std::string> all;
  all.reserve(words.size());
  for (const ShellWord& word : words) all.push_back(word.text);
  return all;
}

// Of the last command.
std::vector<std::string> words_of(const std::string& script) {
  const ShellScript read = read_shell_script(script, "a.sh");
  REQUIRE_FALSE(read.commands.empty());
  return texts(read.commands.back());
}

using Words = std::vector<std::string>;

TEST_CASE("words are split and quoted as bash does it") {
  CHECK(words_of("run a 'b c' \"d e\"f g\\ h # comment") ==
        Words{"run", "a", "b c", "d ef", "g h"});
  CHECK(words_of("run a \\\n  b") == Words{"run", "a", "b"});
  CHECK(words_of("run a \\\r\n  b\r\n") == Words{"run", "a", "b"});
  CHECK(words_of("run '' \"\"") == Words{"run", "", ""});
  CHECK(words_of("run a#b") == Words{"run", "a#b"});
  CHECK(words_of("run '$A' \\$A") == Words{"run", "$A", "$A"});
}

TEST_CASE("variables are put in where the script sets them") {
  CHECK(words_of("A=4; run $A ${A} \"$A\"x") == Words{"run", "4", "4", "4x"});
  CHECK(words_of("export A=4 B=5\nrun $A$B") == Words{"run", "45"});
  CHECK(words_of("A='x y'\nrun $A \"$A\"") == Words{"run", "x", "y", "x y"});
  CHECK(words_of("A=1\nA+=2\nrun $A") == Words{"run", "12"});
  CHECK(words_of("run ${A:-4} ${A-5} ${A:+6}") == Words{"run", "4", "5"});
  CHECK(words_of("A=\nrun ${A:-4} \"${A-5}\"") == Words{"run", "4", ""});
  CHECK(words_of("run ${A:=7} $A") == Words{"run", "7", "7"});
  CHECK(words_of("run ${1:-a} \"${2:-b c}\"") == Words{"run", "a", "b c"});
  CHECK(words_of("B=2\nrun ${A:-${B}3}") == Words{"run", "23"});
}

TEST_CASE("arrays keep their elements apart") {
  const std::string array = "A=(\n  --x 1  # one\n  --y \"2 3\"\n)\nA+=(--z)\n";
  CHECK(words_of(array + "run ${A[@]}") == Words{"run", "--x", "1", "--y", "2", "3", "--z"});
  CHECK(words_of(array + "run \"${A[@]}\"") == Words{"run", "--x", "1", "--y", "2 3", "--z"});
  const ShellScript read = read_shell_script(array, "a.sh");
  CHECK(read.arrays == Words{"A"});
  CHECK(read.sets.at("A")[2].line == 3);
}

TEST_CASE("a word knows the line that it was written in, be it in a string") {
  const ShellScript read = read_shell_script("A=\"--x 1 \\\n --y 2\"\nrun $A", "a.sh");
  const auto& words = read.commands.back();
  CHECK(words[0].line == 3);
  CHECK(words[1].line == 1);
  CHECK(words[3].text == "--y");
  CHECK(words[3].line == 2);
}

TEST_CASE("arithmetic is worked out, or said to be unknown") {
  CHECK(words_of("A=3\nB=4\nrun $((A*B+1)) $(($A - ${B})) $(( (A+B) / 2 % 2 ))") ==
        Words{"run", "13", "-1", "1"});
  for (const char* unknown : {"$((A))", "$((1/0))", "$((1<<2))", "$((999999999999*9999999))"}) {
    const ShellScript read = read_shell_script(std::string("run ") + unknown, "a.sh");
    CHECK(read.commands.back()[1].unresolved == "$((...))");
  }
}

TEST_CASE("what the script does not say is named") {
  const auto unknown = [](const std::string& script) {
    return read_shell_script(script, "a.sh").commands.back().back().unresolved;
  };
  CHECK(unknown("run $PP") == "$PP");
  CHECK(unknown("run \"a${PP}b\"") == "$PP");
  CHECK(unknown("run ${PP%x}") == "${PP...}");
  CHECK(unknown("run $1") == "$1");
  CHECK(unknown("run $@") == "$@");
  CHECK(unknown("run $(nproc --all | tail -1)") == "$(...)");
  CHECK(unknown("run `nproc`") == "$(...)");
  CHECK(unknown("run ${A[@]}") == "${A[@]}");
  // A is what B was then: nothing.
  CHECK(unknown("A=$B\nB=$A\nrun $B") == "$B");
  CHECK(unknown("for i in 1 2; do\nrun $i\ndone") == "$i");
}

TEST_CASE("what is set under a condition may or may not be so") {
  const ShellScript read =
      read_shell_script("PP=4\nif [ $1 ]; then\n  PP=8\n  A+=(--x)\nfi\nrun $PP", "a.sh");
  CHECK(read.commands.back()[1].unresolved == "$PP");
  CHECK(read.not_followed ==
        Words{"$PP is set under a condition (line 3)", "$A is set under a condition (line 4)"});
  // What is added may be there or not; what was there stays.
  CHECK(words_of("A='--x 1'\nif y; then\n A=\"$A --z\"\nfi\nrun $A") == Words{"run", "--x", "1"});
  // The same value changes nothing, and after fi all is certain again.
  CHECK(words_of("PP=4\nif x; then PP=4; fi\nrun $PP") == Words{"run", "4"});
  CHECK(words_of("if x; then y; fi\nPP=4\nrun $PP") == Words{"run", "4"});
}

TEST_CASE("redirections, heredocs and joined commands are passed over") {
  CHECK(words_of("run a > log 2>&1") == Words{"run", "a"});
  CHECK(words_of("cat <<EOF\n--num-layers 3 'open\nEOF\nrun b") == Words{"run", "b"});
  CHECK(words_of("cd x && run c | tee log") == Words{"tee", "log"});
  CHECK(words_of("NGPU=8 ./run.sh --x") == Words{"./run.sh", "--x"});
}

// A name's value is any whole number of 64 bits, of which sums and negations would overflow.
TEST_CASE("arithmetic on huge values is unknown") {
  for (const char* script :
       {"A=9223372036854775807; run $((A + A))", "A=-9223372036854775808; run $((-A))",
        "A=-9223372036854775808; run $((A / -1))", "A=9223372036854775807; run $((A))"}) {
    CHECK(read_shell_script(script, "a.sh").commands.back()[1].unresolved == "$((...))");
  }
}

TEST_CASE("of bash -c only the command inside is left") {
  const ShellScript read = read_shell_script("/some/where/else/bin/bash -c 'run a'\n", "a.sh");
  REQUIRE(read.commands.size() == 1);
  CHECK(texts(read.commands[0]) == Words{"run", "a"});
}

TEST_CASE("hostile scripts end with a message") {
  const auto refused = [](const std::string& script) {
    return refusal([&script] { (void)read_shell_script(script, "a.sh"); });
  };
  CHECK(refused("run x\nrun 'open").starts_with("a.sh:2: a ' is not closed"));
  CHECK(refused("run \"open\n\n").starts_with("a.sh:1: a \" is not closed"));
  CHECK(refused("A=(1 2\n").starts_with("a.sh:1: a ( is not closed"));
  CHECK(refused("run ${A:-b").starts_with("a.sh:1: a ${ is not closed"));
  CHECK(refused("run $(a").starts_with("a.sh:1: a $( is not closed"));
  CHECK(refused("run `a").starts_with("a.sh:1: a ` is not closed"));
  CHECK(refused(std::string("run\n\0x", 6)).starts_with("a.sh:2: byte 0x00"));
  CHECK(refused(std::string(11U << 20U, 'x')).find("not a launch script") != std::string::npos);
  // Each line doubles the text.
  std::string doubling = "A=0123456789\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  CHECK(refused(doubling).find("endless text") != std::string::npos);
  // 4,096 shells, each with a copy of all variables; 600 additions that may or may not be there.
  std::string copies = "A='bash -c true x;'\n", additions = "A='--aa --bb'\n";
  for (int i = 0; i < 12; ++i) copies += "A=\"$A$A\"\n", additions += "A=\"$A $A\"\n";
  additions += "if x; then\n";
  for (int i = 0; i < 600; ++i) additions += "A+=' --x'\n";
  CHECK(refused(copies + "bash -c \"$A\"\n").find("endless text") != std::string::npos);
  CHECK(refused(additions + "fi\n").find("endless text") != std::string::npos);
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "${A:-";
  CHECK(refused("run " + deep).find("too many levels") != std::string::npos);
}

}  // namespace
}  // namespace penstock
