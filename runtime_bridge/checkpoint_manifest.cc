// A strict reader and its writer, by one list of fields: settings, the files of every section and
// the ranges that they hold. Values are checked against the bounds that the rest of the program
// relies on.
#include "runtime_bridge/checkpoint_manifest.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/values/json_fields.h"
#include "training/learning_rate.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostSamples = std::numeric_limits<int>::max();
constexpr double kLargest = std::numeric_limits<double>::max();

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

LearningRateSchedule read_schedule(const JsonReader& reader) {
  const auto schedule = learning_rate_schedule_named(reader.string());
  if (!schedule) reader.expected("constant, linear or cosine");
  return *schedule;
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

void check_all_sections(const CheckpointManifest& manifest, const JsonReader& reader) {
  for (int section = 0; section < manifest.info.sections; ++section) {
    if (std::ranges::none_of(manifest.files, [&](const CheckpointFile& file) {
          return file.section == section && file.kind == StateKind::kParameters;
        })) {
      reader.fail("no file holds the parameters of section " + std::to_string(section));
    }
  }
}

using SharedNumbers = decltype(CheckpointInfo::shared_numbers);

Json write_numbers(const SharedNumbers& numbers) {
  Json json = Json::object();
  for (const auto& [name, value] : numbers) json.set(name, value);
  return json;
}

SharedNumbers read_numbers(JsonReader reader) {
  SharedNumbers numbers;
  for (const auto& [name, value] : reader.members()) {
    numbers.emplace_back(name, value.number(-kLargest, kLargest));
  }
  return numbers;
}

template <class Named>
Json name_in_json(Named value) {
  return std::string(name_of(value));
}

}  // namespace

std::string_view name_of(StateKind kind) {
  return kind == StateKind::kParameters ? "parameters" : "optimizer";
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, TrainingOptions>& options) {
  fields("learning_rate", options.learning_rate);
  fields("weight_decay", options.weight_decay);
  fields("momentum", options.momentum);
  fields("beta1", options.beta1);
  fields("beta2", options.beta2);
  fields("epsilon", options.epsilon);
  fields("clip_norm", options.clip_norm);
  fields.as("seed", options.seed, json_of<std::uint64_t>, read_seed);
  // Manifests from before there were schedules have none.
  if (!fields.holds("learning_rate_schedule", true)) return;
  fields.as("learning_rate_schedule", options.schedule, name_in_json<LearningRateSchedule>,
            read_schedule);
  fields("warmup_steps", options.warmup_steps);
  fields("decay_steps", options.decay_steps);
  fields("least_learning_rate", options.least_learning_rate, 0.0, kLargest);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, CheckpointData>& data) {
  fields("path", data.path);
  fields("bytes", data.bytes);
  fields("checksum", data.checksum);
  fields.later("taken", data.taken);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, CheckpointLastStep>& step) {
  fields("loss", step.loss);
  fields("gradient_norm", step.gradient_norm, 0.0, kLargest);
  fields("skipped", step.skipped);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, CheckpointFile>& file) {
  fields.as("name", file.name, json_of<std::string>, read_name);
  fields("section", file.section, 0, 1 << 20);
  fields.as("kind", file.kind, name_in_json<StateKind>, read_kind);
  fields("bytes", file.bytes, 0, kMost);
  fields("header_checksum", file.header_checksum);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, CheckpointManifest>& manifest) {
  auto& info = manifest.info;
  fields.format("penstock.checkpoint/1");
  fields("step", info.step);
  fields("model", info.model);
  fields("sections", info.sections, 1, 1 << 20);
  fields.later("section_names", info.section_names);
  fields("plan_hash", info.plan_hash);
  fields("samples", info.samples);
  fields.as("precision", info.precision, name_in_json<Precision>, read_precision);
  fields("global_batch", info.global_batch, 1, kMostSamples);
  fields("sequence_length", info.sequence_length, 1, kMostSamples);
  if (fields.holds("tokens_per_batch", info.tokens_per_batch > 0)) {
    fields("tokens_per_batch", info.tokens_per_batch, 1, kMost);
  }
  // Before there was "taken", a run had taken all its samples of one file.
  if constexpr (Fields::kReads) info.data.taken = info.samples;
  fields("data", info.data);
  fields("training", info.options);
  fields.as("shared_numbers", info.shared_numbers, write_numbers, read_numbers);
  fields.if_any("last_step", info.last_step);
  fields("files", manifest.files);
}

Json write_checkpoint_files(const std::vector<CheckpointFile>& files) { return json_of(files); }

std::vector<CheckpointFile> read_checkpoint_files(const Json& json, const std::string& file) {
  return read_json<std::vector<CheckpointFile>>(JsonReader(json, file));
}

Json write_manifest(const CheckpointManifest& manifest) { return json_of(manifest); }

CheckpointManifest read_manifest(const Json& json, const std::string& file) {
  const JsonReader reader(json, file);
  auto manifest = read_json<CheckpointManifest>(reader);
  check_all_sections(manifest, reader);
  return manifest;
}

}  // namespace penstock
