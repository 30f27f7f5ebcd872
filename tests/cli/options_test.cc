#include "cli/options/options.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

using namespace penstock;

namespace {

struct Given {
  std::string file;
  std::optional<std::string> ranks, gpus;
  std::vector<std::string> costs;
  bool json = false;

  std::optional<std::string> parse(const Arguments& arguments) {
    Options options("do FILE [OPTIONS]", "Does it.", "  penstock do it\n");
    options.heading("Options");
    options.positional("FILE", "what to do", file);
    options.option("-P,--ranks", "N", "pipeline ranks", ranks);
    options.option("--gpus", "N", "devices", gpus);
    options.repeated("--cost", "K=T", "costs", costs);
    options.flag("--json", "for programs", json);
    return options.parse(arguments, {});
  }
};

std::string message_for(const Arguments& arguments) {
  return tests::message_of([&] { static_cast<void>(Given().parse(arguments)); });
}

}  // namespace

TEST_CASE("values arrive, however they are written") {
  Given given;
  CHECK_FALSE(
      given.parse({"--cost", "F=1ms", "a.json", "-P8", "--gpus=64", "--cost=B=2ms", "--json"}));
  CHECK(given.file == "a.json");
  CHECK(given.ranks == "8");
  CHECK(given.gpus == "64");
  CHECK(given.costs == std::vector<std::string>{"F=1ms", "B=2ms"});
  CHECK(given.json);
}

TEST_CASE("what was not given stays empty") {
  Given given;
  CHECK_FALSE(given.parse({"a.json"}));
  CHECK_FALSE(given.ranks);
  CHECK(given.costs.empty());
  CHECK_FALSE(given.json);
}

TEST_CASE("a negative number is a value, not an option") {
  Given given;
  CHECK_FALSE(given.parse({"a.json", "-P", "-1"}));
  CHECK(given.ranks == "-1");
}

TEST_CASE("every way to be wrong has a message and a remedy") {
  CHECK(message_for({}) == "FILE: missing\nhelp: FILE: what to do; for example: penstock do FILE");
  CHECK(message_for({"a", "b"}) ==
        "'b' is one argument too many\nhelp: leave it out: usage: penstock do FILE [OPTIONS]");
  CHECK(message_for({"a", "--rnks", "3"}) ==
        "unknown option '--rnks'\nhelp: did you mean '--ranks'? --ranks 3: pipeline ranks");
  CHECK(message_for({"a", "--rnks=3"}) ==
        "unknown option '--rnks'\nhelp: did you mean '--ranks'? --ranks 3: pipeline ranks");
  CHECK(message_for({"a", "-P"}) ==
        "-P: needs a value\nhelp: write -P N: pipeline ranks; if a shell variable stands in its "
        "place, "
        "it is empty");
  CHECK(message_for({"a", "-P", "1", "--ranks", "2"}) ==
        "-P, --ranks: given 2 times\nhelp: keep one of them");
}

TEST_CASE("what was typed twice or apart is answered by one word to write") {
  std::vector<std::string> pins;
  std::optional<std::string> device, gpus, schedules;
  std::string model;
  const auto message = [&](const Arguments& arguments) {
    Options options("plan MODEL [OPTIONS]", "", "");
    options.positional("MODEL", "", model);
    options.option("--device", "NAME", "", device);
    options.option("--gpus", "N", "", gpus);
    options.option("--schedule", "NAME,...", "", schedules);
    options.repeated("--pin", "K=V,...", "", pins);
    return tests::message_of([&] { static_cast<void>(options.parse(arguments, {})); });
  };
  CHECK(
      message({"c.json", "--device", "h100", "--device", "a100"}).find("--vary device=h100,a100") !=
      std::string::npos);
  CHECK(message({"c.json", "--gpus", "8", "--gpus", "16"}).find("--vary gpus=8,16") !=
        std::string::npos);
  CHECK(message({"c.json", "--schedule", "1f1b", "--schedule", "zb-h1"})
            .find("write them as one: --schedule 1f1b,zb-h1") != std::string::npos);
  CHECK(message({"c.json", "tp=8", "pp=4", "gpus=64"}).find("write --pin TP=8,PP=4 --gpus 64") !=
        std::string::npos);
  CHECK(message({"c.json", "--pipline-stages", "4"}) ==
        "unknown option '--pipline-stages'\nhelp: did you mean --pin PP=4?");
}

TEST_CASE("a first word that is none of its choices is why a later one is missing") {
  Options options("import TOOL FILE", "", "");
  std::string tool, file;
  options.positional("TOOL", "", tool);
  options.choices({"nccl-tests", "skypilot"});
  options.positional("FILE", "", file);
  CHECK(tests::message_of([&] { static_cast<void>(options.parse({"vms"}, {})); }) ==
        "TOOL: 'vms' is none of nccl-tests, skypilot\nhelp: usage: penstock import TOOL FILE");
}

TEST_CASE("help wins over everything and shows every option") {
  CHECK(*Given().parse({"--nonsense", "--help"}) ==
        "usage: penstock do FILE [OPTIONS]\n"
        "\n"
        "Does it.\n"
        "\n"
        "Options:\n"
        "  FILE                        what to do\n"
        "  -P, --ranks N               pipeline ranks\n"
        "  --gpus N                    devices\n"
        "  --cost K=T                  costs\n"
        "  --json                      for programs\n"
        "  --color WHEN                auto (default): in a terminal, unless NO_COLOR or "
        "TERM=dumb; always;\n"
        "                              never\n"
        "  -h, --help                  this text\n"
        "\n"
        "Examples:\n"
        "  penstock do it\n");
}

TEST_CASE("a required option names itself and an example") {
  CHECK(required(std::string("4"), "-P", "-P 4") == "4");
  CHECK(tests::message_of([] { required({}, "-P", "-P 4"); }) ==
        "-P: missing\nhelp: add it, for example -P 4");
}
