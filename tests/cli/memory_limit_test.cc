#include "cli/options/memory_limit.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/options/question.h"
#include "cli/verbs/verbs.h"
#include "core/check/check.h"
#include "core/values/json_reader.h"
#include "tests/core/messages.h"
#include "tests/core/small_cluster.h"
#include "tests/core/temporary_folder.h"

using namespace penstock;
using penstock::tests::message_of;
using penstock::tests::TemporaryFolder;

namespace {

// a100 of 42,505,273,344 bytes with a reserve of 1,610,612,736, v100 of 16,000,000,000 without.
ClusterSpec limited_to(const std::string& text) {
  ClusterSpec cluster = testing::read(testing::kCluster);
  limit_memory(cluster, kMemoryLimit, text);
  return cluster;
}

std::vector<std::int64_t> memory_with(const std::string& text) {
  std::vector<std::int64_t> memory;
  for (const DeviceType& type : limited_to(text).device_types) memory.push_back(type.memory.count);
  return memory;
}

constexpr std::int64_t kGib = std::int64_t{1} << 30;

// The plan file of GPT-6.7B on eight A100, in the cluster of that file.
Loaded<PlanFile> planned(const TemporaryFolder& folder, const std::string& cluster,
                         const Arguments& further) {
  Arguments arguments{"plan",
                      "data/profiles/gpt-6.7b.a100-40gb.json",
                      "--cluster",
                      cluster,
                      "--gpus",
                      "8",
                      "--global-batch",
                      "16",
                      "--schedule",
                      "1f1b,zb-h1",
                      "-o",
                      folder / "plan.json"};
  arguments.insert(arguments.end(), further.begin(), further.end());
  REQUIRE(run_penstock(arguments).exit == 0);
  return load_plan(folder / "plan.json");
}

constexpr const char* kNodes = "data/clusters/a100-40gb-p4d-8x8.json";

}  // namespace

TEST_CASE("amounts and shares, of each device type; a smaller one is planned whole") {
  CHECK(memory_with("20") == std::vector<std::int64_t>{20 * kGib, 16'000'000'000});
  CHECK(memory_with("20GiB") == memory_with("20"));
  CHECK(memory_with("20 gib") == memory_with("20"));
  CHECK(memory_with("20G") == memory_with("20"));
  CHECK(memory_with("20480MiB") == memory_with("20"));
  CHECK(memory_with("10GB") == std::vector<std::int64_t>{10'000'000'000, 10'000'000'000});
  CHECK(memory_with("0.5") == std::vector<std::int64_t>{21'252'636'672, 8'000'000'000});
  CHECK(memory_with("50%") == memory_with("0.5"));
  const ClusterSpec whole = testing::read(testing::kCluster);
  CHECK(limited_to("100%") == whole);
  const ClusterSpec cluster = limited_to("20");
  CHECK(cluster.device_types[0].limited_from == whole.device_types[0].memory);
  CHECK(cluster.device_types[1] == whole.device_types[1]);
  CHECK(memory_limit_words(cluster) == "no rank above 20.0 of 39.6 GiB of a100");
  CHECK(memory_limit_words(whole).empty());
  // A second limit is one of all that a device has.
  ClusterSpec twice = cluster;
  limit_memory(twice, kMemoryLimit, "50%");
  CHECK(twice == limited_to("0.5"));
}

TEST_CASE("what is no limit is refused with what to write") {
  const auto message = [](const std::string& text) {
    return message_of([&] { limited_to(text); });
  };
  CHECK(
      message("100").starts_with("--memory-limit: '100' is 100.0 GiB, and a100 has 39.6 GiB\n"
                                 "help: leave it out: "));
  CHECK(message("1GiB").find("1.5 GiB of it are kept") != std::string::npos);
  CHECK(message("0").find("0.85 or 85%") != std::string::npos);
  CHECK(message("120%").find("0.85 or 85%") != std::string::npos);
  CHECK(message("much").find("'much' is not a number") != std::string::npos);
  CHECK(message("-5").starts_with("--memory-limit: "));
  CHECK(message_of([] { read_memory_limit(kMemoryLimit, "60GiB"); }).empty());
}

TEST_CASE("no rank holds more than the limit, and the plan is that of a device with as much") {
  const TemporaryFolder folder;
  ClusterSpec smaller = load_cluster(kNodes).value;
  for (DeviceType& type : smaller.device_types) type.memory = Bytes{24 * kGib};
  write_file(folder / "small.json", to_text(write_cluster(smaller)));
  const Loaded<PlanFile> limited = planned(folder, kNodes, {"--memory-limit", "24"});
  const Loaded<PlanFile> small = planned(folder, folder / "small.json", {});
  CHECK(limited.value.plan == small.value.plan);
  CHECK(limited.value.prediction == small.value.prediction);
  for (const RankEvaluation& rank : limited.value.prediction.ranks) {
    CHECK(rank.memory.total() <= Bytes{24 * kGib});
    CHECK(rank.capacity == Bytes{24 * kGib});
  }
  CHECK(planned(folder, kNodes, {}).value.prediction.peak_memory() > Bytes{24 * kGib});
}

TEST_CASE("the plan file keeps the limit for those that ask again") {
  const TemporaryFolder folder;
  const Loaded<PlanFile> plan = planned(folder, kNodes, {"--memory-limit", "60%"});
  const std::int64_t all = load_cluster(kNodes).value.device_types[0].memory.count;
  CHECK(plan.value.cluster.limited_from == Bytes{all});
  CHECK(plan.value.cluster.memory_per_device.count < all);
  CHECK(check(plan.value).findings.empty());
  const PlanQuestion again = question_of(plan.value, plan.file.path);
  REQUIRE(again.why_not.empty());
  CHECK(again.question.has_memory_limit());
  CHECK(again.question.cluster.value.device_types[0].memory ==
        plan.value.cluster.memory_per_device);
  CHECK(memory_limit_option(plan.value) == " --memory-limit 23.7517GiB");
  const std::string text = run_penstock({"explain", plan.file.path}).text;
  CHECK(text.find("the limit is 23.8 GiB of the 39.6 that a GPU has") != std::string::npos);
}
