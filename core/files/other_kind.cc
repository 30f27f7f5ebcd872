#include "core/files/other_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/files/known_families.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 5> kOfStateSpace{
    "ssm_cfg", "state_size", "mamba_d_state", "hybrid_override_pattern", "layers_block_type"};
constexpr std::array<std::string_view, 2> kOfUnlikeLayers{"cross_attention_layers",
                                                          "block_configs"};

std::string in_lower_case(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

bool is_attention(const JsonReader& layer_type) {
  const std::string type = layer_type.string();
  return type.ends_with("attention") && type != "linear_attention";
}

}  // namespace

std::string why_other_kind(ConfigFields& fields, const std::string& family,
                           const std::string& type) {
  JsonReader& file = fields.reader();
  const auto types = fields.present("layer_types");
  if (types && !std::ranges::all_of(types->elements(), is_attention)) return "a hybrid model";
  const auto is_present = [&](std::string_view name) { return fields.present(name).has_value(); };
  if (std::ranges::any_of(kOfUnlikeLayers, is_present)) {
    return "a model whose layers are not alike";
  }
  if (file.has("image_size") && !file.has("vocab_size")) return "a model of images";
  const auto is_there = [&](std::string_view name) { return file.has(name); };
  if (std::ranges::any_of(kOfStateSpace, is_there)) return "a state-space or hybrid model";
  if (fields.boolean("is_encoder_decoder").value_or(false) || file.has("num_decoder_layers")) {
    return "an encoder-decoder model";
  }
  const std::string_view by_type = why_no_plain_stack(type);
  return std::string(by_type.empty() ? why_no_plain_stack(in_lower_case(family))
                                     : by_type);  // "T5"
}

}  // namespace penstock
