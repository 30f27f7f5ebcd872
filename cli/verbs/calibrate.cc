// `penstock calibrate`: files that a runs file names lie relative to it. A model is read once per
// path, and a config.json is estimated once per sequence length and device, since its times depend
// on both. The fitted terms are written into a copy of the cluster file, which plans then use.
#include "search/calibrate.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/write_output.h"
#include "cli/options/executor_options.h"
#include "cli/options/model_input.h"
#include "cli/options/options.h"
#include "cli/verbs/verbs.h"
#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "report/calibration_report.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/words.h"
#include "trainers/trainer_table.h"

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
  Loaded<ClusterSpec> cluster;
  // By path, and of a config.json, which is estimated, by sequence length and device as well.
  std::map<std::tuple<std::string, int, std::string>, Loaded<ModelProfile>> models;
  std::vector<const ModelProfile*> profiles;  // of every run
};

Loaded<ModelProfile> load_model(const std::string& path, const Plan& plan,
                                const ClusterSpec& cluster) {
  const Loaded<Json> json = load_json(path);
  if (!is_model_config(json.value)) return {read_profile(json.value, path), json.file};
  EstimateSettings settings;
  settings.device = plan.device;
  settings.cluster = &cluster;
  settings.gpus = device_count(cluster);
  if (plan.sequence_length > 0) settings.sequence_length = std::to_string(plan.sequence_length);
  return {estimate_model(json, settings).estimate.profile, json.file};
}

Inputs load_inputs(const std::string& path) {
  Inputs inputs;
  const Loaded<Json> json = load_runs(path);
  inputs.runs = {read_runs(json.value, path), json.file};
  const MeasuredRuns& runs = inputs.runs.value;
  inputs.cluster = load_cluster(beside(path, runs.cluster));
  for (const MeasuredRun& run : runs.runs) {
    const std::string file = beside(path, run.profile.empty() ? runs.profile : run.profile);
    const std::tuple key{file, run.plan.sequence_length, run.plan.device};
    auto known = inputs.models.find(key);
    if (known == inputs.models.end()) {
      known = inputs.models.emplace(key, load_model(file, run.plan, inputs.cluster.value)).first;
    }
    inputs.profiles.push_back(&known->second.value);
  }
  return inputs;
}

// "OPT-350M, GPT-Neo-2.7B"
std::string models_of(const Inputs& inputs) {
  std::vector<std::string> names;
  for (const ModelProfile* profile : inputs.profiles) {
    if (std::find(names.begin(), names.end(), profile->name) == names.end()) {
      names.push_back(profile->name);
    }
  }
  return joined(names, ", ");
}

std::string heading(const Inputs& inputs, const ExecutorModel& executor, Screen screen) {
  const MeasuredRuns& runs = inputs.runs.value;
  return wrapped(fmt::format("{}: {} of {} on {}; executor {}", runs.name,
                             count_of(std::ssize(runs.runs), "run"), models_of(inputs),
                             inputs.cluster.value.name, words_of(executor)),
                 screen.width(), "", "  ");
}

Json json_of(const Inputs& inputs, const ExecutorModel& executor, const CalibrationResult& result) {
  const auto input = [](const InputFile& file) {
    return Json::object().set("path", file.path).set("hash", file.hash);
  };
  Json json = answer_json("calibrate");
  json.set("tool_version", std::string(version()));
  Json files = Json::object();
  files.set("runs", input(inputs.runs.file));
  std::vector<std::string> named;
  for (const auto& [key, model] : inputs.models) {
    const bool known = std::find(named.begin(), named.end(), model.file.path) != named.end();
    if (known) continue;
    // One: as ever. More: numbered.
    const std::string suffix = named.empty() ? "" : fmt::format("_{}", named.size() + 1);
    files.set("profile" + suffix, input(model.file));
    named.push_back(model.file.path);
  }
  files.set("cluster", input(inputs.cluster.file));
  json.set("inputs", std::move(files));
  json.set("executor", words_of(executor));
  set_calibration(json, result);
  return json;
}

}  // namespace

Answer run_calibrate(const Arguments& arguments, Screen screen) {
  std::optional<std::string> path, output;
  bool json = false;
  ExecutorOptions executor;
  std::optional<std::string> trainer;
  Options options(
      "calibrate --runs FILE [OPTIONS]",
      "Fits correction terms to measured runs of one model or several, so that predictions agree "
      "with them: a factor for compute and, where the runs can tell them apart, a factor for "
      "small kernels and costs per action, per transfer and per step. No term is negative, and "
      "each stays within its physically likely range. Measured peaks of memory give bytes per "
      "parameter, activations and the reserve. Prints the error of every run, also when the run "
      "is left out of the fit, and the uncertainty of every term, which determines the intervals "
      "of predictions. --executor or --for chooses how transfers behave; that is not fitted.",
      kExamples);
  options.heading("Options");
  options.option(
      "--runs", "FILE",
      "measured runs (penstock.runs/1); the file names their profile or config.json, and the "
      "cluster",
      path);
  options.option("-o,--output", "FILE",
                 "write the cluster file with the fitted terms (- for stdout, instead of the "
                 "report); plans that are made with it use them",
                 output);
  options.option("--for", "TRAINER",
                 "the executor of the trainer that ran them: penstock, pytorch, torchtitan, "
                 "megatron or deepspeed",
                 trainer);
  options.choices(trainer_names());
  options.flag("--json", "the result as one JSON object", json);
  executor.declare(options);
  options.remark({"plan", "log", "train-log", "run-log", "logs"},
                 "penstock validate plan.json train.log --add-to runs.json collects measured runs; "
                 "then penstock calibrate --runs runs.json");
  options.remark(
      {"measured", "measure", "step-time", "time"},
      "a step that you measured is given where a plan is asked for: penstock plan ... "
      "--measured \"TP=4 PP=4 mbs=1 gbs=128: 14.66s\"; several runs make a file: penstock "
      "validate plan.json train.log --add-to runs.json");
  options.remark({"device", "gpus", "cluster", "model", "profile", "config"},
                 "leave it out: the runs file names model and cluster (docs/file_formats.md)");
  options.remark(
      {"add-to", "add", "append"},
      "penstock validate plan.json train.log --add-to runs.json adds a run; then penstock "
      "calibrate --runs runs.json");
  TypedCommand command;
  options.keep_command(command);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  const std::string& runs = required(path, "--runs", command);
  Inputs inputs = load_inputs(runs);
  const ExecutorModel model =
      executor.with_terms(executor_asked(executor, trainer).value_or(ExecutorModel()));
  const CalibrationResult result =
      calibrate(inputs.profiles, inputs.cluster.value, inputs.runs.value, model, runs);
  inputs.cluster.value.calibration = result.calibration;
  const std::string file = to_text(write_cluster(inputs.cluster.value)) + '\n';
  if (output && *output == "-") return {file};
  if (output) write_output(*output, file);
  if (json) return json_answer(json_of(inputs, model, result));
  std::string text = heading(inputs, model, screen) + '\n' + calibration_report(result, screen);
  if (output) {
    text += fmt::format("\n{} holds the cluster with this; next: penstock plan --cluster {}\n",
                        *output, *output);
  }
  return report_answer(text);
}

}  // namespace penstock
