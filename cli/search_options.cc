#include "cli/search_options.h"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>

#include "cli/change_cluster.h"
#include "cli/change_terms.h"
#include "cli/measured_runs.h"
#include "cli/nearest.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "core/format.h"
#include "costmodel/calibrated_profile.h"
#include "costmodel/price_stages.h"
#include "estimator/default_cluster.h"
#include "report/words.h"
#include "search/calibrate.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

std::string check_schedule(const std::string& option, const std::string& name) {
  if (find_schedule(name) == nullptr) {
    bad_option(option, fmt::format("unknown schedule '{}'", name),
               did_you_mean(name, schedule_names()));
  }
  return name;
}

std::string check_device(const ClusterSpec& cluster, const std::string& option,
                         const std::string& name) {
  std::vector<std::string> known;
  for (const DeviceType& type : cluster.device_types) {
    if (type.name == name) return name;
    known.push_back(type.name);
  }
  bad_option(option, fmt::format("the cluster has no device '{}'", name),
             did_you_mean(name, known));
}

constexpr std::string_view kAsNeeded = "as-needed";

std::string check_recompute(const ModelProfile& profile, const std::string& option,
                            const std::string& name) {
  std::vector<std::string> known;
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& measurement : type.measurements) {
      if (measurement.recompute == name) return name;
      known.push_back(measurement.recompute);
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  bad_option(option, fmt::format("the profile has no recompute mode '{}'", name),
             did_you_mean(name, known));
}

// "full": in all sections; "full:as-needed": in as few sections of every stage as fit.
void set_recompute(const ModelProfile& profile, const std::string& option, const std::string& value,
                   Pins& pins) {
  const std::size_t colon = value.rfind(':');
  const bool has_part = colon != std::string::npos;
  const std::string mode = check_recompute(profile, option, value.substr(0, colon));
  const std::string part = has_part ? value.substr(colon + 1) : "";
  if (has_part && part != kAsNeeded) {
    bad_option(option, fmt::format("unknown '{}' behind the mode", part),
               fmt::format("write {} or {}:{}", mode, mode, kAsNeeded));
  }
  if (has_part && mode == "none") {
    bad_option(option, fmt::format("'{}' recomputes nothing", value), "name another mode");
  }
  pins.recompute = mode;
  pins.recompute_as_needed = has_part;
}

Placement parse_placement(const std::string& option, const std::string& text) {
  if (text == "pipeline-inner") return Placement::kPipelineInner;
  if (text == "data-inner") return Placement::kDataInner;
  bad_option(option, fmt::format("unknown '{}'", text),
             "pipeline-inner (stages of one replica side by side) or data-inner (replicas of one "
             "stage side by side)");
}

Trainer parse_trainer(const std::string& name) {
  if (const auto trainer = trainer_named(name)) return *trainer;
  bad_option("--for", fmt::format("unknown trainer '{}'", name),
             did_you_mean(name, trainer_names()));
}

std::optional<int>* pinned_degree(Pins& pins, const std::string& key) {
  if (key == "P") return &pins.pipeline;
  if (key == "V") return &pins.chunks;
  if (key == "D") return &pins.data;
  if (key == "T") return &pins.tensor;
  if (key == "b") return &pins.micro_batch_size;
  return nullptr;
}

void set_pins(Question& question, const SearchOptions& options) {
  for (const std::string& text : options.pins) {
    for (const auto& [key, value] : parse_key_values("--pin", text)) {
      std::optional<int>* pin = pinned_degree(question.request.pins, key);
      if (pin == nullptr) {
        bad_option("--pin", fmt::format("unknown key '{}'", key),
                   key == "M" ? "M follows from the global batch, D and b; pin those"
                              : "P, T, V, D or b; other choices have options of their own");
      }
      if (pin->has_value()) {
        bad_option("--pin", fmt::format("{} is given twice", key), "keep one of them");
      }
      *pin = parse_int("--pin " + key, value, 1);
    }
  }
  Pins& pins = question.request.pins;
  for (const std::string& list : options.schedules) {
    for (const std::string& name : parse_list("--schedule", list)) {
      pins.schedules.push_back(check_schedule("--schedule", name));
    }
  }
  if (options.recompute) set(question, "--recompute", "recompute", *options.recompute);
  if (options.zero1) set(question, "--zero1", "zero1", *options.zero1);
  if (options.device && !question.estimated) {
    set(question, "--device", "device", *options.device);
  }
  if (options.placement) set(question, "--placement", "placement", *options.placement);
  if (!options.trainer) return;
  question.request.trainer = parse_trainer(*options.trainer);
  for (const std::string& name : pins.schedules) {
    const std::string why = why_not_run(*question.request.trainer, *find_schedule(name));
    if (!why.empty()) {
      bad_option("--schedule", fmt::format("{} cannot run {}: {}", *options.trainer, name, why),
                 "leave out one of --schedule and --for");
    }
  }
}

// "interleaved", or with its chunks "interleaved:2".
void set_schedule(Pins& pins, const std::string& option, const std::string& value) {
  const std::size_t colon = value.find(':');
  pins.schedules = {check_schedule(option, value.substr(0, colon))};
  if (colon != std::string::npos) pins.chunks = parse_int(option, value.substr(colon + 1), 1);
}

bool behaves_alike(const ExecutorModel& a, const ExecutorModel& b) {
  return a.transfer == b.transfer && a.queues == b.queues && a.issue == b.issue &&
         a.receive_must_be_posted == b.receive_must_be_posted && a.optimizer == b.optimizer;
}

// The sequence length and the device that runs have when they do not say it.
MeasuredDefaults measured_defaults(const Question& question) {
  MeasuredDefaults defaults;
  const auto& types = question.cluster.value.device_types;
  defaults.device = types.size() == 1 ? types.front().name : "";
  if (question.request.pins.device) defaults.device = *question.request.pins.device;
  defaults.sequence_length = question.request.sequence_length;
  if (defaults.sequence_length == 0 && !defaults.device.empty()) {
    defaults.sequence_length = default_sequence_length(question.profile.value, defaults.device);
  }
  return defaults;
}

// Takes the place of what the cluster was calibrated with before.
void use_measured(Question& question, const SearchOptions& options) {
  if (options.measured.empty()) return;
  auto& cluster = question.cluster.value;
  const ExecutorModel executor =
      executor_asked(options.executor, options.trainer).value_or(ExecutorModel());
  cluster.calibration.reset();
  const PlanInputs inputs{&question.profile.value, &cluster, executor, question.reserve};
  const MeasuredRuns runs = parse_measured(options.measured, inputs, measured_defaults(question));
  question.measured = calibrate(question.profile.value, cluster, runs, executor, kMeasured);
  cluster.calibration = question.measured->calibration;
}

// What was fitted with other transfers than those that are asked for keeps its factors of compute.
void use_calibration(Question& question, const SearchOptions& options) {
  auto& calibration = question.cluster.value.calibration;
  const std::optional<ExecutorModel> asked = executor_asked(options.executor, options.trainer);
  question.executor = asked.value_or(ExecutorModel());
  if (!calibration) return;
  if (asked && !behaves_alike(*asked, calibration->executor)) {
    calibration = with_executor(*calibration, *asked);
  }
  const Calibration fitted = for_model(*calibration, question.profile.value.name);
  question.executor = fitted.executor;
  question.profile.value = calibrated_profile(question.profile.value, fitted);
  question.cluster.value = calibrated_cluster(question.cluster.value, fitted);
}

void use_measurements(Question& question, const SearchOptions& options, const Loaded<Json>& model) {
  if (options.precision) {
    bad_option("--precision", "this profile was measured, at one precision",
               "leave it out, or give a config.json");
  }
  for (const auto& [name, value] : {std::pair{"--attention", &options.attention},
                                    std::pair{"--gradients", &options.gradients}}) {
    if (*value) {
      bad_option(name, "this profile was measured, with what it had",
                 "leave it out, or give a config.json");
    }
  }
  const std::string& cluster = required(options.cluster, "--cluster", "--cluster cluster.json");
  question.profile = {read_profile(model.value, options.profile), model.file};
  question.cluster = load_cluster(cluster);
}

void use_estimate(Question& question, const SearchOptions& options, const Loaded<Json>& config) {
  EstimateSettings settings;
  settings.device = options.device;
  settings.precision = options.precision;
  settings.attention = options.attention;
  settings.gradients = options.gradients;
  settings.sequence_length = options.sequence_length;
  if (options.cluster) {
    question.cluster = load_cluster(*options.cluster);
    settings.cluster = &question.cluster.value;
    settings.gpus = options.gpus ? question.request.gpus : device_count(question.cluster.value);
  } else {
    required(options.gpus, "--gpus", "--gpus 64, or give --cluster");
    settings.gpus = question.request.gpus;
  }
  question.estimated = estimate_model(config, settings);
  for (const std::string& device : options.also_on) {
    settings.device = device;
    add_device(*question.estimated, estimate_model(config, settings));
  }
  const EstimatedModel& estimated = *question.estimated;
  question.profile = {estimated.estimate.profile, config.file};
  question.request.sequence_length = estimated.request.sequence_length;
  question.request.pins.device = estimated.request.device;
  if (options.cluster) return;
  question.cluster.value = default_cluster(estimated.device, question.request.gpus);
  question.cluster.file = {kAssumedCluster,
                           content_hash(to_text(write_cluster(question.cluster.value)))};
}

}  // namespace

int default_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void SearchOptions::declare_model(Options& options) {
  options.heading("The question");
  options.positional("PROFILE",
                     "what was measured of the model (penstock.profile/1), or its config.json with "
                     "--device, to be estimated",
                     profile);
  options.option("--cluster", "FILE",
                 "what there is to run on (penstock.cluster/1); default of a config.json: nodes of "
                 "the device as its datasheet has them, and the network of its usual systems",
                 cluster);
}

void SearchOptions::declare_estimate(Options& options) {
  options.option("--precision", "NAME",
                 "of a config.json: bfloat16 (default), float16, tensorfloat32 or float32",
                 precision);
  options.choices({"bfloat16", "float16", "tensorfloat32", "float32"});
  options.option(
      "--attention", "NAME",
      "of a config.json: flash1 (default of MPT), flash2, flash3, cudnn (default on Hopper "
      "and newer) or eager, which keeps scores in memory",
      attention);
  options.choices(attention_names());
  options.option("--gradients", "NAME",
                 "of a config.json in 16 bits: float32 (default) or bfloat16, what gradients are "
                 "summed up in",
                 gradients);
  options.choices(gradient_names());
}

void SearchOptions::declare_measured(Options& options) {
  options.repeated("--measured", "RUN",
                   "a run that you have: configuration, colon, step time, and if known the peak of "
                   "memory: \"TP=4 PP=4 mbs=1 gb=128: 14.66s, 61.2GiB\" (predict --help has the "
                   "keys). Prices are calibrated to it before; may be repeated",
                   measured);
}

void SearchOptions::declare_inputs(Options& options) { declare_model(options); }

void SearchOptions::declare_machine(Options& options) {
  options.option("--gpus", "N", "default: as many as the layout has; says D where that does not",
                 gpus);
  declare_estimate(options);
  options.option("--device", "NAME",
                 "of a config.json the device to estimate for (h100-sxm, a100-80gb, ..., or the "
                 "path of a penstock.device/1); else the device type of the cluster",
                 device);
  options.option("--reserve-gib", "X", "memory per device that is never planned for", reserve_gib);
  declare_measured(options);
  options.option("--for", "TRAINER",
                 "with transfers as this trainer carries them out, unless --executor says "
                 "otherwise: penstock, pytorch, torchtitan, megatron or deepspeed",
                 trainer);
  options.choices(trainer_names());
  executor.declare(options);
}

void SearchOptions::declare(Options& options) {
  declare_model(options);
  options.option("--gpus", "N", "use at most this many; default: all of the cluster", gpus);
  options.option("--global-batch", "B", "samples per step", global_batch);
  options.option(
      "--sequence-length", "S",
      "tokens per sample; default: the longest measured; of a config.json the model's, at "
      "most 8192",
      sequence_length);
  declare_estimate(options);
  declare_measured(options);
  options.heading("What is fixed; everything else is searched");
  options.repeated(
      "--pin", "K=N,...",
      "P pipeline ranks, T tensor degree, V chunks per rank, D replicas, b micro-batch "
      "size; for example P=8,T=1",
      pins);
  options.repeated("--schedule", "NAME,...", "only these schedules", schedules);
  options.choices(schedule_names());
  options.option(
      "--for", "TRAINER",
      "only what this trainer can run, and with transfers as it carries them out, unless "
      "--executor says otherwise: penstock (train), pytorch, torchtitan, megatron or "
      "deepspeed",
      trainer);
  options.choices(trainer_names());
  options.option("--recompute", "MODE",
                 "only this recompute mode of the profile, in all sections; MODE:as-needed: also "
                 "in as few sections of each stage as its memory asks for",
                 recompute);
  options.option("--zero1", "on|off", "optimizer state sharded over the replicas, or not", zero1);
  options.option(
      "--device", "NAME",
      "only this device type of the cluster; of a config.json the device to estimate for "
      "(h100-sxm, a100-80gb, ..., or the path of a penstock.device/1)",
      device);
  options.option("--placement", "NAME", "pipeline-inner or data-inner", placement);
  options.choices({"pipeline-inner", "data-inner"});
  options.option("--reserve-gib", "X", "memory per device that is never planned for", reserve_gib);
  executor.declare(options);
  options.heading("The search");
  options.option("--threads", "N", "default: all of this machine; the answer does not depend on it",
                 threads);
  options.option("--budget", "TIME", "stop after this time (30s) with the best so far, exit code 4",
                 budget);
  options.flag("--every-candidate", "replay all of them, even those that a bound rules out (slow)",
               every_candidate);
}

Question question_of(const SearchOptions& options) {
  const std::string& batch = required(options.global_batch, "--global-batch", "--global-batch 512");
  Question question;
  SearchRequest& request = question.request;
  set(question, "--global-batch", "global-batch", batch);
  if (options.gpus) set(question, "--gpus", "gpus", *options.gpus);
  if (options.reserve_gib) set(question, "--reserve-gib", "reserve-gib", *options.reserve_gib);
  if (options.sequence_length) {
    request.sequence_length = parse_int("--sequence-length", *options.sequence_length, 1);
  }
  if (options.top) request.top = parse_int("--top", *options.top, 1, 1000);
  request.threads = default_threads();
  if (options.threads) request.threads = parse_int("--threads", *options.threads, 1, 1024);
  if (options.budget) question.budget = parse_time("--budget", *options.budget);
  request.bounds = !options.every_candidate;

  const Loaded<Json> model = load_json(options.profile);
  if (is_model_config(model.value)) {
    use_estimate(question, options, model);
  } else {
    use_measurements(question, options, model);
  }
  use_measured(question, options);
  use_calibration(question, options);
  const int devices = device_count(question.cluster.value);
  if (!options.gpus) request.gpus = devices;
  if (request.gpus > devices) {
    bad_option("--gpus", fmt::format("{} is more than the cluster has", request.gpus),
               fmt::format("{} has {} devices", question.cluster.value.name, devices));
  }
  set_pins(question, options);
  return question;
}

const std::vector<std::string>& settable_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all{"schedule",   "P",         "V",         "D",
                                 "T",          "b",         "recompute", "zero1",
                                 "device",     "placement", "gpus",      "global-batch",
                                 "reserve-gib"};
    all.insert(all.end(), cluster_keys().begin(), cluster_keys().end());
    return all;
  }();
  return keys;
}

bool set(Question& question, const std::string& option, const std::string& key,
         const std::string& value) {
  SearchRequest& request = question.request;
  if (std::optional<int>* pin = pinned_degree(request.pins, key)) {
    *pin = parse_int(option, value, 1);
  } else if (key == "schedule") {
    set_schedule(request.pins, option, value);
  } else if (key == "recompute") {
    set_recompute(question.profile.value, option, value, request.pins);
  } else if (key == "zero1") {
    request.pins.zero1 = parse_on_off(option, value);
  } else if (key == "device") {
    request.pins.device = check_device(question.cluster.value, option, value);
  } else if (key == "placement") {
    request.pins.placement = parse_placement(option, value);
  } else if (key == "gpus") {
    request.gpus = parse_int(option, value, 1);
  } else if (key == "global-batch") {
    request.global_batch = parse_int(option, value, 1);
  } else if (key == "reserve-gib") {
    question.reserve = parse_gib(option, value);
  } else if (!set_term(question.profile.value, option, key, value)) {
    return set(question.cluster.value, option, key, value);
  }
  return true;
}

namespace {

std::optional<std::string>* read_option(SearchOptions& options, const std::string& key) {
  if (key == "cluster") return &options.cluster;
  if (key == "precision") return &options.precision;
  if (key == "attention") return &options.attention;
  if (key == "gradients") return &options.gradients;
  if (key == "sequence-length") return &options.sequence_length;
  if (key == "executor") return &options.executor.name;
  if (key == "for") return &options.trainer;
  if (key == "gpus") return &options.gpus;
  if (key == "global-batch") return &options.global_batch;
  if (key == "device") return &options.device;
  return nullptr;
}

}  // namespace

bool set(SearchOptions& options, const std::string& key, const std::string& value) {
  if (key == "profile") {
    options.profile = value;
    return true;
  }
  std::optional<std::string>* option = read_option(options, key);
  if (option != nullptr) *option = value;
  return option != nullptr;
}

const std::vector<std::string>& readable_keys() {
  static const std::vector<std::string> keys{"profile",   "cluster",   "precision",
                                             "attention", "gradients", "sequence-length",
                                             "executor",  "for"};
  return keys;
}

std::string words_of(const Question& question) {
  const SearchRequest& request = question.request;
  std::string text =
      fmt::format("{} on {}: at most {}, global batch {}", question.profile.value.name,
                  question.cluster.value.name, count_of(request.gpus, "GPU"), request.global_batch);
  if (request.sequence_length > 0) {
    text += fmt::format(", sequence length {}", request.sequence_length);
  }
  text += ", executor " + question.executor.name;
  if (question.estimated) text += "; " + headline_of(*question.estimated);
  if (!question.measured) return text;
  for (const std::string& line : words_of(*question.measured)) text += "; " + line;
  return text;
}

std::vector<std::string> notes_of(const Question& question) {
  if (!question.estimated) return {};
  std::vector<std::string> notes = notes_of(*question.estimated);
  if (question.cluster.file.path != kAssumedCluster) return notes;
  const ClusterSpec& cluster = question.cluster.value;
  std::string text = fmt::format("assumed: {} GPUs a node, {} inside ({} GB/s per direction)",
                                 cluster.node_types.front().devices, cluster.levels.front().name,
                                 fixed(cluster.levels.front().bandwidth.value / 1e9, 0));
  if (cluster.levels.size() > 1) {
    text += fmt::format(", {} GB/s per GPU between nodes",
                        fixed(cluster.levels.back().bandwidth.value / 1e9, 1));
  }
  notes.push_back(text + "; give --cluster for yours");
  return notes;
}

std::string origin_of(const Question& question) {
  return fmt::format("penstock {}; {} {}; {} {}", version(), question.profile.file.path,
                     question.profile.file.hash, question.cluster.file.path,
                     question.cluster.file.hash);
}

void set_question(Json& json, const Question& question) {
  const auto input = [](const InputFile& file) {
    return Json::object().set("path", file.path).set("hash", file.hash);
  };
  json.set("tool_version", std::string(version()));
  json.set("model", question.profile.value.name);
  json.set("cluster", question.cluster.value.name);
  json.set("inputs", Json::object()
                         .set("profile", input(question.profile.file))
                         .set("cluster", input(question.cluster.file)));
  if (question.estimated) {
    json.set(
        "estimated",
        to_json(*question.estimated)
            .set("cluster", question.cluster.file.path == kAssumedCluster ? "assumed" : "given"));
  }
  json.set("executor", words_of(question.executor));
  json.set("gpus", question.request.gpus);
  json.set("global_batch", question.request.global_batch);
}

}  // namespace penstock
