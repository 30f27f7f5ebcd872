// The precision comes from --precision, else from the plan's own description or estimate, else from
// the bytes of a parameter in its profile, else it is what the device usually multiplies in, and
// then a note says that it is assumed. The model's config.json is taken from where the plan names
// it, or from beside the plan, if its hash is the one that the plan was made from.
#include "cli/io/export_inputs.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/options/memory_limit.h"
#include "cli/options/model_input.h"
#include "cli/words/parse.h"
#include "core/values/device_sheet.h"
#include "core/values/model_layers.h"
#include "core/values/trainer.h"
#include "estimator/shipped_data.h"
#include "trainers/trainer_row.h"

namespace penstock {
namespace {

ModelConfig config_at(const std::string& path) {
  const Loaded<Json> json = load_json(path);
  if (!is_model_config(json.value)) {
    bad_option("--model", fmt::format("{} is not the config.json of a model", path),
               "name the file that Hugging Face has beside the weights");
  }
  return {path, json.value, read_architecture(json.value, path)};
}

// The config.json that the plan was made from, where the plan says or beside the plan.
std::optional<ModelConfig> config_of(const PlanFile& plan, const std::string& path) {
  namespace fs = std::filesystem;
  for (const fs::path& place :
       {fs::path(plan.profile.path),
        fs::path(path).parent_path() / fs::path(plan.profile.path).filename()}) {
    std::error_code error;
    if (!fs::is_regular_file(place, error)) continue;
    const Loaded<Json> json = load_json(place.string());
    if (json.file.hash != plan.profile.hash || !is_model_config(json.value)) continue;
    return ModelConfig{place.string(), json.value, read_architecture(json.value, place.string())};
  }
  return {};
}

// What a device of this type multiplies in, unless it is told otherwise.
std::string usual_precision(const std::string& device) {
  for (const DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called(device)) return std::string(name_of(default_arithmetic(sheet)));
  }
  return "bfloat16";
}

std::string precision_named(const std::string& text) {
  if (const auto arithmetic = arithmetic_named(text)) return std::string(name_of(*arithmetic));
  bad_option("--precision", fmt::format("unknown '{}'", text),
             "bfloat16, float16, tensorfloat32 or float32");
}

// Of the plan's estimate or description; nothing where its files do not say.
std::optional<std::string> known_precision(const PlanFile& plan, const PlanQuestion& question) {
  if (plan.description) return std::string(name_of(plan.description->precision));
  if (!question.why_not.empty()) return {};
  if (question.question.estimated) {
    return std::string(name_of(question.question.estimated->request.arithmetic));
  }
  const Bytes parameter = question.question.profile.value.training.bytes_per_parameter;
  if (parameter.count == 4) return "float32";
  return {};
}

// Plans are also made from a config.json, which holds no profile to search again.
bool is_estimated(const PlanFile& plan) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(plan.profile.path, failed)) return false;
  return format_of(load_json(plan.profile.path).value).empty();
}

std::string how_to_estimate(const PlanFile& file, const TrainerRow& target,
                            const ExportRequest& request) {
  const Plan& plan = file.plan;
  const Trainer* trainer = trainer_of(target, request.version);
  return fmt::format(
      "the plan rests on an estimate; ask for another one: penstock plan {} --device {} --gpus {} "
      "--global-batch {} --sequence-length {}{} {} {}",
      file.profile.path, file.cluster.device, plan.devices(), plan.global_batch,
      plan.sequence_length, memory_limit_option(file), trainer != nullptr ? "--for" : "--schedule",
      trainer != nullptr ? std::string_view(trainer->name) : target.exporter->own_schedule);
}

}  // namespace

ExportInputs export_inputs(const PlanFile& plan, const std::string& path,
                           const ExportOptions& options) {
  ExportInputs inputs;
  inputs.model = options.model ? config_at(*options.model) : config_of(plan, path);
  const auto layers = model_layers(plan.section_names);
  const bool other = layers && inputs.model && layers->layers != inputs.model->architecture.layers;
  if (options.model && other) {
    bad_option("--model",
               fmt::format("{} has {} layers, the plan {}", *options.model,
                           inputs.model->architecture.layers, layers->layers),
               "name the config.json of the model that was planned");
  }
  if (options.precision) {
    inputs.precision = precision_named(*options.precision);
    return inputs;
  }
  if (const auto known = known_precision(plan, question_of(plan, path))) {
    inputs.precision = *known;
    return inputs;
  }
  inputs.precision = usual_precision(plan.plan.device);
  inputs.note = fmt::format(
      "{} is assumed, which the plan's profile does not say; --precision says otherwise",
      inputs.precision);
  return inputs;
}

PlanQuestion asked_again(const PlanFile& plan, const TrainerRow& target,
                         const ExportRequest& request) {
  PlanQuestion asked = question_of(plan, request.plan_path, true);
  if (!asked.why_not.empty() && is_estimated(plan)) {
    asked.why_not = how_to_estimate(plan, target, request);
  }
  return asked;
}

}  // namespace penstock
