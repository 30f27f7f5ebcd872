// How to build the model that a profile measured: what `penstock profile` was asked for, kept in
// the profile and handed on in the plan file, so that `penstock train` builds the same sections.
// Absent where a profile comes from elsewhere; such plans can be simulated, but not trained.
#pragma once

#include <cstdint>
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
  kT5,           // an encoder, and a decoder that attends to what it made
  kTorchScript,  // an archive, divided at its cutpoints
};

enum class Precision { kFloat32, kBFloat16, kFloat16, kFloat64 };
enum class OptimizerKind { kAdamW, kSgd };

// A tensor that a section of an archive hands on: size k is fixed[k] + samples * per_sample[k].
struct HandedTensor {
  std::string type;  // as PyTorch names it: "float32"
  std::vector<std::int64_t> fixed, per_sample;
  bool operator==(const HandedTensor&) const = default;
};

// What was seen once, when an archive was profiled, so that a rank need neither run nor read the
// sections of others: with sequences of `tokens` its sections compute what it computes as a whole,
// and this is what each of them, but the last, hands on.
struct ArchiveDivision {
  int tokens = 0;
  std::vector<std::vector<HandedTensor>> handed_on;
  bool operator==(const ArchiveDivision&) const = default;
};

struct ModelDescription {
  ModelFamily family = ModelFamily::kGpt;
  // Of the built-in families.
  int layers = 0;          // of t5 those of the encoder
  int decoder_layers = 0;  // of t5; else 0
  int hidden = 0;
  int heads = 0;         // 0 for mlp
  int feed_forward = 0;  // inner width of a block's perceptron
  int vocabulary = 0;    // at least 256: tokens are bytes
  int positions = 0;     // longest sequence, of t5 of either kind
  bool tied_embedding = false;
  // Of an archive.
  std::string archive;                 // path, as given
  std::string archive_hash;            // hash_of_archive() of the file
  std::vector<std::string> cutpoints;  // names of what ends a section, but the last
  std::optional<ArchiveDivision> division{};
  // Channels, height and width, of an archive that takes images; empty: it takes token ids. An
  // image has one target, its label, so it counts as a sequence of one token.
  std::vector<std::int64_t> image{};
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

// Whether both describe the same model. What was seen of it may differ.
bool is_same_model(const std::optional<ModelDescription>& a,
                   const std::optional<ModelDescription>& b);

// The member "description" of penstock.profile/1 and penstock.plan/2.
Json write_description(const ModelDescription& description);
// Error{kBadInput} also for what no model can have: heads that do not divide the width, fewer than
// 256 tokens.
ModelDescription read_description(JsonReader reader);

}  // namespace penstock
