// Words of the enumerations in one table each, for reading and writing, then one list of
// fields for a strict reader and its writer. Sizes are bounded here, so that what is built from a
// description cannot overflow. Two descriptions are of the same model whether or not one of them
// knows what its sections hand on.
#include "core/values/model_description.h"

#include "core/values/json_fields.h"
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

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, HandedTensor>& tensor) {
  fields("type", tensor.type);
  fields("fixed", tensor.fixed, -kMostElements, kMostElements);
  fields("per_sample", tensor.per_sample, -kMostElements, kMostElements);
  if constexpr (Fields::kReads) {
    if (tensor.per_sample.size() != tensor.fixed.size()) {
      fields.reader().at("per_sample").expected("as many numbers as \"fixed\" has");
    }
  }
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, ArchiveDivision>& division) {
  fields("tokens", division.tokens, 1, kWidest);
  fields("handed_on", division.handed_on);
}

namespace {

template <class Fields>
void archive_of(Fields& fields, FieldsOf<Fields, ModelDescription>& model) {
  fields("archive", model.archive);
  fields("archive_hash", model.archive_hash);
  fields("cutpoints", model.cutpoints);
  fields.if_any("image", model.image, 1, kLargestImage);
  fields.if_any("division", model.division);
  if constexpr (Fields::kReads) {
    if (fields.reader().has("image") && model.image.size() != 3) {
      fields.reader().at("image").expected("channels, height and width");
    }
    if (model.division && model.division->handed_on.size() != model.cutpoints.size()) {
      fields.reader()
          .at("division")
          .at("handed_on")
          .expected("one list for each of " + std::to_string(model.cutpoints.size()) +
                    " cutpoints");
    }
  }
}

template <class Fields>
void sizes_of(Fields& fields, FieldsOf<Fields, ModelDescription>& model) {
  fields("layers", model.layers, 1, kWidest);
  if (model.family == ModelFamily::kT5) {
    fields("decoder_layers", model.decoder_layers, 1, kWidest);
  }
  fields("hidden", model.hidden, 1, kWidest);
  if (model.family != ModelFamily::kMlp) fields("heads", model.heads, 1, kWidest);
  fields("feed_forward", model.feed_forward, 1, kWidest);
  fields("vocabulary", model.vocabulary, 256, kWidest);
  fields("positions", model.positions, 1, kWidest);
  fields("tied_embedding", model.tied_embedding);
  if constexpr (Fields::kReads) {
    if (model.heads > 0 && model.hidden % model.heads != 0) {
      fields.reader().at("heads").expected("a divisor of hidden = " + std::to_string(model.hidden));
    }
  }
}

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, ModelDescription>& model) {
  fields.word("family", model.family, kFamilyWords);
  if (model.family == ModelFamily::kTorchScript) {
    archive_of(fields, model);
  } else {
    sizes_of(fields, model);
  }
  fields.word("precision", model.precision, kPrecisionWords);
  fields.word("optimizer", model.optimizer, kOptimizerKindWords);
}

Json write_description(const ModelDescription& model) { return json_of(model); }

ModelDescription read_description(JsonReader reader) {
  ModelDescription model;
  ReadFields fields(reader);
  fields_of(fields, model);
  reader.finish();
  return model;
}

}  // namespace penstock
