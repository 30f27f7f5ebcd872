// What the program refuses is made up here, as in tried_proposals_test.cc.
#include "cli/answers/commands/dropped_options.h"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// Options that are refused, with the error; all others are taken.
using Refusals = std::map<std::string, std::string>;

std::string answered(const std::string& message, const Arguments& typed, const Refusals& refusals) {
  return with_dropped_options(message, typed,
                              [&](const Arguments& words) -> std::optional<std::string> {
                                for (const auto& [option, refusal] : refusals) {
                                  if (std::find(words.begin(), words.end(), option) != words.end())
                                    return refusal;
                                }
                                return std::nullopt;
                              });
}

const Refusals kNoSuch{{"--no-such-option", "unknown option '--no-such-option'"}};
const std::string kMessage = "unknown verb 'draw'\nhelp: penstock schedule 1f1b -P 4 draws it";

}  // namespace

TEST_CASE("an option that the verb takes is put into the command") {
  CHECK(answered(kMessage, {"draw", "1f1b", "--pp", "4", "--limit", "3"}, kNoSuch) ==
        "unknown verb 'draw'\nhelp: penstock schedule 1f1b -P 4 --limit 3 draws it");
}

TEST_CASE("an option that it has not is named, with its help where there is one") {
  Refusals refusals = kNoSuch;
  refusals["--tiny"] = "unknown option '--tiny'\nhelp: nothing here is called so, leave it out";
  refusals["--noise"] = "unknown option '--noise'\nhelp: write --jitter-percent 5";
  CHECK(answered(kMessage, {"draw", "1f1b", "--tiny", "--noise", "0.05"}, refusals) ==
        kMessage + "\nhelp: left out above: --tiny\nhelp: --noise: write --jitter-percent 5");
}

TEST_CASE("what the answer names is not dropped, nor are values in another spelling") {
  CHECK(answered(kMessage, {"draw", "1F1B", "--schedule", "1f-1b", "-P", "4"}, kNoSuch) ==
        kMessage);
}

TEST_CASE("of a verb that is never tried an option is only named, and so is a file") {
  const std::string message = "unknown option '--model'\nhelp: penstock profile config.json -o x";
  CHECK(answered(message, {"profile", "trace.json", "--model", "config.json", "--fast"}, {}) ==
        message + "\nhelp: left out above: trace.json, --fast");
}

}  // namespace penstock
