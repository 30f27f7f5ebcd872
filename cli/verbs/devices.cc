// `penstock devices`: the GPUs that --device knows, what is assumed of one of them, and the cluster
// that is assumed of many. Whatever is assumed can be written, changed and given back: the device
// with --device FILE, the cluster with --cluster FILE.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/shell_word.h"
#include "cli/io/write_output.h"
#include "cli/options/assumed_machine.h"
#include "cli/options/network_rate.h"
#include "cli/options/options.h"
#include "cli/options/table_format.h"
#include "cli/reports/device_report.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_called.h"
#include "cli/words/is_among.h"
#include "cli/words/parse.h"
#include "core/files/format.h"
#include "estimator/shipped_data.h"
#include "report/flat_table.h"
#include "report/result_json.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock devices
  penstock devices h100-sxm
  penstock devices h100-sxm -o my-h100.json
  penstock devices h100-sxm --gpus 128 --network 200Gb/s --cluster-out cluster.json
  penstock devices a100-sxm-80gb:32,h100-sxm:32 --cluster-out mixed.json
)";

struct Given {
  std::optional<std::string> device, gpus, gpus_per_node, network, output, cluster_output;
  TableFormatOptions format;
};

// "devices --gpu h100-sxm": the device is the argument.
Arguments with_bare_device(Arguments arguments) {
  constexpr std::array<std::string_view, 7> kNames{
      "--device", "--gpu", "--gpus", "--gpu-type", "--accelerator", "--name", "--devices"};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    const bool has_own = equals != std::string::npos;
    if (!is_among(kNames, arguments[i].substr(0, equals))) continue;
    const std::string value = has_own                    ? arguments[i].substr(equals + 1)
                              : i + 1 < arguments.size() ? arguments[i + 1]
                                                         : "";
    if (value.empty() || std::isalpha(static_cast<unsigned char>(value[0])) == 0) continue;
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
    if (has_own) arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i), value);
  }
  return arguments;
}

// "devices list", "devices show h100-sxm": words that say no more than the verb does.
Arguments without_vague_words(Arguments arguments) {
  constexpr std::array<std::string_view, 9> kVague{"list", "ls",  "all",      "show", "get",
                                                   "info", "see", "describe", "print"};
  const bool is_vague = !arguments.empty() &&
                        std::find(kVague.begin(), kVague.end(), arguments.front()) != kVague.end();
  if (is_vague) arguments.erase(arguments.begin());
  return arguments;
}

void refuse_without_device(const Given& given) {
  const auto refuse = [](bool is_given, const char* option, const char* value) {
    if (!is_given) return;
    bad_option(option, "it is about one GPU, and none is named",
               fmt::format("name it: penstock devices h100-sxm {} {}", option, value));
  };
  refuse(given.output.has_value(), "-o", "my-h100.json");
  refuse(given.cluster_output.has_value(), "--cluster-out", "cluster.json");
  refuse(given.gpus.has_value(), "--gpus", "128");
  refuse(given.gpus_per_node.has_value(), "--gpus-per-node", "4");
  refuse(given.network.has_value(), "--network", "200Gb/s");
}

Answer list_of_devices(const Given& given, Screen screen) {
  refuse_without_device(given);
  const std::vector<DeviceSheet> devices = shipped_devices();
  const TextTable table = devices_table(devices);
  switch (given.format.chosen()) {
    case TableFormat::kCsv:
      return {flat_table(device_rows(devices)).csv()};
    case TableFormat::kMarkdown:
      return {table.markdown()};
    case TableFormat::kJson: {
      Json rows = Json::array();
      for (Json& row : device_rows(devices)) rows.push(std::move(row));
      return json_answer(answer_json("devices").set("devices", std::move(rows)));
    }
    case TableFormat::kText:
      break;
  }
  return report_answer(
      table.text(screen.width()) +
      "net: one GPU's part of the network between nodes; links count one direction.\n"
      "What is assumed of one, and how to change it:\n"
      "  penstock devices h100-sxm\n");
}

// Under the name of its file, since it is about to be another device.
DeviceSheet renamed(DeviceSheet device, const std::string& output) {
  const std::string stem = std::filesystem::path(output).stem().string();
  if (output == "-" || stem.empty()) return device;
  device.name = stem;
  device.aliases.clear();
  return device;
}

// "16 nodes of 8 h100-sxm: 93 % of the network and 81 % of the links are planned with."
std::string machine_words(const ClusterSpec& cluster, const Given& given) {
  std::string out =
      fmt::format("Assumed for {}: {}.\n", count_of(device_count(cluster), "GPU"), cluster.name);
  for (const LinkLevel& level : cluster.levels) {
    const bool is_shared = level.shared_bandwidth.value > 0.0;
    out += fmt::format("  {}: {} GB/s {} in collectives and transfers, {} a step\n", level.name,
                       significant(level.bandwidth.value / 1e9, 4),
                       is_shared ? "for the GPUs of a node" : "per GPU", to_text(level.latency));
  }
  if (given.network && cluster.levels.size() == 1) {
    out += fmt::format("  one node: --network {} is not used\n", *given.network);
  }
  return out;
}

std::string next_steps(const Given& given, const DeviceSheet& device) {
  const std::string name = shell_word(*given.device);
  const std::string own = "my-" + device.name + ".json";
  std::string out = "\nTo change it:\n";
  if (given.output && *given.output != "-") {
    out += fmt::format("  {0} holds the device, to be edited; then plan with --device {0}\n",
                       shell_word(*given.output));
  } else {
    out += fmt::format("  penstock devices {} -o {}   # edit it, then plan with --device {}\n",
                       name, own, own);
  }
  if (!given.network) {
    out += "  another network between the nodes: plan with --network 200Gb/s\n";
  }
  if (given.cluster_output) return out;
  return out + fmt::format(
                   "  penstock devices {} --gpus {} --cluster-out cluster.json   # nodes and "
                   "links, for --cluster\n",
                   name, given.gpus.value_or("64"));
}

std::string words_of_files(const Given& given) {
  if (!given.cluster_output || *given.cluster_output == "-") return "";
  return fmt::format(
      "\n{0} holds the cluster, with its links to be edited; then\n"
      "  penstock plan config.json --cluster {0} --global-batch 512\n",
      shell_word(*given.cluster_output));
}

void refuse_unwritten(const Given& given) {
  if (given.output && counts_several(*given.device)) {
    bad_option("-o", "a device file is of one device type",
               fmt::format("name one of them, or write the cluster: penstock devices {} "
                           "--cluster-out {}",
                           *given.device, *given.output));
  }
  if (given.output == "-" && given.cluster_output == "-") {
    bad_option("-o", "--cluster-out goes to stdout as well", "give one of them a file");
  }
}

Json json_of(const std::vector<CountedSheet>& devices, const ClusterSpec& cluster) {
  Json json = answer_json("devices");
  Json sheets = Json::array();
  for (const CountedSheet& each : devices) sheets.push(write_device_sheet(each.device));
  return json.set("devices", std::move(sheets)).set("cluster", write_cluster(cluster));
}

Answer of_device(const Given& given, Screen screen) {
  refuse_unwritten(given);
  const std::vector<CountedSheet> devices =
      devices_counted(*given.device, given.gpus, {given.gpus_per_node, given.network});
  std::vector<DeviceSheet> sheets;
  sheets.reserve(devices.size());
  for (const CountedSheet& each : devices) sheets.push_back(each.device);
  const DeviceSheet& first = sheets.front();
  const ClusterSpec cluster = default_cluster(devices);
  const std::string cluster_text = to_text(write_cluster(cluster)) + '\n';
  const std::string sheet_text =
      given.output ? to_text(write_device_sheet(renamed(first, *given.output))) + '\n' : "";
  if (given.output && *given.output != "-") write_output(*given.output, sheet_text);
  if (given.cluster_output && *given.cluster_output != "-") {
    write_output(*given.cluster_output, cluster_text);
  }
  if (given.output == "-") return {sheet_text};
  if (given.cluster_output == "-") return {cluster_text};
  switch (given.format.chosen()) {
    case TableFormat::kCsv:
      return {flat_table(device_rows(sheets)).csv()};
    case TableFormat::kMarkdown:
      return {devices_table(sheets).markdown()};
    case TableFormat::kJson:
      return json_answer(json_of(devices, cluster));
    case TableFormat::kText:
      break;
  }
  const bool are_several = devices.size() > 1;
  std::string text;
  for (const CountedSheet& each : devices) text += device_report(each.device, screen) + '\n';
  text += machine_words(cluster, given);
  if (!are_several) text += next_steps(given, first);
  Answer answer = report_answer(text + words_of_files(given));
  if (!are_several) answer.remark = remark_of_device(*given.device);
  return answer;
}

}  // namespace

Answer run_devices(const Arguments& arguments, Screen screen) {
  Given given;
  const bool is_named = !arguments.empty() && !arguments.front().starts_with('-');
  const std::string device = is_named ? arguments.front() : "h100-sxm";
  Options options(
      "devices [NAME] [OPTIONS]",
      "Lists the GPUs that --device takes, with the figures of their datasheets. Of one "
      "it shows all that is assumed, with sources, and writes it as a file to edit; of "
      "a number of them it writes the cluster that plans assume.",
      kExamples);
  options.heading("Which");
  options.positional_if_any("NAME",
                            "a GPU, or a penstock.device/1 file; NAME:N,NAME:N are nodes of "
                            "several device types; default: list all",
                            given.device);
  options.option("--gpus", "N", "number of GPUs of the cluster; default: one node", given.gpus);
  options.option("--gpus-per-node", "N",
                 "in place of the datasheet's nodes: how many GPUs each has", given.gpus_per_node);
  options.option("--network", "RATE",
                 "in place of the datasheet's network between nodes: what one GPU has of it in "
                 "each direction (200Gb/s, 25GB/s), or all GPUs of a node (800Gb/s/node)",
                 given.network);
  options.heading("What to write");
  options.option("-o,--output", "FILE",
                 "write the device as a file to edit, for --device FILE (- for stdout)",
                 given.output);
  options.option("--cluster-out", "FILE",
                 "write the cluster that is assumed, for --cluster FILE (- for stdout)",
                 given.cluster_output);
  given.format.declare(options, "one row per GPU");
  options.remark({"list", "list-devices", "list-gpus", "all", "show"},
                 "leave it out: penstock devices lists all GPUs");
  options.remark(
      {"memory", "memory-gib", "mem", "hbm", "vram", "memory-limit", "flops", "tflops", "bandwidth",
       "gpus-per-node", "nvlink"},
      fmt::format(
          "the figures of a GPU are changed in a file: penstock devices {} -o my.json writes it "
          "(\"memory_bytes\", \"links\" and the others), and --device my.json plans with it",
          device));
  options.remark({"cluster", "cluster-file"},
                 "write --cluster-out {FILE}, which writes the cluster that is assumed");
  if (auto help = options.parse(with_bare_device(without_vague_words(arguments)), screen))
    return help_answer(*help);
  return given.device ? of_device(given, screen) : list_of_devices(given, screen);
}

}  // namespace penstock
