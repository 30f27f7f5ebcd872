#include "cli/options/training_cost_options.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

using namespace penstock;
using penstock::tests::message_of;

TEST_CASE("tokens are counted exactly") {
  const auto tokens = [](const char* text) { return parse_tokens("--tokens", text); };
  CHECK(tokens("2T") == 2'000'000'000'000);
  CHECK(tokens("1.5B") == 1'500'000'000);
  CHECK(tokens("0.3T") == 300'000'000'000);
  CHECK(tokens("1.234K") == 1'234);
  CHECK(tokens("7M") == 7'000'000);
  CHECK(tokens("1") == 1);
  CHECK(tokens("12.0") == 12);
  CHECK(tokens("1000000000000000000") == 1'000'000'000'000'000'000);
  CHECK(tokens("15e12") == 15'000'000'000'000);
  CHECK(tokens("1.5E3") == 1'500);
  CHECK(tokens("1000000T") == 1'000'000'000'000'000'000);
}

TEST_CASE("what is not a whole number of tokens is refused") {
  for (const char* text : {"", "T", "0", "0T", "-1", "+1", "2e", "1.5", "1.2345K", ".5T", "1.T",
                           "1e19", "1,00", "two", "5e-3", "15e99999999999", "1000000000000000001",
                           "1000001T", "99999999999999999999999999"}) {
    CHECK(message_of([&] { (void)parse_tokens("--tokens", text); }) ==
          "--tokens: '" + std::string(text) +
              "' is not a number of tokens\n"
              "help: give a whole number from 1 to 10^18, for example 2T, 300B, 1.5T or 5000000");
  }
}

TEST_CASE("a number of tokens as people write it elsewhere says what to write") {
  const auto help = [](const char* text) {
    return message_of([&] { (void)parse_tokens("--tokens", text); });
  };
  CHECK(help("2 T").ends_with("help: write 2T"));
  CHECK(help("2t").ends_with("help: write 2T"));
  CHECK(help("300G").ends_with("help: write 300B"));
  CHECK(help("1,000").ends_with("help: write 1000"));
}

TEST_CASE("without tokens nothing is asked, and what has no effect is refused") {
  TrainingCostOptions options;
  CHECK_FALSE(options.question());
  options.restart = "5";
  CHECK(message_of([&] { (void)options.question(); }) ==
        "--restart-minutes: nothing is assumed to fail\n"
        "help: add --mtbf-hours, for example --mtbf-hours 50000");
  options.mtbf = "50000";
  CHECK(message_of([&] { (void)options.question(); }) ==
        "--mtbf-hours: failures need a training\n"
        "help: add --tokens, for example --mtbf-hours 50000 --tokens 2T; the time is that of one "
        "GPU: "
        "of a job that fails as a whole every H hours it is H times its number of GPUs");
  options.tokens = "2T";
  for (const char* hours : {"0", "-1", "often", "1e13", "nan", "inf", ""}) {
    options.mtbf = hours;
    CHECK_MESSAGE(message_of([&] { (void)options.question(); }).starts_with("--mtbf-hours: "),
                  hours);
  }
  options.mtbf = "50000";
  options.restart = "-5";
  CHECK(message_of([&] { (void)options.question(); }).starts_with("--restart-minutes: "));
}

TEST_CASE("what is not given is assumed, and marked") {
  TrainingCostOptions options;
  options.tokens = "300B";
  CHECK_FALSE(options.question()->failures);
  options.mtbf = "50000";
  options.restart = "6";
  const FailureModel model = options.question()->failures.value();
  CHECK(model == FailureModel{50000.0, 2.0 / 60.0, 0.1, true, false});
}

TEST_CASE("a price is that of every device") {
  TrainingCostOptions options;
  ClusterSpec cluster;
  cluster.device_types.resize(2);
  cluster.device_types[1].usd_per_hour = 3.0;
  const ClusterSpec before = cluster;
  options.set_price(cluster);
  CHECK(cluster == before);
  options.price = "2.5";
  options.set_price(cluster);
  CHECK(cluster.device_types[0].usd_per_hour == 2.5);
  CHECK(cluster.device_types[1].usd_per_hour == 2.5);
  PlanFile file;
  file.cluster.other_devices.resize(1);
  options.set_price(file);
  CHECK(file.cluster.usd_per_hour == 2.5);
  CHECK(file.cluster.other_devices[0].usd_per_hour == 2.5);
  options.price = "0";
  CHECK(message_of([&] { options.set_price(file); }).starts_with("--usd-per-gpu-hour: "));
}

TEST_CASE("samples without tokens cannot be counted in tokens") {
  const TrainingQuestion asked{1000, {}};
  Plan plan;
  CHECK(message_of([&] { require_tokens(asked, plan); }) ==
        "--tokens: the samples of this plan have no tokens\n"
        "help: leave it out; it needs a model with a sequence length");
  plan.sequence_length = 2048;
  require_tokens(asked, plan);
  ModelProfile profile;
  profile.section_types.resize(1);
  profile.section_types[0].measurements.resize(1);
  CHECK(message_of([&] {
          require_tokens(asked, profile);
        }).starts_with("--tokens: the samples of this profile have no tokens"));
  require_tokens({}, profile);
  profile.section_types[0].measurements[0].sequence_length = 2048;
  require_tokens(asked, profile);
}
