// `penstock import`: one row per tool, with a function that reads its files, reports them and, with
// --cluster, works out what they change there. Only -o writes; without it the changes are told and
// nothing happens.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/measured_machine.h"
#include "cli/io/shell_word.h"
#include "cli/io/text_file.h"
#include "cli/io/write_output.h"
#include "cli/options/assumed_machine.h"
#include "cli/options/options.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "report/imports/import_report.h"
#include "report/result_json.h"
#include "report/screen.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock import nccl-tests all_reduce.json reduce_scatter.json --cluster c.json -o new.json
  penstock import nccl-tests all_reduce.txt --device h100-sxm --gpus 16 -o cluster.json
  penstock import nccl-tests sendrecv.json
  penstock import nvbandwidth out.json --cluster c.json --date 2026-11-22 -o new.json
  penstock import skypilot vms.csv --cluster c.json --region us-east-1 --spot -o new.json
)";

struct Given {
  std::string from;
  std::vector<std::string> files, matches;
  std::optional<std::string> cluster, device, gpus, gpus_per_node, network, output, level, test,
      region, date;
  bool use_sendrecv = false, spot = false, json = false;
};

// What was read of the files, and with --cluster what that changes there.
struct Imported {
  std::string text;
  Json json = Json::array();
  std::optional<ClusterChanges> changes;
};

struct Tool {
  const char* name;
  Imported (*import)(const Given& given, const ClusterSpec* cluster, Screen screen);
};

const std::string& only_file(const Given& given) {
  if (given.files.size() > 1) {
    bad_option("FILE", fmt::format("{} files, and {} takes one", given.files.size(), given.from),
               "import them one after the other, each into the cluster of the one before");
  }
  return given.files.front();
}

constexpr const char* kOutputs =
    "name the file that the tool wrote: ./all_reduce_perf ... > all_reduce.txt";
constexpr const char* kCatalogs =
    "name a catalog of SkyPilot's: vms.csv of github.com/skypilot-org/skypilot-catalog";

Imported import_nccl_tests(const Given& given, const ClusterSpec* cluster, Screen screen) {
  Imported imported;
  std::vector<NcclTest> tests;
  tests.reserve(given.files.size());
  for (const std::string& file : given.files) {
    tests.push_back(read_nccl_test(load_text(file, kOutputs), file));
    if (given.date && !tests.back().started.empty()) {
      bad_option("--date", fmt::format("{} says when it ran", file), "leave it out");
    }
    if (given.date) tests.back().started = *given.date;
    if (!imported.text.empty()) imported.text += '\n';
    imported.text += nccl_report(tests.back(), screen);
    imported.json.push(to_json(tests.back()));
  }
  if (cluster != nullptr) {
    imported.changes = add_collectives(*cluster, tests,
                                       {.level = given.level, .use_sendrecv = given.use_sendrecv});
    for (const NcclTest& test : tests) {
      const std::string note = note_on_other_gpus(test, *cluster);
      if (!note.empty()) imported.changes->notes.push_back(note);
    }
  }
  return imported;
}

Imported import_nvbandwidth(const Given& given, const ClusterSpec* cluster, Screen screen) {
  const std::string& file = only_file(given);
  const NvBandwidth measured = read_nvbandwidth_output(load_text(file, kOutputs), file);
  Imported imported;
  imported.text = nvbandwidth_report(measured, screen);
  imported.json.push(to_json(measured));
  if (cluster != nullptr) {
    imported.changes = add_link_bandwidths(*cluster, measured, given.test, given.date.value_or(""));
  }
  return imported;
}

Imported import_skypilot(const Given& given, const ClusterSpec* cluster, Screen screen) {
  const std::string& file = only_file(given);
  PriceQuestion question{.region = given.region, .spot = given.spot, .names = {}, .date = {}};
  question.date = given.date.value_or("");
  for (const std::string& match : given.matches) {
    for (auto& pair : parse_key_values("--match", match)) question.names.push_back(std::move(pair));
  }
  const PriceCatalog catalog = read_price_catalog(load_text(file, kCatalogs), file);
  Imported imported;
  imported.text = catalog_report(catalog, question, screen);
  imported.json.push(to_json(catalog, question));
  if (cluster != nullptr) imported.changes = set_prices(*cluster, catalog, question);
  return imported;
}

constexpr Tool kTools[] = {{"nccl-tests", import_nccl_tests},
                           {"nvbandwidth", import_nvbandwidth},
                           {"skypilot", import_skypilot}};

std::vector<std::string> tool_names() {
  std::vector<std::string> names;
  for (const Tool& tool : kTools) names.emplace_back(tool.name);
  return names;
}

const Tool& tool_named(const std::string& name) {
  for (const Tool& tool : kTools) {
    if (name == tool.name) return tool;
  }
  for (const char* run : {"megatron", "torchtitan", "kineto", "pytorch"}) {
    if (name != run) continue;
    bad_option("TOOL", fmt::format("what {} wrote is a run, to be compared with its plan", name),
               "penstock validate PLAN RUN, with --add-to RUNS for penstock calibrate");
  }
  unknown_word("TOOL", name, tool_names(), "tool ");
}

void declare(Options& options, Given& given) {
  options.heading("What to read");
  options.positional("TOOL", "nccl-tests, nvbandwidth or skypilot: who wrote the files",
                     given.from);
  options.choices(tool_names());
  options.positionals("FILE",
                      "what nccl-tests printed or wrote with -J, one file per collective; what "
                      "nvbandwidth printed, as a table or with -j; a price catalog of SkyPilot "
                      "(vms.csv)",
                      given.files);
  options.option(
      "--date", "TEXT",
      "date of the measurement or catalog, for the source; the JSON of nccl-tests has its own",
      given.date);
  options.heading("Where to put it");
  options.option("--cluster", "FILE", "the cluster to put it into; default: only print",
                 given.cluster);
  options.option(
      "--device", "NAME",
      "in place of --cluster: the cluster that is assumed of this GPU (penstock devices)",
      given.device);
  options.option(
      "--gpus", "N",
      "of the assumed cluster: its GPUs; default: those that nccl-tests ran on, or one node",
      given.gpus);
  options.option("--gpus-per-node", "N",
                 "of the assumed cluster: GPUs of a node; default: the datasheet's",
                 given.gpus_per_node);
  options.option("--network", "RATE",
                 "of the assumed cluster: what one GPU has of the network between nodes "
                 "(200Gb/s), or all GPUs of a node (800Gb/s/node)",
                 given.network);
  options.option("-o,--output", "FILE",
                 "write the new cluster (- for stdout, instead of the report)", given.output);
  options.flag("--json", "what was read and changed, as one JSON object", given.json);
  options.heading("nccl-tests");
  options.option(
      "--level", "NAME",
      "the level of links that was measured; default: the innermost that connects the ranks",
      given.level);
  options.flag("--use-sendrecv",
               "use the times of sendrecv, a loaded ring, for the transfers of their level",
               given.use_sendrecv);
  options.heading("nvbandwidth");
  options.option(
      "--test", "NAME",
      "the test whose bandwidths are used; default: device_to_device_memcpy_write_sm, or "
      "read_sm, write_ce, read_ce",
      given.test);
  options.heading("skypilot");
  options.option("--region", "NAME", "only prices of this region; default: the cheapest of all",
                 given.region);
  options.flag("--spot", "the price of spot machines", given.spot);
  options.repeated(
      "--match", "DEVICE=NAME",
      "the catalog's name of a device type, where it differs; may be given several times",
      given.matches);
}

std::string command_from(const Given& given, const Arguments& machine) {
  Arguments words{given.from};
  words.insert(words.end(), given.files.begin(), given.files.end());
  words.insert(words.end(), machine.begin(), machine.end());
  words.insert(words.end(), {"-o", *given.output});
  return command_of("import", words);
}

// A cluster that is there, or one that is assumed.
void require_one_machine(const Given& given) {
  const bool is_assumed = given.device.has_value();
  if (given.cluster && is_assumed) {
    bad_option("--device", "--cluster is given, and says which devices there are",
               "keep one of them");
  }
  for (const auto& [option, value] :
       {std::pair{"--gpus", given.gpus}, std::pair{"--gpus-per-node", given.gpus_per_node},
        std::pair{"--network", given.network}}) {
    if (!value || is_assumed) continue;
    bad_option(option, "it is about the cluster that is assumed of a GPU",
               given.cluster ? "leave it out: --cluster says it"
                             : fmt::format("name the GPU, too: --device {} {} {}",
                                           machine_measured(given.files)[1], option, *value));
  }
  if (!given.output || given.cluster || is_assumed) return;
  bad_option("-o", "there is no cluster to put it into",
             fmt::format("name the GPU, and the cluster that is assumed takes what was measured: "
                         "{}; or a cluster file that is there: --cluster FILE",
                         command_from(given, machine_measured(given.files))));
}

// An option of one tool says nothing of another's files.
void require_fitting(const Given& given) {
  const auto refuse = [&](bool is_given, const char* option, const char* tool) {
    if (!is_given || given.from == tool) return;
    bad_option(option, fmt::format("it is for {}, not for {}", tool, given.from), "leave it out");
  };
  refuse(given.level.has_value(), "--level", "nccl-tests");
  refuse(given.use_sendrecv, "--use-sendrecv", "nccl-tests");
  refuse(given.test.has_value(), "--test", "nvbandwidth");
  refuse(given.region.has_value(), "--region", "skypilot");
  refuse(given.spot, "--spot", "skypilot");
  refuse(!given.matches.empty(), "--match", "skypilot");
  require_one_machine(given);
  for (const auto& [option, value] :
       {std::pair{"--level", given.level}, std::pair{"--test", given.test},
        std::pair{"--region", given.region}, std::pair{"--date", given.date}}) {
    if (value && value->empty()) bad_option(option, "it is empty", "leave it out, or name one");
  }
}

// Of the assumed cluster: those that were asked for, or as many as took part in the measurement.
std::optional<std::string> gpus_measured(const Given& given) {
  if (given.gpus || given.from != "nccl-tests") return given.gpus;
  int most = 0;
  for (const std::string& file : given.files) {
    most = std::max(most, gpus_for(read_nccl_test(load_text(file, kOutputs), file), *given.device));
  }
  return std::to_string(most);
}

Json json_of(const Given& given, Imported imported) {
  Json json = answer_json("import");
  json.set("tool", given.from);
  json.set("files", std::move(imported.json));
  if (imported.changes) set_changes(json, *imported.changes);
  return json;
}

}  // namespace

Answer run_import(const Arguments& arguments, Screen screen) {
  Given given;
  Options options("import TOOL FILE... [--cluster FILE | --device NAME --gpus N] [-o FILE]",
                  "Reads measurements of other tools and cloud prices, prints them, and puts them "
                  "into a cluster file with their source: curves of collectives (nccl-tests), "
                  "bandwidths inside a node "
                  "(nvbandwidth), prices (skypilot). Exit code 1 when nothing of it has a place in "
                  "the cluster. For logs of trainers use penstock validate.",
                  kExamples);
  declare(options, given);
  options.remark({"from", "source", "tool", "kind", "type"},
                 "the tool is the first word: penstock import nccl-tests all_reduce.txt");
  options.remark({"provider", "cloud", "vendor", "platform", "catalog", "zone"},
                 "no cloud is asked, prices are read from a file: penstock import skypilot vms.csv "
                 "--region us-east-1 --cluster cluster.json -o priced.json, where vms.csv is "
                 "SkyPilot's catalog (docs/importing.md)");
  options.remark({"price", "prices", "usd", "usd-per-gpu-hour", "cost", "price-per-hour"},
                 "prices are read from a catalog: penstock import skypilot vms.csv --cluster "
                 "cluster.json -o new.json; one of your own is told to a plan: penstock plan "
                 "config.json --cluster cluster.json --global-batch 512 --usd-per-gpu-hour {USD}");
  options.remark({"bandwidth", "latency", "gbps", "speed", "alpha", "beta"},
                 "what a tool measured is imported; a figure of a datasheet is written into the "
                 "cluster file, under \"links\" (bandwidth_bytes_per_s: 400 Gbit/s are "
                 "50000000000)");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  const Tool& tool = tool_named(given.from);
  require_fitting(given);
  std::optional<Loaded<ClusterSpec>> cluster;
  if (given.cluster) cluster = load_cluster(*given.cluster);
  if (given.device) {
    cluster = {
        assumed_machine(*given.device, gpus_measured(given), {given.gpus_per_node, given.network}),
        {}};
  }
  Imported imported = tool.import(given, cluster ? &cluster->value : nullptr, screen);
  const bool is_changed = imported.changes && !imported.changes->changes.empty();
  const int exit = imported.changes && !is_changed ? kNo : kYes;
  std::string file;
  if (is_changed && given.output) file = to_text(write_cluster(imported.changes->cluster)) + '\n';
  if (is_changed && given.output && *given.output != "-") write_output(*given.output, file);
  if (is_changed && given.output && *given.output == "-") return {file};
  if (given.json) return json_answer(json_of(given, std::move(imported)), exit);
  std::string text = imported.text;
  if (imported.changes) text += '\n' + changes_report(*imported.changes, screen);
  if (!imported.changes) {
    text +=
        "\nonly printed; --device NAME -o FILE or --cluster FILE -o FILE writes a cluster with "
        "it\n";
  }
  if (exit == kNo) text += "nothing of this has a place in the cluster; nothing was written\n";
  if (is_changed && !given.output) text += "nothing was written; -o FILE writes the cluster\n";
  if (is_changed && given.output) text += fmt::format("{} holds the cluster\n", *given.output);
  return report_answer(text, exit);
}

}  // namespace penstock
