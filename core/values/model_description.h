// How to build the model that a profile measured: what `penstock profile` was asked for, kept in
// the profile and handed on in the plan file, so that `penstock train` builds the same sections.
// Absent where a profile comes from elsewhere; such plans can be simulated, but not trained.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/json_reader.h"

namespace penstock {

enum class ModelFamily {
  kGpt,          // causal language model: embedding, blocks, head
  kBert,         // the same with attention both ways; predicts masked tokens
  kMlp,          // residual perceptrons per token in place of the blocks
  kTorchScript,  // an archive, divided at its cutpoints
};

enum class Precision { kFloat32, kBFloat16, kFloat16, kFloat64 };
enum class OptimizerKind { kAdamW, kSgd };

struct ModelDescription {
  ModelFamily family = ModelFamily::kGpt;
  // Of the built-in families.
  int layers = 0;
  int hidden = 0;
  int heads = 0;         // 0 for mlp
  int feed_forward = 0;  // inner width of a block's perceptron
  int vocabulary = 0;    // at least 256: tokens are bytes
  int positions = 0;     // longest sequence
  bool tied_embedding = false;
  // Of an archive.
  std::string archive;                 // path, as given
  std::string archive_hash;            // content_hash() of the file
  std::vector<std::string> cutpoints;  // names of what ends a section, but the last
  // Of both.
  Precision precision = Precision::kFloat32;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  bool operator==(const ModelDescription&) const = default;
};

// As files and options write them: "gpt", "float32", "adamw".
std::string_view name_of(ModelFamily family);
std::string_view name_of(Precision precision);
std::string_view name_of(OptimizerKind optimizer);
std::optional<ModelFamily> model_family_named(std::string_view name);
std::optional<Precision> precision_named(std::string_view name);
std::optional<OptimizerKind> optimizer_named(std::string_view name);

// The member "description" of penstock.profile/1 and penstock.plan/2.
Json write_description(const ModelDescription& description);
// Error{kBadInput} also for what no model can have: heads that do not divide the width, fewer than
// 256 tokens.
ModelDescription read_description(JsonReader reader);

}  // namespace penstock
