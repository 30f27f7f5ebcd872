// Words of the enumerations in one table each, for reading and writing, then a strict reader and
// its writer side by side. Sizes are bounded here, so that what is built from a description cannot
// overflow. Two descriptions are of the same model whether or not one of them knows what its
// sections hand on.
#include "core/values/model_description.h"

#include <utility>

#include "core/values/plan_words.h"

namespace penstock {
namespace {

constexpr Words<ModelFamily, 5> kFamilyWords{{
    {ModelFamily::kGpt, "gpt"},
    {ModelFamily::kBert, "bert"},
    {ModelFamily::kMlp, "mlp"},
    {ModelFamily::kT5, "t5"},
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
constexpr std::int64_t kLargestImage = 1 << 16;                // along one dimension
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // along one dimension

void read_sizes(JsonReader& reader, ModelDescription& model) {
  const auto size = [&](std::string_view key, int least) {
    return static_cast<int>(reader.at(key).integer(least, kWidest));
  };
  model.layers = size("layers", 1);
  if (model.family == ModelFamily::kT5) model.decoder_layers = size("decoder_layers", 1);
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

std::vector<std::int64_t> read_numbers(const JsonReader& reader) {
  std::vector<std::int64_t> numbers;
  for (const JsonReader& number : reader.elements()) {
    numbers.push_back(number.integer(-kMostElements, kMostElements));
  }
  return numbers;
}

HandedTensor read_handed(JsonReader reader) {
  HandedTensor tensor;
  tensor.type = reader.at("type").string();
  tensor.fixed = read_numbers(reader.at("fixed"));
  tensor.per_sample = read_numbers(reader.at("per_sample"));
  if (tensor.per_sample.size() != tensor.fixed.size()) {
    reader.at("per_sample").expected("as many numbers as \"fixed\" has");
  }
  reader.finish();
  return tensor;
}

ArchiveDivision read_division(JsonReader reader, const ModelDescription& model) {
  ArchiveDivision division;
  division.tokens = static_cast<int>(reader.at("tokens").integer(1, kWidest));
  const JsonReader sections = reader.at("handed_on");
  for (const JsonReader& section : sections.elements()) {
    division.handed_on.emplace_back();
    for (const JsonReader& tensor : section.elements()) {
      division.handed_on.back().push_back(read_handed(tensor));
    }
  }
  if (division.handed_on.size() != model.cutpoints.size()) {
    sections.expected("one list for each of " + std::to_string(model.cutpoints.size()) +
                      " cutpoints");
  }
  reader.finish();
  return division;
}

std::vector<std::int64_t> read_image(const JsonReader& reader) {
  std::vector<std::int64_t> sizes;
  for (const JsonReader& size : reader.elements()) sizes.push_back(size.integer(1, kLargestImage));
  if (sizes.size() != 3) reader.expected("channels, height and width");
  return sizes;
}

void read_archive(JsonReader& reader, ModelDescription& model) {
  model.archive = reader.at("archive").string();
  model.archive_hash = reader.at("archive_hash").string();
  for (const JsonReader& name : reader.at("cutpoints").elements()) {
    model.cutpoints.push_back(name.string());
  }
  if (const auto image = reader.get("image")) model.image = read_image(*image);
  if (const auto division = reader.get("division")) {
    model.division = read_division(*division, model);
  }
}

Json numbers_json(const std::vector<std::int64_t>& numbers) {
  Json json = Json::array();
  for (const std::int64_t number : numbers) json.push(number);
  return json;
}

Json division_json(const ArchiveDivision& division) {
  Json handed_on = Json::array();
  for (const auto& section : division.handed_on) {
    Json tensors = Json::array();
    for (const HandedTensor& tensor : section) {
      Json json = Json::object();
      json.set("type", tensor.type)
          .set("fixed", numbers_json(tensor.fixed))
          .set("per_sample", numbers_json(tensor.per_sample));
      tensors.push(std::move(json));
    }
    handed_on.push(std::move(tensors));
  }
  Json json = Json::object();
  json.set("tokens", division.tokens).set("handed_on", std::move(handed_on));
  return json;
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

bool is_same_model(const std::optional<ModelDescription>& a,
                   const std::optional<ModelDescription>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  ModelDescription other = *b;
  other.division = a->division;
  return *a == other;
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
    if (!model.image.empty()) json.set("image", numbers_json(model.image));
    if (model.division) json.set("division", division_json(*model.division));
  } else {
    json.set("layers", model.layers);
    if (model.family == ModelFamily::kT5) json.set("decoder_layers", model.decoder_layers);
    json.set("hidden", model.hidden);
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
