// From a config.json, a datasheet and a few options to an estimated profile. A device is found by
// any name that drivers and clouds have for it; a second device type is added as further
// measurements of the same sections, which needs the same bytes per parameter on both.
#include "cli/options/model_input.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/options/field_words.h"
#include "cli/options/options.h"
#include "cli/options/parse.h"
#include "estimator/count_encoder_decoder.h"
#include "estimator/count_operations.h"
#include "estimator/estimate_encoder_decoder.h"
#include "estimator/shipped_data.h"
#include "report/json_array.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr double kMostImbalance = 1000.0;

// "NVIDIA A100-SXM4-80GB", as drivers and clouds call it, is "a100-sxm-80gb".
std::string without_maker(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    plain.push_back(lower == ' ' || lower == '_' ? '-' : lower);
  }
  for (const std::string_view maker : {"nvidia-", "tesla-", "amd-"}) {
    if (plain.starts_with(maker)) plain.erase(0, maker.size());
  }
  for (const std::string_view part : {"-hbm3e", "-hbm3", "-hbm2e"}) {
    if (plain.ends_with(part)) plain.erase(plain.size() - part.size());
  }
  // Each generation has one socket: SXM2 for V100, SXM4 for A100, SXM5 for H100.
  const std::size_t socket = plain.find("-sxm");
  const std::size_t number = socket + 4;
  if (socket != std::string::npos && number < plain.size() && plain[number] >= '2' &&
      plain[number] <= '6') {
    plain.erase(number, 1);
  }
  return plain;
}

// "8xH100", "H100:8" and "h100,a100": more than one device.
void refuse_several(const std::string& name, const std::vector<std::string>& known) {
  const std::string plain = without_maker(name);
  if (name.find(',') != std::string::npos) {
    bad_option("--device", fmt::format("'{}' names several", name),
               "penstock compare --vary device=" + name + " plans for each of them");
  }
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  for (const char mark : {'x', '*', ':'}) {
    const std::size_t at = plain.find(mark);
    if (at == std::string::npos) continue;
    std::string device = plain.substr(0, at), count = plain.substr(at + 1);
    if (is_number(device)) std::swap(device, count);
    if (!is_number(count) || std::find(known.begin(), known.end(), device) == known.end()) continue;
    bad_option("--device", fmt::format("'{}' is a number of devices", name),
               fmt::format("write --device {} --gpus {}, the GPUs of all nodes", device, count));
  }
}

// Letters and digits: "h100sxm5" and "A100_80GB" are spelled as people like.
std::string bare(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) out.push_back(static_cast<char>(std::tolower(byte)));
  }
  // "a100-80g"
  if (out.size() > 2 && out.back() == 'g' &&
      std::isdigit(static_cast<unsigned char>(out[out.size() - 2])) != 0 && out != "a10g") {
    out.push_back('b');
  }
  // The socket's number, as in "a100sxm480gb" and "h100sxm5".
  const std::size_t socket = out.find("sxm");
  if (socket == std::string::npos || socket + 3 >= out.size()) return out;
  const bool is_size = out.ends_with("gb") && out.size() - socket < 3 + 5;
  if (out[socket + 3] >= '2' && out[socket + 3] <= '6' && !is_size) out.erase(socket + 3, 1);
  return out;
}

bool is_spelled_so(const DeviceSheet& sheet, const std::string& letters) {
  return bare(sheet.name) == letters ||
         std::any_of(sheet.aliases.begin(), sheet.aliases.end(),
                     [&](const std::string& alias) { return bare(alias) == letters; });
}

// What clouds and vendors rent, and the GPU in it: the providers' pages of instance types.
struct Machine {
  std::string_view begin, device;
};
constexpr std::array kMachines{
    Machine{"p3.", "v100-sxm-16gb"},
    Machine{"p3dn", "v100-sxm-32gb"},
    Machine{"p4d", "a100-sxm-40gb"},
    Machine{"p4de", "a100-sxm-80gb"},
    Machine{"p5.", "h100-sxm"},
    Machine{"p5e", "h200-sxm"},
    Machine{"p6-b200", "b200"},
    Machine{"g5.", "a10g"},
    Machine{"g6e", "l40s"},
    Machine{"a2-highgpu", "a100-sxm-40gb"},
    Machine{"a2-megagpu", "a100-sxm-40gb"},
    Machine{"a2-ultragpu", "a100-sxm-80gb"},
    Machine{"a3-ultragpu", "h200-sxm"},
    Machine{"a3-", "h100-sxm"},
    Machine{"a4-", "b200"},
    Machine{"standard-nd96asr", "a100-sxm-40gb"},
    Machine{"standard-nd96amsr", "a100-sxm-80gb"},
    Machine{"standard-nd96isr-h100", "h100-sxm"},
    Machine{"standard-nd96isr-h200", "h200-sxm"},
    Machine{"standard-nd96isr-mi300x", "mi300x"},
    Machine{"dgx-a100", "a100-sxm-40gb or a100-sxm-80gb"},
    Machine{"dgx-h100", "h100-sxm"},
    Machine{"dgx-h200", "h200-sxm"},
    Machine{"dgx-b200", "b200"},
    Machine{"hgx-a100", "a100-sxm-40gb or a100-sxm-80gb"},
    Machine{"hgx-h100", "h100-sxm"},
    Machine{"hgx-h200", "h200-sxm"},
    Machine{"hgx-b200", "b200"},
};

void refuse_machine(const std::string& name, const std::string& plain) {
  std::string_view device;
  std::size_t longest = 0;
  for (const Machine& machine : kMachines) {
    if (!plain.starts_with(machine.begin) || machine.begin.size() <= longest) continue;
    longest = machine.begin.size();
    device = machine.device;
  }
  if (longest == 0) return;
  bad_option("--device", fmt::format("'{}' is a machine, and a GPU belongs here", name),
             fmt::format("write --device {}, with --gpus N for the GPUs of all machines", device));
}

// "cuda:0", "gpu", "auto": where a program runs, not what it runs on.
bool is_place(std::string_view plain) {
  for (const std::string_view place : {"cuda", "gpu", "auto", "cpu", "nvidia", "rank", "all"}) {
    if (!plain.starts_with(place)) continue;
    if (plain.find_first_not_of(":0123456789s", place.size()) == std::string_view::npos)
      return true;
  }
  return false;
}

DeviceSheet sheet_of(const std::string& name) {
  if (name.ends_with(".json")) return read_device_sheet(load_json(name).value, name);
  const std::string plain = without_maker(name);
  std::vector<std::string> names, all;
  for (DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called(name) || sheet.is_called(plain)) return std::move(sheet);
    // A colon or a star is that of a number of devices, "a100:40".
    if (plain.find_first_of(":*,") == std::string::npos && is_spelled_so(sheet, bare(plain))) {
      return std::move(sheet);
    }
    names.push_back(sheet.name);
    all.push_back(sheet.name);
    all.insert(all.end(), sheet.aliases.begin(), sheet.aliases.end());
  }
  refuse_several(name, all);
  refuse_machine(name, plain);
  if (is_place(plain)) {
    bad_option(
        "--device", fmt::format("'{}' does not say which GPU", name),
        fmt::format("nothing is run: name the GPU to plan for, one of {}", joined(names, ", ")));
  }
  const std::string near = did_you_mean(name, all);
  // One letter makes another chip of a name like "b100".
  constexpr std::size_t kShortest = 6;
  std::string hint = near.starts_with("did you mean") && name.size() >= kShortest ? near + " " : "";
  // "A100 PCIe 80GB" and "V100S": of the same chip there are others.
  const std::string chip = plain.substr(0, plain.find('-'));
  std::vector<std::string> alike;
  const bool is_family = chip.find_first_of("0123456789") == std::string::npos;  // "rtx"
  for (const std::string& each : names) {
    if (is_family) continue;
    const std::string other = each.substr(0, each.find('-'));
    if (chip.starts_with(other) || (chip.size() > 3 && other.starts_with(chip))) {
      alike.push_back(each);
    }
  }
  if (hint.empty() && !alike.empty()) hint = "did you mean " + joined(alike, " or ") + "? ";
  bad_option("--device", fmt::format("no datasheet of '{}'", name),
             fmt::format("{}known are {}; or give the path of a penstock.device/1 file "
                         "(docs/file_formats.md)",
                         hint, joined(names, ", ")));
}

// The device that a cluster calls its own way; of a cluster of one type also without --device.
DeviceSheet sheet_in(const ClusterSpec& cluster, const std::optional<std::string>& name,
                     std::string& called) {
  if (!name && cluster.device_types.size() != 1) required(name, "--device", "--device h100-sxm");
  DeviceSheet sheet = sheet_of(name ? *name : cluster.device_types.front().name);
  std::string listed;
  for (const DeviceType& type : cluster.device_types) {
    if (sheet.is_called(type.name)) return called = type.name, sheet;
    listed += (listed.empty() ? "" : ", ") + type.name;
  }
  bad_option("--device", fmt::format("the cluster has no {}", sheet.name),
             fmt::format("it has {}; name one of them, or leave out --cluster", listed));
}

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

}  // namespace

void refuse_counted_device(const std::string& name) {
  std::vector<std::string> names;
  for (const DeviceSheet& sheet : shipped_devices()) {
    names.push_back(sheet.name);
    names.insert(names.end(), sheet.aliases.begin(), sheet.aliases.end());
  }
  refuse_several(name, names);
}

namespace {

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
  refuse_not_modelled(estimated, settings);
  if (settings.kernels) request.eager_kernels = are_eager(*settings.kernels);
  if (settings.loss) request.loss = loss_of(*settings.loss);
  if (settings.fsdp_prefetch) request.gathers_ahead = are_gathered_ahead(*settings.fsdp_prefetch);
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
std::vector<std::string> attention_names() {
  return {"flash1", "flash2", "flash3", "cudnn", "eager"};
}

std::string headline_of(const EstimatedModel& estimated) {
  std::vector<std::string> devices{estimated.device.name};
  devices.insert(devices.end(), estimated.also_for.begin(), estimated.also_for.end());
  return fmt::format(
      "estimated for {}, {}: nothing was measured; {} between {} less "
      "and {} more time than such an estimate",
      joined(devices, " and "), name_of(estimated.request.arithmetic),
      takers_of(estimated.estimate.basis), percent(estimated.estimate.error.below),
      percent(estimated.estimate.error.above));
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
