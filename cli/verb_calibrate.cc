#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/executor_options.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "core/format.h"
#include "core/json_reader.h"
#include "report/calibration_report.h"
#include "report/result_json.h"
#include "report/words.h"
#include "search/calibrate.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock calibrate --runs runs.json --executor deepspeed
  penstock calibrate --runs runs.json --executor sender-blocks -o calibrated.json
  penstock plan profile.json --cluster calibrated.json --global-batch 512
)";

// What a runs file names lies relative to it.
std::string beside(const std::string& runs, const std::string& path) {
  return (std::filesystem::path(runs).parent_path() / path).lexically_normal().string();
}

struct Inputs {
  Loaded<MeasuredRuns> runs;
  Loaded<ModelProfile> profile;
  Loaded<ClusterSpec> cluster;
};

Inputs load_inputs(const std::string& path) {
  Inputs inputs;
  const Loaded<Json> json = load_json(path);
  inputs.runs = {read_runs(json.value, path), json.file};
  inputs.profile = load_profile(beside(path, inputs.runs.value.profile));
  inputs.cluster = load_cluster(beside(path, inputs.runs.value.cluster));
  return inputs;
}

std::string heading(const Inputs& inputs, const ExecutorModel& executor) {
  const MeasuredRuns& runs = inputs.runs.value;
  return wrapped(
      fmt::format("{}: {} of {} on {}; executor {}", runs.name,
                  count_of(static_cast<std::int64_t>(runs.runs.size()), "run"),
                  inputs.profile.value.name, inputs.cluster.value.name, words_of(executor)),
      100, "", "  ");
}

Json json_of(const Inputs& inputs, const ExecutorModel& executor, const CalibrationResult& result) {
  const auto input = [](const InputFile& file) {
    return Json::object().set("path", file.path).set("hash", file.hash);
  };
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("verb", "calibrate");
  json.set("tool_version", std::string(version()));
  json.set("inputs", Json::object()
                         .set("runs", input(inputs.runs.file))
                         .set("profile", input(inputs.profile.file))
                         .set("cluster", input(inputs.cluster.file)));
  json.set("executor", words_of(executor));
  set_calibration(json, result);
  return json;
}

}  // namespace

Answer run_calibrate(const Arguments& arguments) {
  std::optional<std::string> path, output;
  bool json = false;
  ExecutorOptions executor;
  Options options(
      "calibrate --runs FILE [OPTIONS]",
      "Fits what a replay of prices lacks to measured runs: a factor for compute and one "
      "for small kernels, a cost per action, per transfer and per step; none negative, "
      "and only those that the runs can tell apart. Prints how far every run is off, "
      "also when it is left out of the fit. Transfers behave as --executor says; that "
      "is a choice, not fitted.",
      kExamples);
  options.heading("Options");
  options.option("--runs", "FILE",
                 "measured runs (penstock.runs/1), with their profile and cluster", path);
  options.option("-o,--output", "FILE",
                 "write the cluster with what was fitted (- for stdout, instead of the report): "
                 "plans made on it use it, and their intervals carry its error",
                 output);
  options.flag("--json", "the result as one JSON object", json);
  executor.declare(options);
  if (auto help = options.parse(arguments)) return {*help};

  const std::string& runs = required(path, "--runs", "--runs runs.json");
  Inputs inputs = load_inputs(runs);
  const ExecutorModel model = executor.model();
  const CalibrationResult result =
      calibrate(inputs.profile.value, inputs.cluster.value, inputs.runs.value, model, runs);
  inputs.cluster.value.calibration = result.calibration;
  const std::string file = to_text(write_cluster(inputs.cluster.value)) + '\n';
  if (output && *output == "-") return {file};
  if (output) write_file(*output, file);
  if (json) return {to_text(json_of(inputs, model, result)) + '\n'};
  std::string text = heading(inputs, model) + '\n' + calibration_report(result);
  if (output) {
    text += fmt::format("\n{} holds the cluster with this; next: penstock plan --cluster {}\n",
                        *output, *output);
  }
  return report_answer(text);
}

}  // namespace penstock
