#include "manager/hosts/command_template.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("a shell on the other side gets the command as one word, and reads it as it was") {
  const CommandTemplate ssh("ssh -o BatchMode=yes {host} {command}");
  CHECK(ssh.words("gpu7", {"penstock", "train", "my plan.json"}) ==
        Words{"ssh", "-o", "BatchMode=yes", "gpu7", "penstock train 'my plan.json'"});
}

TEST_CASE("where there is no shell the words stay apart") {
  const CommandTemplate srun("srun --nodelist={host} {command...}");
  CHECK(srun.words("gpu7", {"a b", "$HOME"}) == Words{"srun", "--nodelist=gpu7", "a b", "$HOME"});
}

TEST_CASE("nothing in a word means anything to a shell") {
  CHECK(quoted_for_shell("step-4/a.json") == "step-4/a.json");
  CHECK(quoted_for_shell("") == "''");
  CHECK(quoted_for_shell("a;rm -rf $HOME") == "'a;rm -rf $HOME'");
  CHECK(quoted_for_shell("it's") == "'it'\\''s'");
  CHECK(quoted_for_shell("`id`\n") == "'`id`\n'");
  CHECK(quoted_for_shell("~") == "'~'");
}

TEST_CASE("quotes in a template group words, and an empty word stays") {
  const CommandTemplate nested("docker exec 'my {host}' \"\" sh -c {command}");
  CHECK(nested.words("h", {"x"}) == Words{"docker", "exec", "my h", "", "sh", "-c", "x"});
}

TEST_CASE("templates that could run nothing are refused") {
  const auto refusal = [](const std::string& text) {
    return tests::message_of([&] { const CommandTemplate made(text); });
  };
  CHECK(refusal("ssh {host}").find("one word must be {command}") != std::string::npos);
  CHECK(refusal("").find("one word must be {command}") != std::string::npos);
  CHECK(refusal("ssh {command} {command}").find("one word must be") != std::string::npos);
  CHECK(refusal("ssh 'x {command}").find("a quote is not closed") != std::string::npos);
  CHECK(refusal("ssh {hots} {command}").find("'{hots}' has a place") != std::string::npos);
  CHECK(refusal("ssh {host} x{command}").find("'x{command}' has a place") != std::string::npos);
  CHECK(refusal("{command}").find("it begins with the command") != std::string::npos);
}

}  // namespace
}  // namespace penstock
