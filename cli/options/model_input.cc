// From a config.json, a datasheet and a few options to an estimated profile. A second device type
// is added as further measurements of the same sections, which needs the same bytes per parameter
// on both.
#include "cli/options/model_input.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/options/assumed_machine.h"
#include "cli/options/options.h"
#include "cli/words/device_called.h"
#include "cli/words/field_words.h"
#include "cli/words/parse.h"
#include "estimator/count_encoder_decoder.h"
#include "estimator/count_operations.h"
#include "estimator/estimate_encoder_decoder.h"
#include "estimator/shipped_data.h"
#include "report/json_array.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr double kMostImbalance = 1000.0;

// "torch.bfloat16", "bf16-mixed" and "half", as PyTorch and Lightning write them.
std::string number_called(const std::string& typed) {
  std::string word = plain_word(typed);
  for (const std::string_view begin : {"torch.", "jnp.", "np."}) {
    if (word.starts_with(begin)) word.erase(0, begin.size());
  }
  for (const std::string_view end : {"-mixed", "-true"}) {
    if (word.ends_with(end)) word.erase(word.size() - end.size());
  }
  if (word == "half" || word == "16") return "float16";
  return word == "single" || word == "float" || word == "full" || word == "32" ? "float32" : word;
}

Arithmetic arithmetic_of(const DeviceSheet& sheet, const std::optional<std::string>& text) {
  if (!text) return default_arithmetic(sheet);
  if (const auto arithmetic = arithmetic_named(number_called(*text))) return *arithmetic;
  bad_option("--precision", fmt::format("unknown '{}'", *text),
             "bfloat16, float8, float16, tensorfloat32 or float32 (bf16, fp8, fp16, tf32, fp32)");
}

AttentionKernel attention_of(const std::string& text) {
  if (const auto kernel = attention_named(text)) return *kernel;
  bad_option("--attention", fmt::format("unknown '{}'", text), joined(attention_names(), ", "));
}

int gradient_bytes_of(const std::string& text) {
  if (text == "float32" || text == "fp32") return 4;
  if (text == "bfloat16" || text == "bf16") return 2;
  bad_option("--gradients", fmt::format("unknown '{}'", text), joined(gradient_names(), ", "));
}

bool are_eager(const std::string& text) {
  if (text == "eager" || text == "compiled") return text == "eager";
  bad_option("--kernels", fmt::format("unknown '{}'", text), joined(kernel_names(), ", "));
}

LossKind loss_of(const std::string& text) {
  if (text == "apart") return LossKind::kApart;
  if (text == "in-place") return LossKind::kInPlace;
  if (text == "eager") return LossKind::kEager;
  bad_option("--loss", fmt::format("unknown '{}'", text), joined(loss_names(), ", "));
}

bool is_sequence_parallel(const std::string& text) {
  if (text == "on" || text == "off") return text == "on";
  bad_option("--sequence-parallelism", fmt::format("unknown '{}'", text),
             joined(sequence_parallelism_names(), ", "));
}

bool are_gathered_ahead(const std::string& text) {
  if (text == "backward-pre" || text == "backward-post") return text == "backward-pre";
  bad_option("--fsdp-prefetch", fmt::format("unknown '{}'", text), joined(prefetch_names(), ", "));
}

int largest_node(const ClusterSpec& cluster) {
  int most = 1;
  for (const NodeType& type : cluster.node_types) most = std::max(most, type.devices);
  return most;
}

// The file's own name, the folder's for config.json.
std::string name_of_file(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string folder = file.parent_path().filename().string();
  return file.stem() == "config" && !folder.empty() ? folder : file.stem().string();
}

void read_model(const Loaded<Json>& config, EstimatedModel& estimated) {
  if (is_encoder_decoder(config.value)) {
    estimated.encoder_decoder = read_encoder_decoder(config.value, config.file.path);
    for (Architecture* half :
         {&estimated.encoder_decoder->encoder, &estimated.encoder_decoder->decoder}) {
      if (half->name.empty()) half->name = name_of_file(config.file.path);
    }
    estimated.model = estimated.encoder_decoder->decoder;
    return;
  }
  estimated.model = read_architecture(config.value, config.file.path);
  if (estimated.model.name.empty()) estimated.model.name = name_of_file(config.file.path);
}

// What the estimates of such a model or such numbers do not tell apart.
void refuse_not_modelled(const EstimatedModel& estimated, const EstimateSettings& settings) {
  const bool pairs = estimated.encoder_decoder.has_value();
  if (pairs && settings.kernels == "eager") {
    bad_option("--kernels", "eager kernels of encoder-decoder models are not estimated",
               "leave it out, or measure the model: penstock profile");
  }
  if (pairs && settings.fsdp_prefetch) {
    bad_option("--fsdp-prefetch", "of encoder-decoder models every backward gathers ahead",
               "leave it out");
  }
  if (pairs && estimated.request.arithmetic == Arithmetic::kFloat8) {
    bad_option("--precision", "encoder-decoder models in 8 bits are not estimated",
               "bfloat16, or measure the model: penstock profile");
  }
  if (bytes_of(estimated.request.arithmetic) < 4) return;
  for (const auto& [name, value] :
       {std::pair{"--kernels", &settings.kernels}, std::pair{"--loss", &settings.loss}}) {
    if (!*value) continue;
    bad_option(name, "numbers of 32 bits are estimated as eager PyTorch runs them",
               "leave it out, or give --precision bfloat16 or float16");
  }
}

void set_experts(const EstimateSettings& settings, EstimateRequest& request) {
  request.expert_degrees = settings.expert_degrees;
  request.experts_by_tensor = true;
  if (settings.expert_imbalance) {
    request.expert_imbalance =
        parse_number("--expert-imbalance", *settings.expert_imbalance, 1.0, kMostImbalance);
  }
  if (!settings.expert_dispatch) return;
  request.dispatches_once = *settings.expert_dispatch != "copies";
  if (*settings.expert_dispatch != "copies" && *settings.expert_dispatch != "once") {
    bad_option("--expert-dispatch", fmt::format("unknown '{}'", *settings.expert_dispatch),
               "once or copies");
  }
}

// Of an encoder-decoder model both lengths are the one that is asked for.
Estimate estimate_of(const EstimatedModel& estimated) {
  const EstimateRequest& request = estimated.request;
  if (!estimated.encoder_decoder) {
    return estimate_profile(estimated.model, estimated.device, shipped_efficiency(), request);
  }
  constexpr std::int64_t kMostSamples = 16;
  const int length = request.sequence_length;
  return estimate_encoder_decoder(*estimated.encoder_decoder, estimated.device,
                                  shipped_efficiency(), request,
                                  {{length}, {length}, kMostSamples * 2 * length});
}

}  // namespace

EstimatedModel estimate_model(const Loaded<Json>& config, const EstimateSettings& settings) {
  EstimatedModel estimated;
  read_model(config, estimated);
  EstimateRequest& request = estimated.request;
  if (settings.cluster != nullptr) {
    estimated.device = sheet_in(*settings.cluster, settings.device, request.device);
  } else {
    estimated.device = sheet_of(required(settings.device, "--device", "--device h100-sxm"));
    request.device = estimated.device.name;
    set_nodes(estimated.device, {settings.gpus_per_node, settings.network});
  }
  const int node =
      settings.cluster != nullptr ? largest_node(*settings.cluster) : estimated.device.node.devices;
  request.most_tensor_degree = std::min(settings.gpus, node);
  request.arithmetic = arithmetic_of(estimated.device, settings.precision);
  if (settings.attention) request.attention = attention_of(*settings.attention);
  if (settings.gradients) request.gradient_bytes = gradient_bytes_of(*settings.gradients);
  request.sequence_length = settings.sequence_length
                                ? parse_int("--sequence-length", *settings.sequence_length, 1)
                                : default_sequence_length(estimated.model);
  if (request.sequence_length == 0) {
    bad_option("--sequence-length", "missing",
               config.file.path +
                   " does not say how long sequences are; add for example "
                   "--sequence-length 2048");
  }
  request.torch_collectives = settings.torch_collectives;
  request.sums_apart = settings.sums_apart;
  refuse_not_modelled(estimated, settings);
  if (settings.kernels) request.eager_kernels = are_eager(*settings.kernels);
  if (settings.loss) request.loss = loss_of(*settings.loss);
  if (settings.fsdp_prefetch) request.gathers_ahead = are_gathered_ahead(*settings.fsdp_prefetch);
  if (settings.sequence_parallelism) {
    request.sequence_parallel = is_sequence_parallel(*settings.sequence_parallelism);
  }
  if (settings.optimizer_bytes) {
    request.optimizer_bytes =
        parse_int("--optimizer-bytes", *settings.optimizer_bytes, 0, kMostOptimizerBytes);
  }
  request.context_degrees = settings.context_degrees;
  set_experts(settings, request);
  estimated.estimate = estimate_of(estimated);
  return estimated;
}

void add_device(EstimatedModel& estimated, const EstimatedModel& other) {
  ModelProfile& profile = estimated.estimate.profile;
  const ModelProfile& added = other.estimate.profile;
  TrainingState training = added.training;
  training.source = profile.training.source;
  if (training != profile.training || added.section_types.size() != profile.section_types.size()) {
    bad_option("--precision",
               fmt::format("{} in {} and {} in {} do not hold the same numbers",
                           estimated.device.name, name_of(estimated.request.arithmetic),
                           other.device.name, name_of(other.request.arithmetic)),
               "name one that both have, for example --precision float16");
  }
  const int first_source = static_cast<int>(profile.sources.size());
  for (Source source : added.sources) {
    source.id += " of " + other.request.device;
    profile.sources.push_back(std::move(source));
  }
  for (std::size_t type = 0; type < added.section_types.size(); ++type) {
    for (Measurement measurement : added.section_types[type].measurements) {
      measurement.time_source += first_source;
      measurement.split_source += first_source;
      measurement.memory_source += first_source;
      profile.section_types[type].measurements.push_back(std::move(measurement));
    }
  }
  std::vector<std::string>& assumptions = estimated.estimate.assumptions;
  for (const std::string& text : other.estimate.assumptions) {
    if (std::find(assumptions.begin(), assumptions.end(), text) == assumptions.end()) {
      assumptions.push_back(text);
    }
  }
  ErrorBand& error = estimated.estimate.error;
  error.below = std::max(error.below, other.estimate.error.below);
  error.above = std::max(error.above, other.estimate.error.above);
  // Of both together nothing was counted.
  if (other.estimate.basis != estimated.estimate.basis) {
    estimated.estimate.basis = ErrorBasis::kAssumed;
  }
  const bool same = other.request.arithmetic == estimated.request.arithmetic;
  estimated.also_for.push_back(
      other.device.name + (same ? "" : " in " + std::string(name_of(other.request.arithmetic))));
}

namespace {

const char* takers_of(ErrorBasis basis) {
  switch (basis) {
    case ErrorBasis::kRuns:
      return "nine of ten published runs took";
    case ErrorBasis::kPasses:
      return "nine of ten measured passes over models took";
    case ErrorBasis::kAssumed:
      break;
  }
  return "a step is assumed to take";
}

}  // namespace

std::vector<std::string> gradient_names() { return {"float32", "bfloat16"}; }
std::vector<std::string> kernel_names() { return {"compiled", "eager"}; }
std::vector<std::string> loss_names() { return {"apart", "in-place", "eager"}; }
std::vector<std::string> prefetch_names() { return {"backward-pre", "backward-post"}; }
std::vector<std::string> sequence_parallelism_names() { return {"on", "off"}; }
std::vector<std::string> attention_names() {
  return {"flash1", "flash2", "flash3", "cudnn", "eager"};
}

namespace {

std::string words_of(const ErrorBand& error) {
  if (error.below <= 0.0) return fmt::format("up to {} more time", percent(error.above));
  if (error.above <= 0.0) return fmt::format("up to {} less time", percent(error.below));
  return fmt::format("between {} less and {} more time", percent(error.below),
                     percent(error.above));
}

}  // namespace

std::string headline_of(const EstimatedModel& estimated) {
  std::vector<std::string> devices{estimated.device.name};
  devices.insert(devices.end(), estimated.also_for.begin(), estimated.also_for.end());
  return fmt::format("estimated for {}, {}: nothing was measured; {} {} than such an estimate",
                     joined(devices, " and "), name_of(estimated.request.arithmetic),
                     takers_of(estimated.estimate.basis), words_of(estimated.estimate.error));
}

std::vector<std::string> notes_of(const EstimatedModel& estimated) {
  std::vector<std::string> notes;
  for (const std::string& text : estimated.model.assumed) notes.push_back("assumed: " + text);
  for (const std::string& text : estimated.estimate.assumptions) {
    notes.push_back("assumed: " + text);
  }
  if (!estimated.model.not_read.empty()) {
    notes.push_back("not read: " + joined(estimated.model.not_read, ", "));
  }
  return notes;
}

std::int64_t parameters_of(const EstimatedModel& estimated) {
  return estimated.encoder_decoder ? parameter_count(*estimated.encoder_decoder)
                                   : parameter_count(estimated.model);
}

Json to_json(const EstimatedModel& estimated) {
  std::vector<std::string> assumed = estimated.model.assumed;
  assumed.insert(assumed.end(), estimated.estimate.assumptions.begin(),
                 estimated.estimate.assumptions.end());
  const std::int64_t parameters = parameters_of(estimated);
  return Json::object()
      .set("device", estimated.device.name)
      .set("arithmetic", std::string(name_of(estimated.request.arithmetic)))
      .set("sequence_length", estimated.request.sequence_length)
      .set("architecture", estimated.model.family)
      .set("parameters", parameters)
      .set("active_parameters",
           estimated.encoder_decoder ? parameters : active_parameter_count(estimated.model))
      .set("error_below", estimated.estimate.error.below)
      .set("error_above", estimated.estimate.error.above)
      .set("assumed", strings(assumed))
      .set("not_read", strings(estimated.model.not_read));
}

}  // namespace penstock
