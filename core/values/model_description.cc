#include "core/values/model_description.h"

#include <array>
#include <utility>

#include "core/values/plan_words.h"

namespace penstock {
namespace {

constexpr Words<ModelFamily, 4> kFamilyWords{{
    {ModelFamily::kGpt, "gpt"},
    {ModelFamily::kBert, "bert"},
    {ModelFamily::kMlp, "mlp"},
    {ModelFamily::kTorchScript, "torchscript"},
}};
constexpr Words<Precision, 4> kPrecisionWords{{
    {Precision::kFloat32, "float32"},
    {Precision::kBFloat16, "bfloat16"},
    {Precision::kFloat16, "float16"},
    {Precision::kFloat64, "float64"},
}};
constexpr Words<OptimizerKind, 2> kOptimizerKindWords{{
    {OptimizerKind::kAdamW, "adamw"},
    {OptimizerKind::kSgd, "sgd"},
}};

template <class Enum, std::size_t N>
std::string_view view_of(const Words<Enum, N>& words, Enum value) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return word;
  }
  return {};
}

template <class Enum, std::size_t N>
std::optional<Enum> named(const Words<Enum, N>& words, std::string_view name) {
  for (const auto& [value, word] : words) {
    if (word == name) return value;
  }
  return std::nullopt;
}

constexpr int kWidest = 1 << 20;

void read_sizes(JsonReader& reader, ModelDescription& model) {
  const auto size = [&](std::string_view key, int least) {
    return static_cast<int>(reader.at(key).integer(least, kWidest));
  };
  model.layers = size("layers", 1);
  model.hidden = size("hidden", 1);
  if (model.family != ModelFamily::kMlp) {
    model.heads = size("heads", 1);
    if (model.hidden % model.heads != 0) {
      reader.at("heads").expected("a divisor of hidden = " + std::to_string(model.hidden));
    }
  }
  model.feed_forward = size("feed_forward", 1);
  model.vocabulary = size("vocabulary", 256);
  model.positions = size("positions", 1);
  model.tied_embedding = reader.at("tied_embedding").boolean();
}

void read_archive(JsonReader& reader, ModelDescription& model) {
  model.archive = reader.at("archive").string();
  model.archive_hash = reader.at("archive_hash").string();
  for (const JsonReader& name : reader.at("cutpoints").elements()) {
    model.cutpoints.push_back(name.string());
  }
}

}  // namespace

std::string_view name_of(ModelFamily family) { return view_of(kFamilyWords, family); }
std::string_view name_of(Precision precision) { return view_of(kPrecisionWords, precision); }
std::string_view name_of(OptimizerKind optimizer) {
  return view_of(kOptimizerKindWords, optimizer);
}

std::optional<ModelFamily> model_family_named(std::string_view name) {
  return named(kFamilyWords, name);
}
std::optional<Precision> precision_named(std::string_view name) {
  return named(kPrecisionWords, name);
}
std::optional<OptimizerKind> optimizer_named(std::string_view name) {
  return named(kOptimizerKindWords, name);
}

Json write_description(const ModelDescription& model) {
  Json json = Json::object();
  json.set("family", word_of(kFamilyWords, model.family));
  if (model.family == ModelFamily::kTorchScript) {
    Json cutpoints = Json::array();
    for (const std::string& name : model.cutpoints) cutpoints.push(name);
    json.set("archive", model.archive)
        .set("archive_hash", model.archive_hash)
        .set("cutpoints", std::move(cutpoints));
  } else {
    json.set("layers", model.layers).set("hidden", model.hidden);
    if (model.family != ModelFamily::kMlp) json.set("heads", model.heads);
    json.set("feed_forward", model.feed_forward)
        .set("vocabulary", model.vocabulary)
        .set("positions", model.positions)
        .set("tied_embedding", model.tied_embedding);
  }
  json.set("precision", word_of(kPrecisionWords, model.precision))
      .set("optimizer", word_of(kOptimizerKindWords, model.optimizer));
  return json;
}

ModelDescription read_description(JsonReader reader) {
  ModelDescription model;
  model.family = read_word(reader.at("family"), kFamilyWords);
  if (model.family == ModelFamily::kTorchScript) {
    read_archive(reader, model);
  } else {
    read_sizes(reader, model);
  }
  model.precision = read_word(reader.at("precision"), kPrecisionWords);
  model.optimizer = read_word(reader.at("optimizer"), kOptimizerKindWords);
  reader.finish();
  return model;
}

}  // namespace penstock
