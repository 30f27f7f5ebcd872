#include "cli/options/network_rate.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/options/assumed_machine.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_called.h"
#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "costmodel/links.h"
#include "estimator/shipped_data.h"
#include "tests/core/messages.h"
#include "tests/core/temporary_folder.h"

using namespace penstock;
using penstock::tests::TemporaryFolder;

namespace {

double rate(const std::string& text) { return parse_network("--network", text).bandwidth.value; }
double shared(const std::string& text) {
  return parse_network("--network", text).shared_bandwidth.value;
}

std::string refusal(const std::string& text) {
  return tests::message_of([&] { static_cast<void>(rate(text)); });
}

const Arguments kPlan{"plan",           "data/models/gpt2.json",
                      "--device",       "h100-sxm",
                      "--gpus",         "16",
                      "--global-batch", "32",
                      "--pin",          "TP=1,mbs=1",
                      "--schedule",     "1f1b"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("rates of networks are read in bits and in bytes") {
  for (const char* same : {"200Gb/s", "200Gbps", "200gbit/s", "200 Gb/s", "25GB/s", "25GBps",
                           "200G", "ib-200", "IB200", "hdr", "200Gb/s/gpu", "0.2Tb/s"}) {
    CAPTURE(same);
    CHECK(rate(same) == doctest::Approx(25e9));
    CHECK(shared(same) == 0.0);
  }
  for (const char* node : {"800Gb/s/node", "100GB/s/node", "8x100Gb/s", "8*100Gb/s/node"}) {
    CAPTURE(node);
    CHECK(rate(node) == doctest::Approx(100e9));
    CHECK(shared(node) == doctest::Approx(100e9));
  }
}

TEST_CASE("a rate without a unit, and what is none, are refused with what to write") {
  CHECK(refusal("200").find("write --network 200Gb/s, in bits as networks are sold (25 GB/s), or "
                            "--network 200GB/s") != std::string::npos);
  for (const char* bad :
       {"", "fast", "0Gb/s", "-5Gb/s", "200Xb/s", "200Gb/s/rack", "1b/s", "nanGb/s", "1e30Gb/s"}) {
    CAPTURE(bad);
    CHECK(refusal(bad).find("help: write what one GPU has") != std::string::npos);
  }
}

// 3200 Gb/s are 8 x 400 Gb/s, as machines are sold; 1.6 Tb/s is what the fastest card has.
TEST_CASE("a rate that only a node has is refused unless it is said whose it is") {
  CHECK(refusal("3200Gb/s").find("--network 3200Gb/s/node, which is 400 Gb/s for each of 8 GPUs") !=
        std::string::npos);
  CHECK(refusal("1.6Tb/s").empty());
  CHECK(rate("3200Gb/s/gpu") == doctest::Approx(400e9));
  CHECK(shared("3200Gb/s/node") == doctest::Approx(400e9));
}

// 93 % of 20 GB/s are 18.6 GB/s: 186 MB take 10 ms, and at half the rate 20 ms; a step of the
// network takes 30 us in both.
TEST_CASE("half of the rate doubles the time of the bytes of a transfer between nodes") {
  const Bytes bytes{186'000'000};
  const Duration step{30'000};
  const auto time = [&](const char* network) {
    return point_to_point_time(assumed_machine("h100-sxm", "16", {{}, network}), 1, bytes, 1) -
           step;
  };
  CHECK(time("20GB/s") == Duration{10'000'000});
  CHECK(time("10GB/s") == Duration{20'000'000});
}

// 18.6 GB/s of a node for 4 GPUs that send at once: a quarter each.
TEST_CASE("what all GPUs of a node share is divided among those that send") {
  const ClusterSpec cluster = assumed_machine("h100-sxm", "16", {{}, "20GB/s/node"});
  const Bytes bytes{186'000'000};
  CHECK(point_to_point_time(cluster, 1, bytes, 1) == Duration{10'030'000});
  CHECK(point_to_point_time(cluster, 1, bytes, 4) == Duration{40'030'000});
}

TEST_CASE("a plan for another network says so, and is read again as it was") {
  const TemporaryFolder folder;
  const std::string path = folder / "plan.json";
  const Answer usual = run_penstock(with(kPlan, {"--json"}));
  const Answer slow = run_penstock(with(kPlan, {"--network", "10Gb/s", "-v", "-o", path}));
  CHECK(usual.exit == 0);
  CHECK(slow.text.find("(assumed, network 10Gb/s)") != std::string::npos);
  CHECK(slow.text.find("93 % of --network 10Gb/s") != std::string::npos);
  const Loaded<PlanFile> plan = load_plan(path);
  const PlanQuestion again = question_of(plan.value, path);
  CHECK(again.why_not == "");
  CHECK(again.question.cluster.value.levels.back().bandwidth.value ==
        doctest::Approx(0.93 * 1.25e9));
  CHECK(run_penstock({"explain", path}).exit == 0);
}

TEST_CASE("an unused network is noted, and one beside a cluster file is refused") {
  Arguments one_node = kPlan;
  one_node[5] = "8";
  CHECK(run_penstock(with(one_node, {"--network", "200Gb/s"}))
            .remark.find("note: --network 200Gb/s is not used: the 8 GPUs are in one node of 8") !=
        std::string::npos);
  const std::string message = tests::message_of([] {
    static_cast<void>(run_penstock({"plan", "data/profiles/gpt-6.7b.a100-40gb.json", "--cluster",
                                    "data/clusters/a100-40gb-p4d-8x8.json", "--global-batch", "64",
                                    "--network", "200Gb/s"}));
  });
  CHECK(message.find("\"bandwidth_bytes_per_s\": 25000000000 of its last level") !=
        std::string::npos);
}

TEST_CASE("nodes may have another number of GPUs than the datasheet's") {
  const ClusterSpec cluster = assumed_machine("h100-sxm", "16", {"4", {}});
  CHECK(cluster.name == "4 x 4 h100-sxm (assumed)");
  CHECK(cluster.levels.front().devices == 4);
  const TemporaryFolder folder;
  const std::string path = folder / "plan.json";
  Arguments by_nodes = kPlan;
  by_nodes[4] = "--nodes";
  by_nodes[5] = "4";
  CHECK(run_penstock(with(by_nodes, {"--gpus-per-node", "4", "-o", path})).exit == 0);
  const Loaded<PlanFile> plan = load_plan(path);
  CHECK(plan.value.cluster.name == cluster.name);
  const PlanQuestion again = question_of(plan.value, path);
  CHECK(again.why_not == "");
  CHECK(again.question.estimated->request.most_tensor_degree == 4);
  CHECK(tests::message_of([] {
          static_cast<void>(assumed_machine("h100-sxm", "16", {"gpu:h100:4", {}}));
        }).find("--device h100 --gpus-per-node 4") != std::string::npos);
}

// Each GPU of an A100's node has an eighth of its host's memory, and shares its link with another.
TEST_CASE("the host of a smaller node is smaller") {
  const auto host_with = [](const char* gpus) {
    DeviceSheet sheet = sheet_of("a100-sxm-80gb");
    set_nodes(sheet, {gpus, {}});
    return *sheet.host;
  };
  const NodeHost whole = host_with("8");
  CHECK(host_with("4").memory.count * 2 == whole.memory.count);
  CHECK(whole.devices_per_link == 2);
  CHECK(host_with("1").devices_per_link == 1);
}

TEST_CASE("a comparison varies the network") {
  Arguments compare = kPlan;
  compare[0] = "compare";
  const Answer answer = run_penstock(with(compare, {"--vary", "network=10Gb/s,400Gb/s"}));
  CHECK(answer.exit == 0);
  CHECK(answer.text.find("10Gb/s") != std::string::npos);
}

TEST_CASE("nodes of several device types have the links of each") {
  const ClusterSpec cluster = assumed_machine("a100-sxm-80gb:32,h100-sxm:16", std::nullopt, {});
  CHECK(device_count(cluster) == 48);
  REQUIRE(cluster.levels.size() == 2);
  REQUIRE(cluster.levels[0].of_types.size() == 1);
  CHECK(cluster.levels[0].of_types[0].bandwidth.value == doctest::Approx(0.81 * 450e9));
  CHECK(cluster.levels[1].bandwidth.value == doctest::Approx(0.93 * 25e9));
  CHECK(cluster.levels[1].of_types[0].bandwidth.value == doctest::Approx(0.93 * 50e9));
  const std::string text = to_text(write_cluster(cluster));
  CHECK(read_cluster(parse_json(text, "c.json"), "c.json") == cluster);
}
