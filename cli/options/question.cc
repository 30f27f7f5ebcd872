// Makes the question of a search from what was typed: reads or estimates the profile, reads or
// assumes the cluster, fits it to --measured runs, and looks for the executor in this order:
// --executor, --for (with what its runtime was measured to cost), the calibration, ideal. A
// question is complete then: nothing below cli/ looks at an option.
#include "cli/options/question.h"

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/device_names.h"
#include "cli/io/files.h"
#include "cli/options/assumed_machine.h"
#include "cli/options/global_batch.h"
#include "cli/options/measured_runs.h"
#include "cli/options/memory_limit.h"
#include "cli/options/model_input.h"
#include "cli/options/network_rate.h"
#include "cli/options/question_settings.h"
#include "cli/options/search_options.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_called.h"
#include "cli/words/device_facts.h"
#include "cli/words/measured_time.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "cli/words/trainer_called.h"
#include "core/files/format.h"
#include "core/values/encoder_decoder.h"
#include "core/values/error.h"
#include "costmodel/calibrated_profile.h"
#include "costmodel/price_stages.h"
#include "estimator/default_cluster.h"
#include "estimator/shipped_data.h"
#include "report/words.h"
#include "search/calibrate.h"
#include "search/in_parallel.h"

namespace penstock {
namespace {

// What is planned at once: ten times as many take minutes before the search begins. Larger clusters
// are there, but what is repeated in them is planned as one part.
constexpr int kMostGpus = 1 << 17;

bool behaves_alike(const ExecutorModel& a, const ExecutorModel& b) {
  return a.transfer == b.transfer && a.queues == b.queues && a.issue == b.issue &&
         a.receive_must_be_posted == b.receive_must_be_posted && a.optimizer == b.optimizer;
}

// The sequence length and the device that runs have when they do not say it.
MeasuredDefaults measured_defaults(const Question& question, const std::string& layout = "") {
  MeasuredDefaults defaults;
  defaults.layout = layout;
  const auto& types = question.cluster.value.device_types;
  defaults.device = types.size() == 1 ? types.front().name : "";
  if (question.request.pins.device) defaults.device = *question.request.pins.device;
  defaults.sequence_length = question.request.sequence_length;
  if (defaults.sequence_length == 0 && !defaults.device.empty()) {
    defaults.sequence_length = default_sequence_length(question.profile.value, defaults.device);
  }
  return defaults;
}

// Where the cluster is assumed, it has as many GPUs as were asked about; a run may have had more.
ClusterSpec cluster_of_runs(const Question& question, int gpus) {
  const bool is_assumed = question.cluster.file.path == kAssumedCluster;
  if (!is_assumed || gpus <= question.request.gpus || gpus > kMostGpus) {
    return question.cluster.value;
  }
  return default_cluster(question.estimated->device, gpus);
}

// Takes the place of what the cluster was calibrated with before.
void use_measured(Question& question, const SearchOptions& options) {
  if (options.measured.empty()) return;
  auto& cluster = question.cluster.value;
  const ExecutorModel executor = options.executor.with_terms(
      executor_asked(options.executor, options.trainer).value_or(ExecutorModel()));
  cluster.calibration.reset();
  const MeasuredDefaults defaults = measured_defaults(question, options.layout_asked);
  const ModelProfile& profile = question.profile.value;
  const ClusterSpec ran_on =
      cluster_of_runs(question, most_gpus_of(options.measured, profile, defaults));
  const PlanInputs inputs{&profile, &ran_on, executor, question.reserve};
  const MeasuredRuns runs = parse_measured(options.measured, inputs, defaults);
  question.measured = calibrate(profile, ran_on, runs, executor, kMeasured);
  cluster.calibration = question.measured->calibration;
}

// Measured costs of a trainer's runtime count in plans for it, where nothing else was asked for or
// fitted: what was fitted holds them.
bool counts_measured(const Question& question, const SearchOptions& options) {
  const auto& measured = question.cluster.value.measured_executor;
  if (!measured || !options.trainer || options.executor.says_transfers()) return false;
  const Trainer& trainer = parse_trainer(*options.trainer);
  const auto& calibration = question.cluster.value.calibration;
  return trainer.name == measured->trainer &&
         !(calibration && behaves_alike(trainer.executor, calibration->executor));
}

std::optional<ExecutorModel> executor_asked(Question& question, const SearchOptions& options) {
  std::optional<ExecutorModel> asked = executor_asked(options.executor, options.trainer);
  if (!counts_measured(question, options)) return asked;
  MeasuredExecutor& measured = *question.cluster.value.measured_executor;
  measured.is_priced = true;
  asked->name = measured.trainer;
  asked->per_action = measured.per_action;
  asked->per_step = measured.per_step;
  return asked;
}

// What was fitted with other transfers than those that are asked for keeps its factors of compute.
void use_calibration(Question& question, const SearchOptions& options) {
  auto& calibration = question.cluster.value.calibration;
  const std::optional<ExecutorModel> asked = executor_asked(question, options);
  question.executor = options.executor.with_terms(asked.value_or(ExecutorModel()));
  if (question.executor.optimizer == OptimizerGate::kRolledBack) {
    bad_option("--optimizer", "rolled-back is one step whose check fails, and no way to train",
               "plan with post-validation, and simulate the plan file with rolled-back");
  }
  if (!calibration) return;
  if (asked && !behaves_alike(*asked, calibration->executor)) {
    calibration = with_executor(*calibration, *asked);
  }
  const Calibration fitted = for_model(*calibration, question.profile.value.name);
  question.executor = options.executor.with_terms(fitted.executor);
  question.profile.value = calibrated_profile(question.profile.value, fitted);
  question.cluster.value = calibrated_cluster(question.cluster.value, fitted);
}

// A profile that was measured or estimated on other devices than the cluster has.
void refuse_other_devices(const Question& question, const std::string& cluster) {
  const std::vector<std::string> measured = devices_of(question.profile.value);
  std::vector<std::string> there;
  for (const DeviceType& type : question.cluster.value.device_types) {
    if (std::find(measured.begin(), measured.end(), type.name) != measured.end()) return;
    there.push_back(type.name);
  }
  bad_option("--cluster",
             fmt::format("{} has {}, and {} has times for {} only", cluster, joined(there, ", "),
                         question.profile.file.path, joined(measured, ", ")),
             fmt::format("give the cluster that the profile was made for, or the model's "
                         "config.json in place of the profile: penstock plan config.json "
                         "--cluster {}",
                         cluster));
}

void use_measurements(Question& question, const SearchOptions& options, const Loaded<Json>& model) {
  if (options.precision) {
    bad_option("--precision", "this profile was measured, at one precision",
               "leave it out, or give a config.json");
  }
  for (const auto& [name, value] :
       {std::pair{"--attention", &options.attention}, std::pair{"--gradients", &options.gradients},
        std::pair{"--expert-imbalance", &options.expert_imbalance},
        std::pair{"--expert-dispatch", &options.expert_dispatch},
        std::pair{"--kernels", &options.kernels}, std::pair{"--loss", &options.loss},
        std::pair{"--optimizer-bytes", &options.optimizer_bytes},
        std::pair{"--fsdp-prefetch", &options.fsdp_prefetch},
        std::pair{"--sequence-parallelism", &options.sequence_parallelism}}) {
    if (*value) {
      bad_option(name, "this profile was measured, with what it had",
                 "leave it out, or give a config.json");
    }
  }
  const std::string& cluster = required(options.cluster, "--cluster", "--cluster cluster.json");
  question.profile = {read_profile(model.value, options.profile), model.file};
  refuse_as_cluster(cluster);
  question.cluster = load_cluster(cluster);
  question.devices_alike = take_device_names(question.cluster, question.profile);
  refuse_other_devices(question, cluster);
}

// Such a model has two lengths, and a search knows one.
void refuse_pairs(const SearchOptions& options, const Loaded<Json>& config) {
  if (options.takes_pairs || !is_encoder_decoder(config.value)) return;
  throw_bad_input(fmt::format(
      "{}: an encoder-decoder model, whose batches have two lengths\nhelp: penstock dynamic {} "
      "--lengths FILE plans it; penstock predict takes a --batch with decoder_tokens",
      config.file.path, config.file.path));
}

// Whose tensor parallelism is PyTorch's own.
bool has_torch_tensors(const std::string& trainer) {
  const std::string& name = parse_trainer(trainer).name;
  return name.starts_with("torchtitan") || name.starts_with("pytorch");
}

// All but Megatron's, whose products add to the gradients that are there.
bool adds_gradients_apart(const std::string& trainer) {
  return !parse_trainer(trainer).name.starts_with("megatron");
}

// Of a cluster of several device types, where none is named: an estimate for the first of them, and
// the others, for each of which it is made, too.
std::vector<std::string> take_all_types(const ClusterSpec& cluster, EstimateSettings& settings) {
  if (cluster.device_types.size() < 2) return {};
  settings.device = cluster.device_types.front().name;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < cluster.device_types.size(); ++i) {
    others.push_back(cluster.device_types[i].name);
  }
  return others;
}

void use_estimate(Question& question, const SearchOptions& options, const Loaded<Json>& config) {
  refuse_pairs(options, config);
  EstimateSettings settings;
  settings.device = options.device;
  settings.gpus_per_node = options.gpus_per_node;
  settings.network = options.network;
  settings.precision = options.precision;
  settings.attention = options.attention;
  settings.gradients = options.gradients;
  settings.sequence_length = options.sequence_length;
  settings.context_degrees =
      options.context_degrees.empty() ? searched_contexts() : options.context_degrees;
  settings.expert_degrees =
      options.expert_degrees.empty() ? searched_experts() : options.expert_degrees;
  settings.expert_imbalance = options.expert_imbalance;
  settings.expert_dispatch = options.expert_dispatch;
  settings.kernels = options.kernels;
  settings.loss = options.loss;
  settings.optimizer_bytes = options.optimizer_bytes;
  settings.fsdp_prefetch = options.fsdp_prefetch;
  settings.sequence_parallelism = options.sequence_parallelism;
  // Only Composer, which is none of the trainers, does not gather MPT's weights ahead.
  if (options.trainer && !settings.fsdp_prefetch && !is_encoder_decoder(config.value)) {
    settings.fsdp_prefetch = "backward-pre";
  }
  settings.torch_collectives = options.trainer && has_torch_tensors(*options.trainer);
  settings.sums_apart = options.trainer && adds_gradients_apart(*options.trainer);
  std::vector<std::string> others = options.also_on;
  if (options.cluster) {
    refuse_as_cluster(*options.cluster);
    question.cluster = load_cluster(*options.cluster);
    settings.cluster = &question.cluster.value;
    if (!options.device) others = take_all_types(question.cluster.value, settings);
    settings.gpus = options.gpus ? question.request.gpus : device_count(question.cluster.value);
  } else {
    required(options.gpus, "--gpus", "--gpus 64, or give --cluster");
    settings.gpus = question.request.gpus;
  }
  if (settings.gpus > kMostGpus) {
    bad_option(
        options.gpus ? "--gpus" : "--cluster",
        fmt::format("{} GPUs are more than are planned at once", settings.gpus),
        fmt::format("write --gpus N of at most {}; more are replicas of a plan for a part of "
                    "them: half of the GPUs with half of the global batch",
                    kMostGpus));
  }
  question.estimated = estimate_model(config, settings);
  for (const std::string& device : others) {
    settings.device = device;
    add_device(*question.estimated, estimate_model(config, settings));
  }
  const EstimatedModel& estimated = *question.estimated;
  question.profile = {estimated.estimate.profile, config.file};
  question.request.sequence_length = estimated.request.sequence_length;
  const bool has_all_types = !options.device && !others.empty();
  if (!has_all_types) question.request.pins.device = estimated.request.device;
  if (options.cluster) return;
  question.cluster.value = default_cluster(estimated.device, question.request.gpus);
  question.cluster.file = {kAssumedCluster,
                           content_hash(to_text(write_cluster(question.cluster.value)))};
}

}  // namespace
// Ranks that divide a sequence in what is searched, and may be pinned.
const std::vector<int>& searched_contexts() {
  static const std::vector<int> degrees{1, 2, 4, 8, 16};
  return degrees;
}
// Ranks that have experts between them, likewise.
const std::vector<int>& searched_experts() {
  static const std::vector<int> degrees{1, 2, 4, 8, 16, 32, 64, 128};
  return degrees;
}

int default_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}
namespace {

// Whether the profile has times of what is called so: "a100" of a100-sxm-40gb's a100-40gb.
bool is_measured_on(const std::vector<std::string>& measured, const std::string& device) {
  const bool is_family = std::any_of(measured.begin(), measured.end(),
                                     [&](const auto& name) { return name.starts_with(device); });
  return is_family || !device_among(measured, device).empty();
}

// A profile, for a GPU that it has no times of: a config.json is what is estimated for any.
void refuse_device_of_profile(const SearchOptions& options, const ModelProfile& profile) {
  const std::vector<std::string> measured = devices_of(profile);
  if (is_measured_on(measured, *options.device) || options.command.words.empty()) return;
  const std::string cluster = cluster_with(measured);
  TypedCommand other = options.command;
  const ShippedModels shipped = shipped_models(profile.name);
  other.words.front() = shipped.is_it ? shipped.paths : "config.json";
  bad_option("--device",
             fmt::format("{} was measured on {}, and has no times of {}", options.profile,
                         joined(measured, ", "), options.device->substr(0, 60)),
             fmt::format("for another GPU the config.json of {} takes the profile's place: {}; "
                         "for {}: --cluster {} in place of --device",
                         profile.name, other.whole(), measured.front(),
                         cluster.empty() ? "FILE" : cluster));
}

// All that is missing at once, so that nobody is told of one option after the other.
void refuse_missing(const SearchOptions& options, bool is_config) {
  std::vector<std::string> missing, example;
  const auto ask = [&](bool there, const char* option, const char* value) {
    if (there) return;
    missing.emplace_back(option);
    example.push_back(fmt::format("{} {}", option, value));
  };
  const bool has_cluster = options.cluster.has_value();
  if (is_config) {
    if (options.device && !options.gpus && !has_cluster) refuse_counted_device(*options.device);
    ask(has_cluster || options.device, "--device", "h100-sxm");
    const bool has_nodes = options.command.has("--nodes");  // of machines that are no device
    ask(has_cluster || has_nodes || options.gpus, "--gpus", "64");
  } else {
    ask(has_cluster, "--cluster", "cluster.json");
  }
  ask(options.global_batch || options.global_batch_tokens, "--global-batch", "512");
  if (missing.empty()) return;
  bad_option(
      joined(missing, ", "), "missing",
      fmt::format("add {}, for example {}", missing.size() == 1 ? "it" : "them",
                  options.command.usage.empty() ? joined(example, " ") : options.command.whole()));
}

// The model, where all that a question needs is given beside it.
Loaded<Json> load_inputs(const SearchOptions& options) {
  Loaded<Json> model = load_json(options.profile);
  const bool is_config = is_model_config(model.value);
  if (!is_config) expect_profile(model.value, model.file.path);
  if (!is_config && options.device && !options.cluster) {
    refuse_device_of_profile(options, read_profile(model.value, options.profile));
  }
  refuse_missing(options, is_config);
  return model;
}

int global_batch_of(const SearchOptions& options, const Question& question) {
  if (!options.global_batch_tokens) {
    return read_samples(*options.global_batch);
  }
  if (options.global_batch) {
    bad_option("--global-batch-tokens", "--global-batch is given, too", "keep one of them");
  }
  return samples_in(*options.global_batch_tokens, measured_defaults(question).sequence_length);
}

// What is reserved on every device leaves nothing of it.
void refuse_reserve(const Question& question) {
  if (!question.reserve) return;
  Bytes largest;
  for (const DeviceType& type : question.cluster.value.device_types) {
    largest = std::max(largest, type.memory);
  }
  if (question.reserve->count < largest.count) return;
  bad_option("--reserve-gib",
             fmt::format("{} reserved of {} leave nothing to plan with", to_text(*question.reserve),
                         to_text(largest)),
             "give what other programs keep of each GPU, for example --reserve-gib 2");
}

}  // namespace

void require_inputs(const SearchOptions& options) { static_cast<void>(load_inputs(options)); }

Question question_of(const SearchOptions& options) {
  Question question;
  if (options.gpus_per_node && options.cluster) {
    refuse_nodes_of_cluster(*options.gpus_per_node, *options.cluster);
  }
  if (options.network && options.cluster) {
    refuse_network_of_cluster(*options.network, *options.cluster);
  }
  const Loaded<Json> model = load_inputs(options);
  const bool is_config = is_model_config(model.value);
  SearchRequest& request = question.request;
  if (options.gpus) set(question, "--gpus", "gpus", *options.gpus);
  if (options.reserve_gib) set(question, "--reserve-gib", "reserve-gib", *options.reserve_gib);
  if (options.sequence_length) {
    request.sequence_length = parse_int("--sequence-length", *options.sequence_length, 1);
  }
  if (options.top) request.top = parse_int("--top", *options.top, 1, 1000);
  request.threads = default_threads();
  if (options.threads) request.threads = parse_int("--threads", *options.threads, 1, kMostThreads);
  if (options.budget) question.budget = parse_budget("--budget", *options.budget);
  request.bounds = !options.every_candidate;

  if (is_config) {
    use_estimate(question, options, model);
  } else {
    use_measurements(question, options, model);
  }
  use_measured(question, options);
  use_calibration(question, options);
  const int devices = device_count(question.cluster.value);
  if (!options.gpus) request.gpus = devices;
  if (request.gpus > devices) {
    bad_option(
        "--gpus", fmt::format("{} is more than the cluster has", request.gpus),
        fmt::format("write --gpus {}, all that {} has; for more, a cluster file with more "
                    "nodes: copy {} and raise the count of its nodes{}",
                    devices, question.cluster.value.name, question.cluster.file.path,
                    question.estimated ? ", or leave --cluster out and write --device" : ""));
  }
  if (options.memory_limit) {
    set(question, kMemoryLimit, "memory-limit", *options.memory_limit);
  }
  refuse_reserve(question);
  request.global_batch = global_batch_of(options, question);
  set_pins(question, options);
  if (!options.large_batch) refuse_unlikely_batch(question);
  return question;
}

Question question_of(SearchOptions options, int gpus) {
  options.gpus = std::to_string(gpus);
  options.large_batch = true;
  return question_of(options);
}

std::string words_of(const Question& question) {
  const SearchRequest& request = question.request;
  std::string text =
      fmt::format("{} on {}: at most {}, global batch {}", question.profile.value.name,
                  question.cluster.value.name, count_of(request.gpus, "GPU"), request.global_batch);
  if (request.sequence_length > 0) {
    text += fmt::format(", sequence length {}", request.sequence_length);
  }
  if (const std::string limit = memory_limit_words(question.cluster.value); !limit.empty()) {
    text += ", " + limit;
  }
  text += ", executor " + question.executor.name;
  if (question.estimated) text += "; " + headline_of(*question.estimated);
  if (!question.measured) return text;
  for (const std::string& line : words_of(*question.measured)) text += "; " + line;
  return text;
}

namespace {

// "46.5 GB/s per GPU between nodes (93 % of --network 400Gb/s)"
std::string words_between_nodes(const Question& question) {
  const LinkLevel& between = question.cluster.value.levels.back();
  const bool is_shared = between.shared_bandwidth.value > 0.0;
  std::string text =
      fmt::format("{} GB/s {} between nodes", fixed(between.bandwidth.value / 1e9, 1),
                  is_shared ? "for all GPUs of a node" : "per GPU");
  const auto& network = question.estimated->device.network;
  if (network && !network->asked.empty()) {
    text += fmt::format(" (93 % of --network {})", network->asked);
  }
  return text;
}

}  // namespace

std::vector<std::string> notes_of(const Question& question) {
  if (!question.estimated) return {};
  std::vector<std::string> notes = notes_of(*question.estimated);
  if (question.cluster.file.path != kAssumedCluster) return notes;
  const ClusterSpec& cluster = question.cluster.value;
  std::string text = fmt::format("assumed: {} GPUs a node, {} inside ({} GB/s per direction)",
                                 cluster.node_types.front().devices, cluster.levels.front().name,
                                 fixed(cluster.levels.front().bandwidth.value / 1e9, 0));
  if (cluster.levels.size() > 1) {
    text += ", " + words_between_nodes(question);
  }
  notes.push_back(text + "; give --cluster for yours");
  return notes;
}

std::string origin_of(const Question& question) {
  return fmt::format("penstock {}; {} {}; {} {}", version(), question.profile.file.path,
                     question.profile.file.hash, question.cluster.file.path,
                     question.cluster.file.hash);
}

void set_inputs(Json& json, const Question& question) {
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
  if (question.measured) {
    Json fitted = Json::object().set("words", words_of(*question.measured).front());
    if (const std::string doubts = doubts_of(*question.measured); !doubts.empty()) {
      fitted.set("doubts", doubts);
    }
    json.set("measured_runs", std::move(fitted));
  }
  json.set("executor", words_of(question.executor));
  json.set("gpus", question.request.gpus);
}

void set_question(Json& json, const Question& question) {
  set_inputs(json, question);
  json.set("global_batch", question.request.global_batch);
}

}  // namespace penstock
