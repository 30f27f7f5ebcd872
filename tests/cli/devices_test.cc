#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/io/files.h"
#include "cli/verbs/verbs.h"
#include "core/values/device_sheet.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "estimator/shipped_data.h"
#include "tests/core/messages.h"
#include "tests/core/temporary_folder.h"

using namespace penstock;
using penstock::tests::TemporaryFolder;

namespace {

constexpr const char* kModel = "data/models/gpt2.json";

}  // namespace

TEST_CASE("every datasheet is written as it is read") {
  for (const DeviceSheet& device : shipped_devices()) {
    const std::string text = to_text(write_device_sheet(device));
    CHECK(read_device_sheet(parse_json(text, "d.json"), "d.json") == device);
  }
}

TEST_CASE("the GPUs are listed, whatever word asks for the list") {
  const Answer all = run_penstock({"devices"});
  for (const DeviceSheet& device : shipped_devices()) {
    CHECK(all.text.find('\n' + device.name + ' ') != std::string::npos);
  }
  CHECK(run_penstock({"devices", "list"}).text == all.text);
  CHECK(run_penstock({"devices", "show", "h100"}).text == run_penstock({"devices", "h100"}).text);
  const Json json = parse_json(run_penstock({"devices", "--json"}).text, "answer");
  CHECK(json.find("devices")->elements().size() == shipped_devices().size());
}

TEST_CASE("of one GPU every figure is shown, with where it is from") {
  const std::string text = run_penstock({"devices", "h100-sxm"}).text;
  for (const char* part : {"989 TFLOP/s", "79.2 GiB", "3,350 GB/s", "nvlink4 inside a node",
                           "400 Gb/s (50 GB/s) per GPU", "datasheet: NVIDIA H100 datasheet",
                           "penstock devices h100-sxm -o my-h100-sxm.json"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("a device that was written and edited is planned with") {
  const TemporaryFolder folder;
  const std::string mine = folder / "my-h100.json";
  CHECK(run_penstock({"devices", "h100-sxm", "-o", mine}).exit == 0);
  DeviceSheet sheet = read_device_sheet(load_json(mine).value, mine);
  CHECK(sheet.name == "my-h100");
  CHECK(sheet.aliases.empty());
  sheet.peaks.front().flops_per_s /= 2.0;
  write_file(mine, to_text(write_device_sheet(sheet)));
  const auto step = [&](const std::string& device) {
    const Answer answer = run_penstock({"predict", kModel, "--device", device, "--layout",
                                        "TP=1 PP=1 DP=8 mbs=4 gbs=64", "--json"});
    const Json json = parse_json(answer.text, "answer");
    return std::stod(json.find("prediction")->find("step_time_ns")->text());
  };
  CHECK(step(mine) > 1.2 * step("h100-sxm"));
}

TEST_CASE("the cluster that is written is the one that a plan assumes") {
  const TemporaryFolder folder;
  const std::string cluster = folder / "c.json", out = folder / "e.json";
  CHECK(run_penstock({"devices", "h100-sxm", "--gpus", "16", "--network", "200Gb/s",
                      "--cluster-out", cluster})
            .exit == 0);
  CHECK(run_penstock({"estimate", kModel, "--device", "h100-sxm", "--gpus", "16", "--network",
                      "200Gb/s", "--cluster-out", out})
            .exit == 0);
  CHECK(read_file(cluster) == read_file(out));
}

TEST_CASE("a model is planned on all device types of a cluster") {
  const TemporaryFolder folder;
  const std::string cluster = folder / "mixed.json";
  CHECK(run_penstock({"devices", "a100-sxm-80gb:8,h100-sxm:8", "--cluster-out", cluster}).exit ==
        0);
  const Arguments plan{"plan",           kModel, "--cluster", cluster,
                       "--global-batch", "32",   "--pin",     "TP=1,PP=2,mbs=1"};
  const Answer all = run_penstock(plan);
  CHECK(all.exit == 0);
  CHECK(all.text.find("h100-sxm") != std::string::npos);
  CHECK(all.remark.find("--device") == std::string::npos);
  Arguments one = plan;
  one.insert(one.end(), {"--device", "h100-sxm", "--gpus", "8"});
  CHECK(run_penstock(one).remark.find("--device h100-sxm uses that type alone, of 16 GPUs") !=
        std::string::npos);
}

TEST_CASE("options about one GPU need its name") {
  const std::string message = tests::message_of([] {
    static_cast<void>(run_penstock({"devices", "--cluster-out", "cluster.json"}));
  });
  CHECK(message.find("penstock devices h100-sxm --cluster-out cluster.json") != std::string::npos);
}
