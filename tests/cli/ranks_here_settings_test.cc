#include "cli/options/ranks_here_settings.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

std::optional<LaunchedPart> part_of(const Arguments& arguments, int ranks_of_plan) {
  RanksHereSettings settings;
  Options options("train", "", "");
  settings.declare(options);
  static_cast<void>(options.parse(arguments, {}));
  return settings.part(ranks_of_plan);
}

std::string refusal(const Arguments& arguments) {
  return tests::message_of([&] { static_cast<void>(part_of(arguments, 4)); });
}

TEST_CASE("a machine runs a range of the ranks, or a single one") {
  CHECK(!part_of({}, 4));
  CHECK(part_of({"--ranks-here", "2-3", "--meet", "m", "--address", "gpu7"}, 4) ==
        LaunchedPart{{2, 2}, "m", "gpu7"});
  CHECK(part_of({"--ranks-here", "3", "--meet", "m"}, 4) == LaunchedPart{{3, 1}, "m", ""});
}

TEST_CASE("ranks that the plan does not have, and halves of the options, are refused") {
  CHECK(refusal({"--ranks-here", "2-4", "--meet", "m"}).find("from 2 to 3") != std::string::npos);
  CHECK(refusal({"--ranks-here", "3-2", "--meet", "m"}).find("from 3 to 3") != std::string::npos);
  CHECK(refusal({"--ranks-here", "0"}).find("add --meet FOLDER") != std::string::npos);
  CHECK(refusal({"--meet", "m"}).find("--meet: all ranks are started here") != std::string::npos);
  CHECK(refusal({"--address", "h"}).find("--address: all ranks") != std::string::npos);
}

}  // namespace
}  // namespace penstock
