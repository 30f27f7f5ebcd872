// `penstock estimate` writes the profile that `plan` would make of a config.json, or, with --fit,
// fits the efficiencies to published runs. Every number in what it writes is marked as estimated.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/io/files.h"
#include "cli/io/write_output.h"
#include "cli/options/model_input.h"
#include "cli/options/options.h"
#include "cli/options/table_format.h"
#include "cli/reports/published_runs.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_called.h"
#include "cli/words/parse.h"
#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "estimator/count_operations.h"
#include "estimator/default_cluster.h"
#include "estimator/fit_efficiency.h"
#include "estimator/shipped_data.h"
#include "report/flat_table.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock estimate config.json --device h100-sxm
  penstock estimate config.json --device a100-80gb --gpus 16 -o profile.json --cluster-out c.json
  penstock estimate config.json --device my-device.json --sequence-length 4096 --precision fp16
  penstock estimate data/efficiency/cases.json --fit -o fitted.json
)";

struct Given {
  std::string file;
  std::optional<std::string> device, gpus_per_node, network, gpus, sequence_length, precision,
      attention, gradients, output, cluster_output;
  TableFormatOptions format;
  bool fit = false;
};

// How often a section of this type stands in the model.
std::int64_t times_of(const ModelProfile& profile, std::size_t type) {
  return std::count_if(profile.sections.begin(), profile.sections.end(),
                       [&](const Section& each) { return each.type == static_cast<int>(type); });
}

TextTable sections_table(const EstimatedModel& estimated) {
  TextTable table({left_column("section"), right_column("times"), right_column("parameters"),
                   right_column("forward"), right_column("backward"),
                   right_column("activations GiB")});
  const ModelProfile& profile = estimated.estimate.profile;
  for (std::size_t type = 0; type < profile.section_types.size(); ++type) {
    const SectionType& section = profile.section_types[type];
    const Measurement& first = section.measurements.front();
    table.add({section.name, std::to_string(times_of(profile, type)),
               with_commas(section.parameters.front().count), aligned(first.forward.median),
               aligned(first.fused_backward->median),
               fixed(static_cast<double>(first.stash.count) / (1 << 30), 2)});
  }
  return table;
}

// The same in exact values.
std::vector<Json> section_rows(const EstimatedModel& estimated) {
  const ModelProfile& profile = estimated.estimate.profile;
  std::vector<Json> rows;
  rows.reserve(profile.section_types.size());
  for (std::size_t type = 0; type < profile.section_types.size(); ++type) {
    const SectionType& section = profile.section_types[type];
    const Measurement& first = section.measurements.front();
    rows.push_back(Json::object()
                       .set("section", section.name)
                       .set("times", times_of(profile, type))
                       .set("parameters", section.parameters.front().count)
                       .set("forward_ns", std::int64_t{first.forward.median.count()})
                       .set("backward_ns", std::int64_t{first.fused_backward->median.count()})
                       .set("stash_bytes", first.stash.count));
  }
  return rows;
}

std::string text_of(const EstimatedModel& estimated, Screen screen) {
  const Architecture& model = estimated.model;
  std::string out = wrapped(model.name + " " + headline_of(estimated), screen.width(), "", "  ");
  std::string parameters = with_commas(parameters_of(estimated)) + " parameters";
  if (model.experts) {
    parameters += ", of which a token meets " + with_commas(active_parameter_count(model));
  }
  out += fmt::format("{}; one sample of {} tokens on one device:\n\n{}", parameters,
                     with_commas(estimated.request.sequence_length),
                     sections_table(estimated).text(screen.width()));
  out += '\n';
  out += wrapped(notes_of(estimated), screen.width(), "- ", "  ");
  return out;
}

std::string next_step(const Given& given) {
  std::string out;
  if (given.output && *given.output != "-") {
    out += fmt::format("\n{} holds the profile: every time in it is marked as estimated\n",
                       *given.output);
  }
  if (given.cluster_output) out += fmt::format("{} holds the cluster\n", *given.cluster_output);
  return out;
}

// GPUs count for the cluster alone, which whoever names them may want a plan for.
std::string remarks_on(const Given& given) {
  std::string device = given.device ? remark_of_device(*given.device) : "";
  if (!given.gpus || given.cluster_output) return device;
  Arguments words{given.file, "--gpus", *given.gpus};
  if (given.device) words.insert(words.begin() + 1, {"--device", *given.device});
  return device + fmt::format(
                      "note: --gpus {} is not used: an estimate is of one device; {} looks for the "
                      "best layout\n",
                      *given.gpus, whole_command("plan", words));
}

// Sections are of one device, and none of them is a link.
void refuse_unused_network(const Given& given) {
  if (!given.network || given.cluster_output) return;
  bad_option("--network", "it is about the cluster, and none is written",
             "add --cluster-out cluster.json; penstock plan takes --network as well");
}

Answer estimate(const Given& given, Screen screen) {
  refuse_unused_network(given);
  const Loaded<Json> config = load_json(given.file);
  if (format_of(config.value).starts_with("penstock.profile/")) {
    throw_bad_input(
        fmt::format("{0}: this is a profile, and has its times already\nhelp: plan with "
                    "it: penstock plan {0} --cluster cluster.json --gpus 64 "
                    "--global-batch 512",
                    given.file));
  }
  if (!is_model_config(config.value)) {
    throw_bad_input(given.file +
                    ": not the config.json of a model (no model_type, no sizes)\nhelp: give "
                    "the config.json that lies beside a model's weights");
  }
  EstimateSettings settings;
  settings.device = given.device;
  settings.gpus_per_node = given.gpus_per_node;
  settings.network = given.network;
  settings.precision = given.precision;
  settings.attention = given.attention;
  settings.gradients = given.gradients;
  settings.sequence_length = given.sequence_length;
  settings.gpus = given.gpus ? parse_int("--gpus", *given.gpus, 1, 1'000'000) : 8;
  const EstimatedModel estimated = estimate_model(config, settings);
  const std::string profile = to_text(write_profile(estimated.estimate.profile)) + '\n';
  if (given.output && *given.output != "-") write_output(*given.output, profile);
  if (given.cluster_output) {
    const ClusterSpec cluster = default_cluster(estimated.device, settings.gpus);
    write_output(*given.cluster_output, to_text(write_cluster(cluster)) + '\n');
  }
  if (given.output && *given.output == "-") return {profile};
  const TableFormat format = given.format.chosen();
  if (format == TableFormat::kCsv) return {flat_table(section_rows(estimated)).csv()};
  if (format == TableFormat::kMarkdown) return {sections_table(estimated).markdown()};
  if (format == TableFormat::kJson) {
    Json json = answer_json("estimate");
    json.set("model", estimated.model.name).set("estimated", to_json(estimated));
    return json_answer(json);
  }
  Answer answer = report_answer(text_of(estimated, screen) + next_step(given));
  answer.remark = remarks_on(given);
  return answer;
}

EfficiencyCase read_case(JsonReader object) {
  EfficiencyCase one;
  const std::string profile = object.at("profile").string();
  one.name = std::filesystem::path(profile).stem().string();
  one.profile = load_profile(profile).value;
  const Loaded<Json> config = load_json(object.at("config").string());
  one.model = read_architecture(config.value, config.file.path);
  const JsonReader arithmetic = object.at("arithmetic");
  if (const auto named = arithmetic_named(arithmetic.string())) {
    one.arithmetic = *named;
  } else {
    arithmetic.expected("\"bfloat16\", \"float16\", \"tensorfloat32\" or \"float32\"");
  }
  const JsonReader attention = object.at("attention");
  if (attention.string() != "kept" && attention.string() != "fused") {
    attention.expected("\"kept\" or \"fused\"");
  }
  one.attention = attention.string() == "kept" ? AttentionKind::kKept : AttentionKind::kFused;
  one.in_fit = !object.get("left_out_because");
  object.finish();
  return one;
}

struct FittedTo {
  std::vector<EfficiencyCase> cases;
  std::vector<PublishedRun> runs;
};

FittedTo read_cases(const std::string& path) {
  const Loaded<Json> json = load_json(path);
  JsonReader reader(json.value, path);
  const JsonReader format = reader.at("format");
  if (format.string() != "penstock.efficiency-cases/1") {
    format.expected("\"penstock.efficiency-cases/1\"");
  }
  FittedTo fitted;
  for (JsonReader& element : reader.at("cases").elements()) {
    fitted.cases.push_back(read_case(element));
  }
  if (const auto runs = reader.get("runs")) fitted.runs = read_published_runs(*runs);
  reader.finish();
  return fitted;
}

std::string curves_table(const Efficiency& efficiency, Screen screen) {
  TextTable table({left_column("generation"), left_column("width"), right_column("of peak"),
                   right_column("of memory"), right_column("of link"), right_column("floor F"),
                   right_column("floor B"), right_column("shorter by"), right_column("longer by")});
  for (const EfficiencyCurve& curve : efficiency.curves) {
    const EfficiencyTerms& terms = curve.terms;
    table.add({curve.generation, curve.width, percent(terms.products), percent(terms.memory),
               percent(terms.link), aligned(round_up_to_ns(terms.forward_floor_s)),
               aligned(round_up_to_ns(terms.backward_floor_s)), percent(curve.error.below),
               percent(curve.error.above)});
  }
  return table.text(screen.width());
}

std::string left_out_table(const Efficiency& efficiency, Screen screen) {
  TextTable table({left_column("left out"), right_column("passes"), right_column("median"),
                   right_column("nine of ten"), right_column("largest"),
                   right_column("measured/estimated - 1"), left_column("in fit")});
  for (const LeftOut& left : efficiency.left_out) {
    table.add({left.what, std::to_string(left.passes), percent(left.median),
               percent(left.nine_of_ten), percent(left.largest),
               fmt::format("{:+.1f} %", 100.0 * left.bias), left.in_fit ? "yes" : "no"});
  }
  return table.text(screen.width());
}

// What this fit has no cases of is fitted by tests/accuracy/float8_and_experts.py, and stays.
void keep_float8_and_experts(Efficiency& efficiency) {
  const Efficiency shipped = shipped_efficiency();
  for (const EfficiencyCurve& known : shipped.curves) {
    for (EfficiencyCurve& curve : efficiency.curves) {
      if (curve.generation != known.generation || curve.width != known.width) continue;
      curve.terms.experts = known.terms.experts;
      curve.terms.routing_s = known.terms.routing_s;
    }
    if (known.width != "float8") continue;
    // Of an 8-bit curve only the share of products counts; all else is its generation's in 16 bits.
    EfficiencyCurve kept = known;
    const auto is_wide = [&](const EfficiencyCurve& curve) {
      return curve.generation == known.generation && curve.width == "half";
    };
    const auto wide = std::find_if(efficiency.curves.begin(), efficiency.curves.end(), is_wide);
    if (wide != efficiency.curves.end()) {
      kept.terms = wide->terms;
      kept.terms.products = known.terms.products;
    }
    efficiency.curves.push_back(kept);
  }
}

Answer fit(const Given& given, Screen screen) {
  const FittedTo fitted = read_cases(given.file);
  std::string names;
  for (const EfficiencyCase& one : fitted.cases) {
    if (one.in_fit) names += (names.empty() ? "" : ", ") + one.name;
  }
  Efficiency efficiency = fit_efficiency(fitted.cases, shipped_devices());
  fit_published_runs(fitted.runs, efficiency);
  keep_float8_and_experts(efficiency);
  efficiency.text =
      "fitted on " + names + " and " +
      count_of(std::ranges::count_if(fitted.runs, &PublishedRun::in_fit), "published run") +
      " by: penstock estimate " + given.file + " --fit";
  const std::string file = to_text(write_efficiency(efficiency)) + '\n';
  if (given.output && *given.output != "-") write_output(*given.output, file);
  const bool json = given.format.chosen() == TableFormat::kJson;
  if (json || (given.output && *given.output == "-")) return {file};
  std::string text = fmt::format(
      "Shares of the datasheet's rates, {}\n\n{}\n"
      "Passes over a whole model, and steps, by a fit that has not seen them:\n\n{}",
      efficiency.text, curves_table(efficiency, screen), left_out_table(efficiency, screen));
  if (!fitted.runs.empty()) {
    text += "\nPublished steps, by the fit to all of them:\n\n" +
            published_runs_table(fitted.runs, efficiency, screen);
  }
  return report_answer(text);
}

}  // namespace

Answer run_estimate(const Arguments& arguments, Screen screen) {
  Given given;
  Options options("estimate CONFIG --device NAME [OPTIONS]",
                  "Estimates a model's sections from its config.json and a device's datasheet, "
                  "and writes them as a profile in which every time is marked as estimated. "
                  "`plan` and `compare` do the same when they are given a config.json. No code "
                  "of the model is executed.",
                  kExamples);
  options.heading("The model and the device");
  options.positional("CONFIG", "the model's config.json, as on Hugging Face", given.file);
  options.option("--device", "NAME", "a known device, or the path of a penstock.device/1 file",
                 given.device);
  options.option("--gpus-per-node", "N",
                 "GPUs of a node, up to which TP is estimated; default: the datasheet's",
                 given.gpus_per_node);
  options.option("--network", "RATE",
                 "for --cluster-out: what one GPU has of the network between nodes in each "
                 "direction (200Gb/s, 25GB/s), or all GPUs of a node (800Gb/s/node); default: the "
                 "datasheet's",
                 given.network);
  options.option("--gpus", "N", "number of GPUs; default 8", given.gpus);
  options.option("--sequence-length", "S", "tokens per sample; default: the model's, at most 8192",
                 given.sequence_length);
  options.option("--precision", "NAME", "bfloat16 (default), float16, tensorfloat32 or float32",
                 given.precision);
  options.option("--attention", "NAME",
                 "the attention kernel: flash1 (default for MPT), flash2, flash3, cudnn (default "
                 "on Hopper and newer) or eager, which keeps the scores in memory",
                 given.attention);
  options.choices(attention_names());
  options.option("--gradients", "NAME",
                 "for a model in 16 bits: the type in which gradients are accumulated, float32 "
                 "(default) or bfloat16",
                 given.gradients);
  options.choices(gradient_names());
  options.heading("What to write");
  options.option("-o,--output", "FILE", "write the profile (- for stdout)", given.output);
  options.option("--cluster-out", "FILE", "write the assumed cluster", given.cluster_output);
  given.format.declare(options, "one row per section");
  options.heading("Fitting");
  options.flag(
      "--fit",
      "CONFIG lists measured profiles (data/efficiency/cases.json): fit the shares of the "
      "datasheets' rates that they reached, and print the errors of fits that have not seen a "
      "profile",
      given.fit);
  options.remark(
      {"mbs", "micro-batch-size", "micro-batch", "micro-batch-sizes", "batch-size", "b"},
      "leave it out: an estimate has several sizes of micro-batches, of which a plan chooses one "
      "(plan --pin mbs=N)");
  options.remark({"cluster", "cluster-file"},
                 "sections are estimated for one device, --device NAME, and --cluster-out FILE "
                 "writes the nodes that are assumed; a cluster is planned for: penstock plan "
                 "config.json --cluster FILE --global-batch 512");
  options.remark({"tp", "tensor-parallel", "tensor-parallel-size", "tensor-model-parallel-size"},
                 "leave it out: the profile has the times of every TP within a node");
  options.remark(
      {"memory", "mem", "vram", "memory-limit", "gpu-memory", "show-memory"},
      "what every rank of a layout holds is printed by penstock predict config.json "
      "--device h100-sxm --layout \"TP=4 PP=4 DP=2 mbs=1 gbs=64\"; penstock plan finds what fits");
  options.remark(
      {"pp", "dp", "pipeline-parallel-size", "pipeline-model-parallel-size"},
      "an estimate is of one sample's sections on one device; a layout is predicted by "
      "penstock predict config.json --device h100-sxm --layout \"TP=4 PP=4 DP=2 mbs=1 gbs=64\"");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  given.format.refuse_with_table(given.fit, "--fit");
  return given.fit ? fit(given, screen) : estimate(given, screen);
}

}  // namespace penstock
