// A strict reader and its writer, side by side: settings, the files of every section and the ranges
// that they hold. Values are checked against the bounds that the rest of the program relies on.
#include "runtime_bridge/checkpoint_manifest.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/values/json_reader.h"
#include "training/learning_rate.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostSamples = std::numeric_limits<int>::max();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr const char* kFormat = "penstock.checkpoint/1";

Json write_options(const TrainingOptions& options) {
  Json json = Json::object();
  json.set("learning_rate", options.learning_rate)
      .set("weight_decay", options.weight_decay)
      .set("momentum", options.momentum)
      .set("beta1", options.beta1)
      .set("beta2", options.beta2)
      .set("epsilon", options.epsilon)
      .set("clip_norm", options.clip_norm)
      .set("seed", options.seed)
      .set("learning_rate_schedule", std::string(name_of(options.schedule)))
      .set("warmup_steps", options.warmup_steps)
      .set("decay_steps", options.decay_steps)
      .set("least_learning_rate", options.least_learning_rate);
  return json;
}

// All 64 bits, where JsonReader::integer() stops at 63.
std::uint64_t read_seed(const JsonReader& reader) {
  const std::string& text = reader.value().text();
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (reader.value().kind() != Json::Kind::kNumber || error != std::errc() ||
      end != text.data() + text.size()) {
    reader.expected("an integer from 0 to 2^64 - 1");
  }
  return seed;
}

// Manifests from before there were schedules have none.
void read_schedule(JsonReader& reader, TrainingOptions& options) {
  if (!reader.has("learning_rate_schedule")) return;
  const JsonReader name = reader.at("learning_rate_schedule");
  const auto schedule = learning_rate_schedule_named(name.string());
  if (!schedule) name.expected("constant, linear or cosine");
  options.schedule = *schedule;
  options.warmup_steps = reader.at("warmup_steps").integer(0, kMost);
  options.decay_steps = reader.at("decay_steps").integer(0, kMost);
  options.least_learning_rate = reader.at("least_learning_rate").number(0.0, kLargest);
}

TrainingOptions read_options(JsonReader reader) {
  TrainingOptions options;
  const auto number = [&](const char* key) { return reader.at(key).number(-kLargest, kLargest); };
  options.learning_rate = number("learning_rate");
  options.weight_decay = number("weight_decay");
  options.momentum = number("momentum");
  options.beta1 = number("beta1");
  options.beta2 = number("beta2");
  options.epsilon = number("epsilon");
  options.clip_norm = number("clip_norm");
  options.seed = read_seed(reader.at("seed"));
  read_schedule(reader, options);
  reader.finish();
  return options;
}

Json write_data(const CheckpointData& data) {
  Json json = Json::object();
  json.set("path", data.path).set("bytes", data.bytes).set("checksum", data.checksum);
  json.set("taken", data.taken);
  return json;
}

// `samples`: of the run; before there was "taken", it had taken them all of one file.
CheckpointData read_data(JsonReader reader, std::int64_t samples) {
  CheckpointData data;
  data.path = reader.at("path").string();
  data.bytes = reader.at("bytes").integer(0, kMost);
  data.checksum = reader.at("checksum").string();
  data.taken = reader.has("taken") ? reader.at("taken").integer(0, kMost) : samples;
  reader.finish();
  return data;
}

Precision read_precision(const JsonReader& reader) {
  const auto precision = precision_named(reader.string());
  if (!precision) reader.expected("float32, bfloat16, float16 or float64");
  return *precision;
}

StateKind read_kind(const JsonReader& reader) {
  const std::string name = reader.string();
  for (const StateKind kind : {StateKind::kParameters, StateKind::kOptimizer}) {
    if (name == name_of(kind)) return kind;
  }
  reader.expected("parameters or optimizer");
}

// Of a file in the folder itself: a manifest does not reach elsewhere.
std::string read_name(const JsonReader& reader) {
  std::string name = reader.string();
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
    reader.expected("the name of a file in the same folder");
  }
  return name;
}

CheckpointFile read_file_entry(JsonReader reader) {
  CheckpointFile file;
  file.name = read_name(reader.at("name"));
  file.section = static_cast<int>(reader.at("section").integer(0, 1 << 20));
  file.kind = read_kind(reader.at("kind"));
  file.bytes = static_cast<std::uint64_t>(reader.at("bytes").integer(0, kMost));
  file.header_checksum = reader.at("header_checksum").string();
  reader.finish();
  return file;
}

std::vector<CheckpointFile> read_file_entries(const JsonReader& reader) {
  std::vector<CheckpointFile> files;
  for (const JsonReader& entry : reader.elements()) files.push_back(read_file_entry(entry));
  return files;
}

void check_all_sections(const CheckpointManifest& manifest, const JsonReader& reader) {
  for (int section = 0; section < manifest.info.sections; ++section) {
    if (std::ranges::none_of(manifest.files, [&](const CheckpointFile& file) {
          return file.section == section && file.kind == StateKind::kParameters;
        })) {
      reader.fail("no file holds the parameters of section " + std::to_string(section));
    }
  }
}

Json write_last_step(const CheckpointLastStep& step) {
  Json json = Json::object();
  json.set("loss", step.loss).set("gradient_norm", step.gradient_norm).set("skipped", step.skipped);
  return json;
}

CheckpointLastStep read_last_step(JsonReader reader) {
  CheckpointLastStep step;
  step.loss = reader.at("loss").number(-kLargest, kLargest);
  step.gradient_norm = reader.at("gradient_norm").number(0.0, kLargest);
  step.skipped = reader.at("skipped").boolean();
  reader.finish();
  return step;
}

CheckpointInfo read_info(JsonReader& reader) {
  CheckpointInfo info;
  info.step = reader.at("step").integer(0, kMost);
  info.model = reader.at("model").string();
  info.sections = static_cast<int>(reader.at("sections").integer(1, 1 << 20));
  if (reader.has("section_names")) {
    for (const JsonReader& name : reader.at("section_names").elements()) {
      info.section_names.push_back(name.string());
    }
  }
  info.plan_hash = reader.at("plan_hash").string();
  info.samples = reader.at("samples").integer(0, kMost);
  info.precision = read_precision(reader.at("precision"));
  info.global_batch = static_cast<int>(reader.at("global_batch").integer(1, kMostSamples));
  info.sequence_length = static_cast<int>(reader.at("sequence_length").integer(1, kMostSamples));
  if (reader.has("tokens_per_batch")) {
    info.tokens_per_batch = reader.at("tokens_per_batch").integer(1, kMost);
  }
  info.data = read_data(reader.at("data"), info.samples);
  info.options = read_options(reader.at("training"));
  for (auto& [name, value] : reader.at("shared_numbers").members()) {
    info.shared_numbers.emplace_back(name, value.number(-kLargest, kLargest));
  }
  if (reader.has("last_step")) info.last_step = read_last_step(reader.at("last_step"));
  return info;
}

}  // namespace

std::string_view name_of(StateKind kind) {
  return kind == StateKind::kParameters ? "parameters" : "optimizer";
}

Json write_checkpoint_files(const std::vector<CheckpointFile>& files) {
  Json list = Json::array();
  for (const CheckpointFile& file : files) {
    Json entry = Json::object();
    entry.set("name", file.name)
        .set("section", file.section)
        .set("kind", std::string(name_of(file.kind)))
        .set("bytes", file.bytes)
        .set("header_checksum", file.header_checksum);
    list.push(std::move(entry));
  }
  return list;
}

std::vector<CheckpointFile> read_checkpoint_files(const Json& json, const std::string& file) {
  return read_file_entries(JsonReader(json, file));
}

Json write_manifest(const CheckpointManifest& manifest) {
  const CheckpointInfo& info = manifest.info;
  Json numbers = Json::object();
  for (const auto& entry : info.shared_numbers) numbers.set(entry.first, entry.second);
  Json names = Json::array();
  for (const std::string& name : info.section_names) names.push(name);
  Json json = Json::object();
  json.set("format", kFormat)
      .set("step", info.step)
      .set("model", info.model)
      .set("sections", info.sections)
      .set("section_names", std::move(names))
      .set("plan_hash", info.plan_hash)
      .set("samples", info.samples)
      .set("precision", std::string(name_of(info.precision)))
      .set("global_batch", info.global_batch)
      .set("sequence_length", info.sequence_length);
  if (info.tokens_per_batch > 0) json.set("tokens_per_batch", info.tokens_per_batch);
  json.set("data", write_data(info.data))
      .set("training", write_options(info.options))
      .set("shared_numbers", std::move(numbers));
  if (info.last_step) json.set("last_step", write_last_step(*info.last_step));
  json.set("files", write_checkpoint_files(manifest.files));
  return json;
}

CheckpointManifest read_manifest(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  const JsonReader format = reader.at("format");
  if (format.string() != kFormat) format.expected(std::string("\"") + kFormat + "\"");
  CheckpointManifest manifest;
  manifest.info = read_info(reader);
  manifest.files = read_file_entries(reader.at("files"));
  reader.finish();
  check_all_sections(manifest, reader);
  return manifest;
}

}  // namespace penstock
