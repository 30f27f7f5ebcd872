// Fields of a Hugging Face config.json: one size has several names, null means absent, and nothing
// is executed. What the readers of such files share (core/files/read_architecture.cc, training/).
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/values/json_reader.h"

namespace penstock {

class ConfigFields {
 public:
  using Names = std::span<const std::string_view>;
  using List = std::initializer_list<std::string_view>;

  // No model is wider or has a longer table, and four such sizes still are an int.
  static constexpr int kLargestSize = 1 << 24;

  explicit ConfigFields(JsonReader reader) : reader_(std::move(reader)) {}

  // The member, unless it is missing or null.
  [[nodiscard]] std::optional<JsonReader> present(std::string_view name);
  // The first of the names that is present, as a whole number in [least, kLargestSize], or a list
  // of such numbers (of layers) that are all the same.
  [[nodiscard]] std::optional<int> size(Names names, int least = 1);
  [[nodiscard]] std::optional<int> size(List names, int least = 1) {
    return size(Names(names.begin(), names.size()), least);
  }
  // The same; Error{kBadInput} "expected A or B or C" when none is.
  [[nodiscard]] int required(Names names);
  [[nodiscard]] int required(List names) { return required(Names(names.begin(), names.size())); }
  [[nodiscard]] std::optional<bool> boolean(std::string_view name);
  [[nodiscard]] std::optional<std::string> text(std::string_view name);

  // Was it asked for under this name?
  [[nodiscard]] bool knows(std::string_view name) const { return asked_.contains(name); }
  [[nodiscard]] JsonReader& reader() { return reader_; }

 private:
  JsonReader reader_;
  std::set<std::string, std::less<>> asked_;
};

// First present wins (docs/estimates.md, "What is read of a config.json").
inline constexpr std::array<std::string_view, 4> kLayerNames{"num_hidden_layers", "n_layer",
                                                             "num_layers", "n_layers"};
inline constexpr std::array<std::string_view, 5> kHiddenNames{"hidden_size", "n_embd", "n_embed",
                                                              "d_model", "dim"};
inline constexpr std::array<std::string_view, 5> kHeadNames{
    "num_attention_heads", "n_head", "num_heads", "n_heads", "attention_heads"};
inline constexpr std::array<std::string_view, 7> kFeedForwardNames{
    "intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "hidden_dim", "dff"};
inline constexpr std::array<std::string_view, 3> kKeyValueHeadNames{"num_key_value_heads",
                                                                    "n_head_kv", "num_kv_heads"};
inline constexpr std::array<std::string_view, 7> kPositionNames{
    "max_position_embeddings", "n_positions", "n_ctx",
    "max_sequence_length",     "max_seq_len", "seq_length",
    "model_max_length"};
inline constexpr std::array<std::string_view, 4> kExpertNames{
    "num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"};

}  // namespace penstock
