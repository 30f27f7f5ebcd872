#include "cli/words/parse.h"

#include <doctest/doctest.h>

#include "cli/words/number_spellings.h"
#include "cli/words/pasted_pairs.h"
#include "cli/words/trainer_called.h"
#include "tests/core/messages.h"

using namespace penstock;
using tests::message_of;

TEST_CASE("whole numbers are read whole") {
  CHECK(parse_int("-P", "8", 1) == 8);
  CHECK(parse_int("-P", "2147483647", 1) == 2147483647);
  const auto message = [](const char* text) {
    return message_of([text] { parse_int("-P", text, 1, 100); });
  };
  CHECK(message("8x") == "-P: '8x' is not a whole number\nhelp: write 8");
  CHECK(message("=8") == "-P: '=8' begins with a sign\nhelp: write -P 8");
  CHECK(message("x8") ==
        "-P: 'x8' is not a whole number\nhelp: give a whole number, from 1 to 100");
  CHECK(message("-1") == "-P: '-1' is too small\nhelp: give a whole number, from 1 to 100");
  CHECK(message("101") == "-P: '101' is too large\nhelp: give a whole number, from 1 to 100");
  CHECK(message("99999999999999999999") ==
        "-P: '99999999999999999999' is far out of range\nhelp: give a whole number, from 1 to 100");
  for (const char* text : {"", " 8", "8 ", "+8", "0x8", "1e3", "8.0"}) {
    CHECK_MESSAGE(message(text).find("is not a whole number") != std::string::npos, text);
  }
}

TEST_CASE("letters behind a number are a slip") {
  CHECK(before_slip("128kk") == "128k");
  CHECK(before_slip("512s") == "512");
  CHECK(before_slip("k128").empty());
  CHECK(before_slip("8k4").empty());
}

TEST_CASE("a range in steps is a list") {
  CHECK(values_in_steps("8:32", "8") == "8,16,24,32");
  CHECK(values_in_steps("8..20", "8") == "8,16");
  CHECK(values_in_steps("8:32", "0").empty());
}

TEST_CASE("numbers are finite and in range") {
  CHECK(parse_number("x", "1.5", 0.0, 2.0) == 1.5);
  const auto message = [](const char* text) {
    return message_of([text] { parse_number("x", text, 0.0, 2.0); });
  };
  CHECK(message("2.5") == "x: '2.5' is out of range\nhelp: give a number from 0 to 2");
  for (const char* text : {"", "nan", "inf", "1.5GiB", "1,5"}) {
    CHECK_MESSAGE(message(text).find("is not a number") != std::string::npos, text);
  }
}

TEST_CASE("a range where values are listed is answered by such a list") {
  const auto help = [](const char* option, const char* text) {
    const std::string message = message_of([&] { parse_int(option, text, 1); });
    return message.substr(message.find("help: "));
  };
  CHECK(help("-P", "4-16") == "help: write the values with commas, for example 4,8,16");
  CHECK(help("--vary P", "1..8") == "help: write the values with commas, for example 1,2,4,8");
  CHECK(help("-M", "3..6") == "help: write the values with commas, for example 3,6");
  CHECK(help("--gpus", "8..64").find("--vary gpus=8,16,32") != std::string::npos);
  CHECK(help("-P", "8-4") == "help: write the values with commas, for example 4,8");
  // Numbers that no integer holds end the list, not the program.
  CHECK(help("-P", "99999999999999999999..5").starts_with("help: "));
}

TEST_CASE("a time needs a unit") {
  CHECK(parse_time("F", "18.522ms") == Duration(18'522'000));
  const auto message = [](const char* text) {
    return message_of([text] { parse_time("F", text); });
  };
  CHECK(message("18.522") ==
        "F: '18.522' has no unit\nhelp: write 18.522ms, or another of ns, us, ms, s");
  CHECK(message("-1ms") ==
        "F: '-1ms' is negative\nhelp: a time is 0 or more, for example 18.522ms");
  CHECK(message("1min").starts_with("F: '1min' is not a time\nhelp: "));
  CHECK(message("99999999999s").starts_with("F: '99999999999s' is not a time\nhelp: "));
}

TEST_CASE("numbers and times as people write them elsewhere say what to write") {
  const auto number = [](const char* option, const char* text) {
    return message_of([&] { parse_number(option, text, 0.0, 1e6); });
  };
  CHECK(number("--usd-per-gpu-hour", "2,50").ends_with("write 2.50"));
  CHECK(number("--usd-per-gpu-hour", "1,250").ends_with("write 1250"));
  // A group of thousands stands behind one to three digits that do not begin with 0.
  CHECK(number("--usd-per-gpu-hour", "0,125").ends_with("write 0.125"));
  CHECK(number("--usd-per-gpu-hour", "1000,125").ends_with("write 1000.125"));
  CHECK(number("--usd-per-gpu-hour", "1,250,000").ends_with("write 1250000"));
  CHECK(number("--usd-per-gpu-hour", "0,125,000")
            .ends_with("give US dollars as a number, for example 2.50"));
  CHECK(number("--usd-per-gpu-hour", "$2.50/h").ends_with("write 2.50"));
  CHECK(number("--usd-per-gpu-hour", "2 EUR")
            .ends_with("give US dollars as a number, for example 2.50"));
  CHECK(number("--storage", "2GB/s").ends_with("write 2"));
  CHECK(message_of([] { parse_time("F", "10sec"); }).ends_with("write 10s"));
  CHECK(message_of([] { parse_time("F", "20msec"); }).ends_with("write 20ms"));
  CHECK(message_of([] { parse_int("TP", "1 2 4", 1); }).ends_with("with commas: 1,2,4"));
  CHECK(message_of([] { parse_list("--shards", "0 4 8"); }).ends_with("with commas: 0,4,8"));
  const auto whole = [](const char* text) {
    return message_of([&] { parse_int("--threads", text, 1, 256); });
  };
  CHECK(whole("4 8").ends_with("help: give one, from 1 to 256"));
  CHECK(whole("1 024").ends_with("write 1024"));
  CHECK(whole("1,024").ends_with("write 1024"));
  CHECK(whole("1,5").ends_with("help: give a whole number, from 1 to 256"));
  CHECK(whole("5m").ends_with("help: give a whole number, from 1 to 256"));
}

TEST_CASE("a batch in tokens keeps its suffix and all of its digits") {
  const auto write = [](const char* typed, const char* number) {
    CAPTURE(typed);
    const std::string said = message_of([&] { parse_int("--global-batch", typed, 1); });
    CHECK(said.ends_with("help: write --global-batch-tokens " + std::string(number)));
  };
  write("4M-tokens", "4M");
  write("4m tokens", "4M");
  write("4k-tokens", "4K");
  write("0.5 m tok", "0.5M");
  write("4MTokens", "4M");
  write("4,194,304 tokens", "4194304");
  write("4,5 tokens", "N");
  write("4e tokens", "N");
  write("0 tokens", "N");
  write("1234567890123456 tokens", "N");
}

TEST_CASE("settings pasted from elsewhere are pairs") {
  CHECK(pasted_pairs(R"({"tp": 8, "pp": 4})") == "TP=8,PP=4");
  CHECK(pasted_pairs("--tensor-model-parallel-size 8 --global-batch-size 64") == "TP=8,gbs=64");
  CHECK(pasted_pairs("tp: 2, micro_batch_size: 1") == "TP=2,mbs=1");
  for (const char* text : {"", "tp", "tp 8 pp", "colour 3", "tp eight", "--", "{}"}) {
    CHECK_MESSAGE(pasted_pairs(text).empty(), text);
  }
  CHECK(message_of([] { parse_key_values("--pin", "{\"tp\":8}"); }).ends_with("write TP=8"));
}

TEST_CASE("a trainer's version may be written in any way") {
  for (const char* name : {"torchtitan@0.2", "torchtitan-0.2", "TorchTitan==0.2", "titan v0.2"}) {
    CHECK_MESSAGE(trainer_called(name) == "torchtitan@0.2", name);
  }
  CHECK(trainer_called("mcore") == "megatron");
}

TEST_CASE("GiB may have a fraction") {
  CHECK(parse_gib("x", "1.5") == Bytes{1610612736});
  CHECK(message_of([] { parse_gib("x", "-1"); }).starts_with("x: '-1' is out of range"));
}

TEST_CASE("on and off") {
  CHECK(parse_on_off("--zero1", "on"));
  CHECK_FALSE(parse_on_off("--zero1", "off"));
  CHECK(parse_on_off("--zero1", "true"));
  CHECK_FALSE(parse_on_off("--zero1", "0"));
  CHECK(message_of([] { parse_on_off("--zero1", "maybe"); }) ==
        "--zero1: 'maybe' is neither on nor off\nhelp: write on or off");
}

TEST_CASE("lists have no empty entries") {
  CHECK(parse_list("x", "a") == std::vector<std::string>{"a"});
  CHECK(parse_list("x", "a,b") == std::vector<std::string>{"a", "b"});
  for (const char* text : {"", ",", "a,", ",a", "a,,b"}) {
    CHECK_MESSAGE(
        message_of([text] { parse_list("x", text); }).find("empty entry") != std::string::npos,
        text);
  }
}

TEST_CASE("keys have values, once") {
  CHECK(parse_key_values("--pin", "P=8,T=4") == KeyValues{{"P", "8"}, {"T", "4"}});
  const auto message = [](const char* text) {
    return message_of([text] { parse_key_values("--pin", text); });
  };
  CHECK(message("P") == "--pin: 'P' is not KEY=VALUE\nhelp: write for example TP=8,PP=4");
  CHECK(message("P=").starts_with("--pin: 'P=' is not KEY=VALUE"));
  CHECK(message("=8").starts_with("--pin: '=8' is not KEY=VALUE"));
  CHECK(message(":8").starts_with("--pin: ':8' is not KEY=VALUE"));
  CHECK(message("P:").starts_with("--pin: 'P:' is not KEY=VALUE"));
  CHECK(message("P=8,P=4") == "--pin: P is given twice\nhelp: keep one of them");
}

TEST_CASE("of words that differ in a number all are named") {
  const std::vector<std::string> known{"none", "zero1", "zero2", "zero3", "fsdp"};
  CHECK(did_you_mean("zero4", known) == "did you mean 'zero1', 'zero2' or 'zero3'?");
  CHECK(did_you_mean("zreo3", known) == "did you mean 'zero3'?");
  CHECK(did_you_mean("int23", {"int32", "int64"}) == "did you mean 'int32'?");
  CHECK(did_you_mean("zb-h3", {"zb-h1", "1f1b"}) == "did you mean 'zb-h1'?");
}

TEST_CASE("a budget of days is money") {
  const auto message = [](const char* text) {
    return message_of([text] { parse_budget("--budget", text); });
  };
  CHECK(message("30").find("write 30s for seconds") != std::string::npos);
  CHECK(message("50000").find("no option limits money") != std::string::npos);
}

TEST_CASE("a slip finds its word; nonsense finds all of them") {
  const std::vector<std::string> known{"plan", "schedule", "check"};
  CHECK(did_you_mean("schdule", known) == "did you mean 'schedule'?");
  CHECK(did_you_mean("plam", known) == "did you mean 'plan'?");
  CHECK(did_you_mean("plna", known) == "did you mean 'plan'?");
  CHECK(did_you_mean("sched", known) == "did you mean 'schedule'?");
  CHECK(did_you_mean("palnn", known) == "did you mean 'plan'?");      // two slips, begins alike
  CHECK(did_you_mean("trunk", {"train"}) == "known: train");          // three
  CHECK(did_you_mean("check-interval", known).starts_with("known"));  // more than twice as long
  CHECK(did_you_mean("bananas", known) == "known: plan, schedule, check");
  CHECK(did_you_mean("", known) == "known: plan, schedule, check");
}
